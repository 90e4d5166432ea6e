"""The short way of a heartbeat that is the last one of its connection over again: known by its bytes, answered at once.

It must not know members; whether a heartbeat needs more than the ordinary answer, the groups say.
"""

from bridge.net.house import House
from bridge.session.client_session import ClientSession
from bridge.session.repeats import Repeat
from bridge.session.requests import Head
from translators.dialects.classic import Heartbeat

NO_FRAME = -1
FRAME_BYTES_MAX = 1_024
"""Longer heartbeats, which no client sends, are not kept."""


class BeatLane:
    """Beside the long way of one connection: it takes nothing but what would get the same answer there."""

    __slots__ = ("_house", "_repeat", "_session", "frame_bytes")

    def __init__(self, house: House, session: ClientSession) -> None:
        self.frame_bytes = NO_FRAME
        """How long the frame is that may be answered here."""
        self._house = house
        self._session = session
        self._repeat: Repeat | None = None

    def learn(self, head: Head, request: Heartbeat) -> None:
        """One goes the long way; the next one may be like it but for the correlation id."""
        frame_bytes = head.header.frame_bytes
        if frame_bytes <= FRAME_BYTES_MAX:
            self._repeat = Repeat(bytes(head.data), head.header.api_version, request)
            self.frame_bytes = frame_bytes

    def answer(self, received: bytes) -> bytes | None:
        """The answer to what was just received, `frame_bytes` long; None: it has to go the long way.

        Nothing may be before it, neither bytes of a request nor an answer that has not left.
        """
        repeat, session, house = self._repeat, self._session, self._house
        if repeat is None or not repeat.is_like(received) or not session.is_quiet or house.is_draining:
            return None
        if not house.groups.beat(repeat.request):
            return None
        answer = repeat.answer_to(received)
        counters = house.counters
        counters.requests += 1
        counters.beats += 1
        counters.requests_answered += 1
        counters.bytes_to_clients += len(answer)
        return answer
