"""Finds connections that have stood still for too long, without a timer for each.

It must not know why they stand still or how they are closed.
"""

from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits


class Watch:
    """What was seen of one connection at the last look, and since when it has been so."""

    def __init__(self, now_ms: int) -> None:
        self._traffic = -1
        self._moved_ms = now_ms
        self._requests = -1
        self._began_ms = now_ms

    def look(self, session: ClientSession, traffic: int, now_ms: int) -> CloseReason | None:
        """The reason to close the connection now, if there is one; `traffic` is a number that grows with use."""
        limits: Limits = session.limits
        if traffic != self._traffic:
            self._traffic, self._moved_ms = traffic, now_ms
        if session.requests.heads_cut != self._requests or not session.requests.bytes_held:
            self._requests, self._began_ms = session.requests.heads_cut, now_ms
        elif now_ms - self._began_ms >= limits.frame_time_max_ms:
            return CloseReason.SLOW_REQUEST
        if now_ms - self._moved_ms >= limits.idle_max_ms and not session.outbox:
            return CloseReason.IDLE
        return None
