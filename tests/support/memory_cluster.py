"""A cluster of one broker in memory, which answers by api key: for what the bridge itself asks."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import trio

from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.cluster import UpstreamCluster
from bridge.net.settings import ProxySettings
from bridge.net.transport import RECEIVE_BYTES, Transport
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.session.client_session import Offered
from bridge.wire.api_versions import ApiVersionsAnswer
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, reply_frame
from bridge.wire.endpoints import Endpoint
from bridge.wire.frames import read_request_header
from bridge.wire.versions import KNOWN, VersionTable
from translators.dialects.errors import ErrorCode

Answers = dict[int, Callable[[int, int], bytes]]


class MemoryTransport:
    """A connection to a broker that answers by api key; what it has no answer for it never answers."""

    is_plain = False
    read_bytes = RECEIVE_BYTES
    fault = ""

    def __init__(self, answers: Answers) -> None:
        self.is_closed = False
        self.has_ended = False
        """The broker closed it."""
        self._answers = answers
        self._reply = b""

    def try_send(self, data: bytes | memoryview) -> int:
        """Take a whole request and have the answer ready."""
        header = read_request_header(bytes(data))
        assert header is not None
        make = self._answers.get(header.api_key)
        if make is not None:
            self._reply += make(header.api_version, header.correlation_id)
        return len(data)

    def recv_into(self, buffer: memoryview) -> int | None:
        """Give the answer."""
        if self.has_ended:
            return 0
        count = min(len(buffer), len(self._reply))
        buffer[:count] = self._reply[:count]
        self._reply = self._reply[count:]
        return count or None

    def has_hung_up(self) -> bool:
        return False

    def fileno(self) -> int | None:
        """No file."""
        return None

    async def wait_readable(self) -> None:
        """Nothing more comes."""
        await trio.sleep_forever()

    async def wait_writable(self) -> None:
        """Always."""

    def close(self) -> None:
        """Nobody asks by it any more."""
        self.is_closed = True


def replies(api_key: int, *made: Reply) -> Callable[[int, int], bytes]:
    """An answer each time it is asked, the last one again and again."""
    left = list(made)

    def make(version: int, correlation_id: int) -> bytes:
        return encode_reply(api_key, version, correlation_id, left.pop(0) if len(left) > 1 else left[0])

    return make


def coordinator(*codes: ErrorCode, node_id: int = 1) -> Callable[[int, int], bytes]:
    """FindCoordinator answered with these codes in turn, the last one for good."""
    left = list(codes)

    def make(version: int, correlation_id: int) -> bytes:
        code = left.pop(0) if len(left) > 1 else left[0]
        fields = {"error_code": code, "node_id": node_id, "host": "h", "port": 1, "throttle_time_ms": 0}
        return reply_frame(ApiKey.FIND_COORDINATOR, version, correlation_id, {**fields, "error_message": None})

    return make


@dataclass(slots=True)
class MemoryCluster:
    """A cluster of one broker in memory; everything else is as it was made."""

    answers: Answers
    versions: VersionTable = field(default_factory=lambda: dict(KNOWN))
    is_down: bool = False
    opened: list[int | None] = field(default_factory=list)
    """The broker of each connection that was opened, None for any of the bootstrap list."""
    _made: list[tuple[int | None, MemoryTransport]] = field(default_factory=list)

    def questions(self) -> BridgeQuestions:
        """Questions to this cluster."""
        made = BridgeQuestions()
        made.attach(self.upstream())
        return made

    def upstream(self) -> UpstreamCluster:
        """The bridge's own view of it."""
        settings = ProxySettings(bootstrap=(Address("h", 1),), listen=Address("h", 0))
        directory = Directory(Advertised(host="h", first_port=0, ports={}))
        directory.learn([Endpoint(1, "h", 1)])
        cluster = UpstreamCluster(settings, directory, lambda _: True)
        patch = pytest.MonkeyPatch()
        patch.setattr(cluster, "connect", self.connect)
        patch.setattr(cluster, "offered", self.offered)
        patch.setattr(cluster, "refresh", self.refresh)
        return cluster

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """A new connection."""
        assert not announcement
        self.opened.append(broker_id)
        if self.is_down:
            return None
        self._made.append((broker_id, made := MemoryTransport(self.answers)))
        return made

    def open_now(self) -> list[int | None]:
        """The broker of each connection that was not closed again."""
        return [broker_id for broker_id, made in self._made if not made.is_closed]

    def end_connections(self) -> None:
        """The broker closes all there are."""
        for _, made in self._made:
            made.has_ended = True

    async def offered(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks."""
        return Offered(broker=self.versions, answer=ApiVersionsAnswer())

    async def refresh(self) -> bool:
        """Nothing new."""
        return True
