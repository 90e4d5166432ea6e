"""What is asked on a client's own connection to the broker in the place of its requests, or beside them all.

Among it the proof that the client has logged in where the cluster wants that.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol

import trio

from bridge.log_lines import LogFields
from bridge.net.broker_side import BrokerSide, ClientSide, Cluster
from bridge.net.cluster import METADATA_VERSION, metadata_request
from bridge.net.shared import LOG, Shared
from bridge.net.transport import Transport
from bridge.session.broker_answers import Expected
from bridge.session.client_session import ClientSession, Offered
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import OnAnswer
from bridge.session.limits import LARGE_BODY_BYTES, is_large
from bridge.supervision import BROKER_OPENER, BROKER_READER, Task
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import APIS, Reply, Request, decode_reply, encode_request
from bridge.wire.endpoints import brokers_in
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import RequestRef


class LoginProof:
    """Of one connection, asked for before its first group request is answered here; without any it is closed, also
    where the broker says nothing for `upstream_wait_max_ms`: it may be frozen, and its connection stays.

    A broker that authenticates refuses any request that is not SASL until somebody is in: it closes, and in the middle
    of a login it answers before that, with an error, which in Metadata is an answer without brokers. So an answer that
    names brokers is proof, as long as the connection lives on which it came.
    """

    __slots__ = ("_broker", "_client", "_cluster", "_proven", "_wait_max_ms")

    def __init__(self, cluster: Cluster, broker: BrokerSide, client: ClientSide) -> None:
        self._cluster = cluster
        self._broker = broker
        self._client = client
        self._wait_max_ms = client.session.limits.upstream_wait_max_ms
        self._proven: Transport | None = None

    @property
    def is_given(self) -> bool:
        """Whether the client is in, or the cluster is known to let everybody in."""
        return self._cluster.is_open or (self._proven is not None and self._proven is self._broker.transport)

    async def wait_for(self) -> None:
        """Ask the broker unless there is proof; without any the connection ends."""
        if self.is_given:
            return
        with trio.move_on_after(self._wait_max_ms / 1000):
            while not self.is_given:
                if not await self._broker.open():
                    break
                await self._ask()
        if not self.is_given:
            detail = f"it did not say within {self._wait_max_ms / 1000:g} s whether the client has logged in"
            is_there = self._broker.transport is not None
            self._client.close(CloseReason.UPSTREAM_SILENT if is_there else CloseReason.UPSTREAM_UNREACHABLE, detail)
            await trio.sleep_forever()

    async def _ask(self) -> None:
        heard = trio.Event()
        self._put(heard.set)
        await heard.wait()

    def _put(self, on_proof: Callable[[], None]) -> None:
        transport = self._broker.transport

        def take(frame: bytes | None) -> None:
            if frame is None and self._is_in():
                # A broker that is restarted hangs up on those who are in, too: that refuses nobody.
                self._client.close(CloseReason.UPSTREAM_LOST, "while it was asked whether the client is logged in")
            elif frame is None or not brokers_in(ApiKey.METADATA, METADATA_VERSION, frame):
                self._client.close(CloseReason.NOT_AUTHENTICATED, "the broker refused a request that is not SASL")
            else:
                self._proven = transport
                on_proof()

        self._broker.ask(Expected(OWN_CORRELATION_ID, None, take), metadata_request())

    def _is_in(self) -> bool:
        """Whether a broker has let the client in, or the bridge for it, and no step of another login came since."""
        session = self._client.session
        return session.is_let_in and not session.login.steps

    def renew(self, on_proof: Callable[[], None]) -> None:
        """Ask for it once more, beside what goes on, where it is given on a connection that is still there."""
        if self._proven is not None and self._proven is self._broker.transport:
            self._put(on_proof)


OWN_CORRELATION_ID = 0
"""For questions that stand in no client request's place."""
API_KEYS: dict[type[object], int] = {api.request_type: api_key for api_key, api in APIS.items()}


_HEARTBEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
REMEMBERED_ANSWER_BYTES_MAX = 256
"""An answer without an assignment is shorter; others are not said over again."""


class _Asked(NamedTuple):
    """A heartbeat of the bridge's own as it was written last."""

    request: ConsumerGroupHeartbeat
    transport: Transport | None
    """The connection that it was for: as long as that stands, its broker speaks what it spoke."""
    client_id: str
    version: int
    frame: bytes


class Asker(Protocol):
    """The connection on which is asked, as far as its questions need it."""

    @property
    def is_running(self) -> bool:
        """Whether `spawn` runs anything any more."""
        ...

    def spawn(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` beside, as long as the connection lives."""
        ...

    def close(self, reason: CloseReason, detail: str) -> None:
        """End the connection."""
        ...


class ClientQuestions:
    """The questions of one connection."""

    __slots__ = ("_asker", "_broker", "_cluster", "_last_answer", "_last_asked", "_session", "_shared")

    def __init__(
        self, shared: Shared, cluster: Cluster, session: ClientSession, broker: BrokerSide, asker: Asker
    ) -> None:
        self._shared = shared
        self._cluster = cluster
        self._session = session
        self._broker = broker
        self._asker = asker
        self._last_asked: _Asked | None = None
        self._last_answer: tuple[bytes, Reply] | None = None

    def highest_version(self, api_key: int) -> int | None:
        """The highest version of an api that this broker speaks, None when it has none or is not known yet."""
        offered = self._cluster.offered_nowait(self._broker.broker_id)
        versions = None if offered is None else offered.broker.get(api_key)
        return None if versions is None else versions.highest

    def ask(
        self,
        ref: RequestRef | None,
        request: Request,
        on_answer: OnAnswer,
        version: int | None,
    ) -> None:
        """See `session.contracts.BrokerAccess`."""
        if ref is None and version is None and type(request) is ConsumerGroupHeartbeat:
            self._beat(request, on_answer)
            return
        slot = None if ref is None else self._session.outbox.find(ref)
        api_key = API_KEYS[type(request)]
        offered = self._cluster.offered_nowait(self._broker.broker_id)
        chosen = version
        if chosen is None and offered is not None:
            chosen = self._session.version_to_ask(slot, api_key, offered)
        if chosen is None:
            on_answer(None)
            return
        correlation_id = OWN_CORRELATION_ID if slot is None else slot.correlation_id
        client_id = self._session.identity.client_id
        encode = partial(_encode, api_key, chosen, correlation_id, client_id, request)
        take = partial(self._take_answer, partial(_decode, api_key, chosen), on_answer)
        expected = Expected(correlation_id, None, take)
        if is_large(request) and self._asker.is_running:
            self._asker.spawn(BROKER_OPENER, partial(self._send_later, encode, expected, on_answer))
        else:
            self._send(encode(), expected, on_answer)

    def _beat(self, request: ConsumerGroupHeartbeat, on_answer: OnAnswer) -> None:
        """A heartbeat of the bridge's own: most are the last one over again, and so are their answers."""
        asked, transport, client_id = self._last_asked, self._broker.transport, self._session.identity.client_id
        if (
            asked is None
            or asked.request is not request
            or transport is None
            or asked.transport is not transport
            or asked.client_id != client_id
        ):
            offered = self._cluster.offered_nowait(self._broker.broker_id)
            asked = None if offered is None else self._write(request, offered, client_id)
            if asked is None:
                on_answer(None)
                return
        self._broker.ask(
            Expected(OWN_CORRELATION_ID, None, partial(self._take_beat, asked.version, on_answer)), asked.frame
        )

    def _write(self, request: ConsumerGroupHeartbeat, offered: Offered, client_id: str) -> "_Asked | None":
        self._last_asked = self._last_answer = None
        version = self._session.version_to_ask(None, _HEARTBEAT, offered)
        frame = None if version is None else _encode(_HEARTBEAT, version, OWN_CORRELATION_ID, client_id, request)
        if version is not None and frame is not None:
            self._last_asked = _Asked(request, self._broker.transport, client_id, version, frame)
        return self._last_asked

    def _take_beat(self, version: int, on_answer: OnAnswer, frame: bytes | None) -> None:
        known = self._last_answer
        if known is not None and frame == known[0]:
            on_answer(known[1])
            return
        if frame is None or len(frame) > REMEMBERED_ANSWER_BYTES_MAX:
            self._take_answer(partial(_decode, _HEARTBEAT, version), on_answer, frame)
            return
        found = _decode(_HEARTBEAT, version, frame)
        if not isinstance(found, MalformedFrame):
            self._last_answer = frame, found
        self._hand_on(found, on_answer)

    async def _send_later(self, encode: Callable[[], bytes | None], expected: Expected, on_answer: OnAnswer) -> None:
        """Later requests stay away from the broker meanwhile: see `session.contracts.BrokerAccess.ask`."""
        frame: bytes | None = None
        try:
            frame = await self._shared.beside(encode)
        finally:
            # Whoever asked hears of it also where the connection ends just now.
            self._send(frame, expected, on_answer)

    def _send(self, frame: bytes | None, expected: Expected, on_answer: OnAnswer) -> None:
        if frame is None:
            on_answer(None)
        else:
            self._broker.ask(expected, frame)

    def _take_answer(
        self, decode: Callable[[bytes], Reply | MalformedFrame], on_answer: OnAnswer, frame: bytes | None
    ) -> None:
        if frame is None:
            on_answer(None)
        elif len(frame) >= LARGE_BODY_BYTES and self._asker.is_running:
            self._asker.spawn(BROKER_READER, partial(self._decode_later, partial(decode, frame), on_answer))
        else:
            self._hand_on(decode(frame), on_answer)

    async def _decode_later(self, decode: Callable[[], Reply | MalformedFrame], on_answer: OnAnswer) -> None:
        found: Reply | MalformedFrame | None = None
        try:
            found = await self._shared.beside(decode)
        finally:
            # The connection may end just now, but the broker has answered: a commit is over.
            self._hand_on(decode() if found is None else found, on_answer)

    def _hand_on(self, found: Reply | MalformedFrame, on_answer: OnAnswer) -> None:
        if isinstance(found, MalformedFrame):
            on_answer(None)
            self._asker.close(CloseReason.UPSTREAM_CONFUSED, str(found))
        else:
            on_answer(found)


def _encode(api_key: int, version: int, correlation_id: int, client_id: str, request: Request) -> bytes | None:
    try:
        return encode_request(api_key, version, correlation_id, client_id, request)
    except ValueError as problem:
        # What one version can say another can't: several groups in OffsetFetch, several leavers.
        LOG.warning("EB-NET-050: the broker can't be asked: %s", problem, extra=LogFields(client_id=client_id))
        return None


def _decode(api_key: int, version: int, frame: bytes) -> Reply | MalformedFrame:
    try:
        return decode_reply(api_key, version, memoryview(frame)[LENGTH_BYTES:])[1]
    except MalformedFrame as error:
        return error
