"""How long one connection has stood still: its client gone, slow, idle, or not taking its answers."""

from collections.abc import Callable

from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits


class Standstill:
    """What was seen of one connection at the last look, and since when it has been so."""

    __slots__ = ("_began_ms", "_gone_ms", "_moved_ms", "_requests", "_traffic", "_unsent")

    def __init__(self, now_ms: int) -> None:
        self._traffic = -1
        self._unsent = 0
        self._moved_ms = now_ms
        self._requests = -1
        self._began_ms = now_ms
        self._gone_ms: int | None = None

    def look(
        self,
        session: ClientSession,
        traffic: int,
        now_ms: int,
        has_hung_up: Callable[[], bool],
        unsent_bytes: int = 0,
    ) -> CloseReason | None:
        """The reason to close the connection now, if there is one; `traffic` is a number that grows with use, and
        `unsent_bytes` what the client has not taken of its answers.
        """
        limits: Limits = session.limits
        if traffic != self._traffic or unsent_bytes != self._unsent:
            self._traffic, self._unsent, self._moved_ms, self._gone_ms = traffic, unsent_bytes, now_ms, None
        elif self._is_deserted(session, now_ms, has_hung_up):
            return CloseReason.CLIENT_GONE
        if session.requests.heads_cut != self._requests or not session.requests.bytes_held:
            self._requests, self._began_ms = session.requests.heads_cut, now_ms
        elif now_ms - self._began_ms >= limits.frame_time_max_ms:
            return CloseReason.SLOW_REQUEST
        # Who takes nothing of what is there for it, or of a frame that has begun, would keep that for ever.
        is_stuck = unsent_bytes or session.answers.bytes_to_pass_on or session.requests.bytes_to_pass_on
        if now_ms - self._moved_ms >= limits.idle_max_ms and (is_stuck or not session.outbox):
            return CloseReason.IDLE
        return None

    def _is_deserted(self, session: ClientSession, now_ms: int, has_hung_up: Callable[[], bool]) -> bool:
        """Whether the client has been gone for longer than a broker may take to be reached.

        Who reads from it hears that at once, but a request that waits behind one that a hung broker does not answer
        keeps everybody from reading, for ever.
        """
        if session.is_quiet or not has_hung_up():
            self._gone_ms = None
            return False
        if self._gone_ms is None:
            self._gone_ms = now_ms
        return now_ms - self._gone_ms >= session.limits.upstream_wait_max_ms
