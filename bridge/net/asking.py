"""What is asked on a client's own connection to the broker in the place of its requests, or beside them all.

It must not know why something is asked, nor what the client sends.
"""

from collections.abc import Callable
from functools import partial

from bridge.net.broker_side import BrokerSide, Cluster
from bridge.net.house import LOG
from bridge.session.answers import Expected
from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import APIS, Request, decode_reply, encode_request
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES
from translators.dialects.ids import RequestRef

OWN_CORRELATION_ID = 0
"""For questions that stand in no client request's place."""
API_KEYS: dict[type[object], int] = {api.request_type: api_key for api_key, api in APIS.items()}
Close = Callable[[CloseReason, str], None]


class Asking:
    """The questions of one connection; `close` ends that."""

    __slots__ = ("_broker", "_close", "_cluster", "_session")

    def __init__(self, cluster: Cluster, session: ClientSession, broker: BrokerSide, close: Close) -> None:
        self._cluster = cluster
        self._session = session
        self._broker = broker
        self._close = close

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
        try:
            frame = encode_request(api_key, chosen, correlation_id, self._session.identity.client_id, request)
        except ValueError as problem:
            # What one version can say another can't: several groups in OffsetFetch, several leavers.
            LOG.warning("EB-NET-050: the broker can't be asked: %s", problem)
            on_answer(None)
            return
        take = partial(self._take_answer, api_key, chosen, on_answer)
        self._broker.ask(Expected(correlation_id, None, take), frame)

    def _take_answer(self, api_key: int, version: int, on_answer: OnAnswer, frame: bytes | None) -> None:
        if frame is None:
            on_answer(None)
            return
        try:
            _, reply = decode_reply(api_key, version, memoryview(frame)[LENGTH_BYTES:])
        except MalformedFrame as error:
            on_answer(None)
            self._close(CloseReason.UPSTREAM_CONFUSED, str(error))
            return
        on_answer(reply)
