"""Lines between clients and bridge: in order on each, late at will, and sometimes cut with requests and answers in
flight.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.timeline import Timeline
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

Then = Callable[[GroupReply | None], None]
"""Takes the answer to a request, or None when the line was cut before it came."""
Arrive = Callable[[RequestRef, int, GroupRequest], None]
"""Takes a request at the bridge: its ref, the client's number, and what it says."""
Lost = Callable[[int], None]
"""The bridge hears that a connection is gone."""
UNDELIVERED_MAX_MS = 50


@dataclass(slots=True, kw_only=True)
class Line:
    """One connection: what is on its way out, what waits for its turn, what is unanswered."""

    number: int
    client: int
    is_open: bool = True
    sent: int = 0
    arrived: int = 0
    arrives_ms: int = 0
    returns_ms: int = 0
    next_answer: int = 0
    lost_after: int | None = None
    answers: dict[int, GroupReply] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)
    waiting: dict[int, Then] = field(default_factory=dict)
    arrived_ms: dict[int, int] = field(default_factory=dict)


class Network:
    """All lines; a client's n-th line is made when it is first used after the last was cut."""

    def __init__(self, timeline: Timeline, seed: int, latency_ms: int, arrive: Arrive, lost: Lost) -> None:
        self.latency_ms = latency_ms
        self._timeline, self._arrive, self._lost = timeline, arrive, lost
        self._seed = seed
        self._lines: dict[int, Line] = {}
        self._current: dict[tuple[int, int], Line] = {}
        self._chance: dict[int, Random] = {}
        self._lags: dict[int, tuple[int, int]] = {}

    def send(self, client: int, road: int, request: GroupRequest, then: Then) -> None:
        """Send a request on one of a client's roads."""
        line = self._current.get((client, road)) or self._connect(client, road)
        ref = RequestRef(0, line.number, line.sent)
        line.sent += 1
        line.waiting[ref.sequence] = then
        line.arrives_ms = max(line.arrives_ms, self._timeline.now_ms + self._latency(client))
        self._timeline.at(line.arrives_ms, lambda: self._reach_bridge(line, ref, request))

    def answer(self, ref: RequestRef, reply: GroupReply) -> None:
        """The bridge answers; answers leave in the order of the requests, each request has one."""
        line = self._lines[ref.connection]
        if ref.sequence in line.answered or ref.sequence not in line.arrived_ms:
            raise InvariantBroken("every request is answered once", f"{ref} again or unasked with {reply}")
        line.answered.add(ref.sequence)
        del line.arrived_ms[ref.sequence]
        line.answers[ref.sequence] = reply
        while line.next_answer in line.answers:
            self._return(line, line.next_answer, line.answers.pop(line.next_answer))
            line.next_answer += 1

    def client_of(self, connection: int) -> int:
        """Whose line it is."""
        return self._lines[connection].client

    def lag(self, client: int, up_to_ms: int, duration_ms: int) -> None:
        """A client's lines are slow for a while."""
        self._lags[client] = (up_to_ms, self._timeline.now_ms + duration_ms)

    def cut(self, client: int) -> None:
        """All lines of a client break; of what is on its way any part is lost, and the bridge hears of it later."""
        for key in [key for key in self._current if key[0] == client]:
            self._break(self._current.pop(key))

    def cut_all(self) -> None:
        """The bridge is gone: nothing of what is on its way, to it or from it, arrives."""
        for line in list(self._current.values()):
            line.lost_after = line.arrived
            self._close(line)
        self._current.clear()

    def overdue(self, before_ms: int) -> list[RequestRef]:
        """Requests that arrived before that time on lines that still stand, and have no answer."""
        return [
            RequestRef(0, line.number, sequence)
            for line in self._lines.values()
            if line.is_open
            for sequence, arrived_ms in line.arrived_ms.items()
            if arrived_ms < before_ms
        ]

    def late(self) -> list[int]:
        """Clients with something on the way, to or from them, that was held up beyond the usual latency."""
        usual_ms = self._timeline.now_ms + self.latency_ms
        lines = (line for line in self._lines.values() if line.is_open)
        return sorted({line.client for line in lines if max(line.arrives_ms, line.returns_ms) > usual_ms})

    def _connect(self, client: int, road: int) -> Line:
        line = Line(number=len(self._lines) + 1, client=client)
        self._lines[line.number] = self._current[client, road] = line
        return line

    def _chance_of(self, client: int) -> Random:
        if client not in self._chance:
            self._chance[client] = Random(f"network {self._seed} {client}")
        return self._chance[client]

    def _latency(self, client: int) -> int:
        chance = self._chance_of(client)
        lag_ms, until_ms = self._lags.get(client, (0, 0))
        usual = chance.randint(0, self.latency_ms)
        return usual + chance.randint(0, lag_ms) if self._timeline.now_ms < until_ms else usual

    def _reach_bridge(self, line: Line, ref: RequestRef, request: GroupRequest) -> None:
        if line.lost_after is not None and ref.sequence >= line.lost_after:
            return
        line.arrived = ref.sequence + 1
        line.arrived_ms[ref.sequence] = self._timeline.now_ms
        self._arrive(ref, line.client, request)

    def _return(self, line: Line, sequence: int, reply: GroupReply) -> None:
        line.returns_ms = max(line.returns_ms, self._timeline.now_ms + self._latency(line.client))
        self._timeline.at(line.returns_ms, lambda: self._reach_client(line, sequence, reply))

    def _reach_client(self, line: Line, sequence: int, reply: GroupReply) -> None:
        if line.is_open:
            line.waiting.pop(sequence)(reply)

    def _break(self, line: Line) -> None:
        chance = self._chance_of(line.client)
        line.lost_after = chance.randint(line.arrived, line.sent)
        in_flight_ms = min(UNDELIVERED_MAX_MS, max(0, line.arrives_ms - self._timeline.now_ms))
        if in_flight_ms == UNDELIVERED_MAX_MS:
            line.lost_after = line.arrived
        self._close(line)
        delay_ms = in_flight_ms + chance.choice((0, 0, 10, 2_000))
        self._timeline.after(delay_ms, lambda: self._lost(line.number))

    def _close(self, line: Line) -> None:
        line.is_open = False
        waiting, line.waiting = line.waiting, {}
        for then in waiting.values():
            self._timeline.after(1, partial(then, None))
