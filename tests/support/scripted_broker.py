"""A broker of a few lines on a real socket, for tests of the net room: it answers in order, when it is let."""

from dataclasses import dataclass, field

import trio

from bridge.net.client_questions import OWN_CORRELATION_ID
from bridge.wire.api_versions import ApiVersionsAnswer, api_versions_reply
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_reply
from bridge.wire.frames import RequestHeader, read_request_header, request_frame, response_frame
from bridge.wire.metadata import NAMED_SINCE
from bridge.wire.versions import KNOWN, VersionTable
from translators.dialects.admin import DescribedGroup, DescribeGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

LOOPBACK = "127.0.0.1"
ALL_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8
"""READ, DELETE and DESCRIBE, as DescribeGroups tells them."""
MECHANISMS = b"\x00\x21\x00\x00\x00\x01\x00\x0dSCRAM-SHA-512"
"""An answer to SaslHandshake: UNSUPPORTED_SASL_MECHANISM, and the one that there is."""


@dataclass(slots=True)
class ScriptedBroker:
    """What it is asked goes into `requests`; `bodies` says what it answers by api key, nothing by default."""

    versions: VersionTable = field(default_factory=lambda: dict(KNOWN))
    node_ids: tuple[int, ...] = (1,)
    bodies: dict[int, bytes] = field(default_factory=dict)
    unanswered: frozenset[tuple[int, int]] = frozenset()
    """Api key and correlation id of requests that get no answer (acks=0)."""
    requests: list[tuple[int, int, int]] = field(default_factory=list)
    """Api key, correlation id and size of what clients asked; the bridge's own questions are left out."""
    gate: trio.Event | None = None
    """When set, requests other than ApiVersions and Metadata wait for it before they are answered."""
    hangs_up_at: int | None = None
    """Api key that ends the connection, as a listener with SASL does before authentication."""
    hangs_up_too: int | None = None
    """Another one."""
    operations: int = ALL_OPERATIONS
    """What everybody may do with every group, as it is told to the bridge's own questions."""
    port: int = 0
    advertised_port: int = 0
    """What Metadata tells instead of `port`: that of a tunnel."""
    streams: list[trio.SocketStream] = field(default_factory=list)

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen on `port`, or on a free one, until cancelled."""
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(self.port, host=LOOPBACK)
            self.port = listeners[0].socket.getsockname()[1]
            task_status.started()
            await trio.serve_listeners(self._talk, listeners, handler_nursery=nursery)

    async def hang_up(self) -> None:
        """Close all connections."""
        for stream in self.streams:
            await stream.aclose()

    async def _talk(self, stream: trio.SocketStream) -> None:
        self.streams.append(stream)
        received = bytearray()
        try:
            async with stream:
                async for chunk in stream:
                    received += chunk
                    while (header := read_request_header(received)) and len(received) >= header.frame_bytes:
                        del received[: header.frame_bytes]
                        await self.answer(stream, header)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def answer(self, stream: trio.SocketStream, header: RequestHeader) -> None:
        """Answer one request, or do what stands in its place."""
        key, version, correlation_id = header.api_key, header.api_version, header.correlation_id
        is_of_rights = key == ApiKey.DESCRIBE_GROUPS and correlation_id == OWN_CORRELATION_ID
        if header.client_id != "epochbridge" and not is_of_rights:
            self.requests.append((key, correlation_id, header.frame_bytes))
        if key in (self.hangs_up_at, self.hangs_up_too):
            await stream.aclose()
            return
        if key == ApiKey.API_VERSIONS:
            await stream.send_all(
                api_versions_reply(version, correlation_id, ApiVersionsAnswer(versions=self.versions))
            )
            return
        if key == ApiKey.METADATA:
            body = self.metadata_body() if version < NAMED_SINCE else self.named_topics_body()
            await stream.send_all(response_frame(key, version, correlation_id, body))
            return
        if is_of_rights:
            said = DescribedGroup(
                error=ErrorCode.NONE, group_id=GroupId("asked"), authorized_operations=self.operations
            )
            await stream.send_all(encode_reply(key, version, correlation_id, DescribeGroupsReply(groups=(said,))))
            return
        if self.gate is not None:
            await self.gate.wait()
        if (key, correlation_id) not in self.unanswered:
            await stream.send_all(response_frame(key, version, correlation_id, self.bodies.get(key, b"")))

    def metadata_body(self) -> bytes:
        """Metadata v1: this address for every node, no topics."""
        host = LOOPBACK.encode()
        brokers = b"".join(
            node_id.to_bytes(4, "big")
            + len(host).to_bytes(2, "big")
            + host
            + (self.advertised_port or self.port).to_bytes(4, "big")
            + b"\xff\xff"
            for node_id in self.node_ids
        )
        return len(self.node_ids).to_bytes(4, "big") + brokers + bytes(4) + bytes(4)

    def named_topics_body(self) -> bytes:
        """Metadata v8 for topics by name: no brokers, and nothing said of any topic."""
        return bytes(4) + bytes(4) + b"\xff\xff" + bytes(4) + bytes(4) + bytes(4)


def request(api_key: int, version: int, correlation_id: int, body: bytes = b"", client_id: str = "client") -> bytes:
    """A request frame."""
    return request_frame(RequestHeader(0, api_key, version, correlation_id, client_id, 0), body)


class RawClient:
    """A client that sends what it is told and returns answers one by one."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._received = bytearray()

    async def send(self, *frames: bytes) -> None:
        """Send all at once."""
        await self.stream.send_all(b"".join(frames))

    async def answer(self) -> tuple[int, bytes]:
        """The next answer: correlation id and the bytes behind it. EOFError when the connection ends before."""
        received = self._received
        while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
            try:
                chunk = await self.stream.receive_some()
            except trio.BrokenResourceError:
                chunk = b""
            if not chunk:
                raise EOFError
            received += chunk
        end = 4 + int.from_bytes(received[:4], "big")
        frame = bytes(received[4:end])
        del received[:end]
        return int.from_bytes(frame[:4], "big"), frame[4:]

    async def ids(self, count: int) -> list[int]:
        """The correlation ids of the next answers."""
        return [(await self.answer())[0] for _ in range(count)]

    async def is_closed(self) -> bool:
        """Whether the other end closes without another answer."""
        try:
            await self.answer()
        except EOFError:
            return True
        return False


async def dial(port: int) -> RawClient:
    """Connect to a loopback port."""
    return RawClient(await trio.open_tcp_stream(LOOPBACK, port))
