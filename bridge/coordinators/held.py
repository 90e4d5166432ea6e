"""Requests that wait for a look at the broker, and those of the same members behind them, which must not overtake.

It must not know what is looked for or what a request does.
"""

from collections.abc import Iterator

from bridge.coordinators.arrivals import Arrival, seats_named
from translators.dialects.ids import GroupId, RequestRef

HELD_MAX = 10_000
"""How many requests may wait for the broker's word at once; further ones are refused."""

Seat = tuple[GroupId, str]


class Held:
    """Requests by what they wait for; a member's requests are given back in the order they came."""

    def __init__(self, held_max: int = HELD_MAX) -> None:
        self._lines: dict[RequestRef, list[Arrival]] = {}
        self._first_of: dict[Seat, RequestRef] = {}
        self._seats: dict[RequestRef, list[Seat]] = {}
        self._held_max = held_max
        self._count = 0

    def __len__(self) -> int:
        """How many requests wait."""
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether no further request may wait."""
        return self._count >= self._held_max

    def begin(self, arrival: Arrival) -> None:
        """A request waits for a look of its own."""
        self._lines[arrival.ref] = [arrival]
        self._count += 1
        self._claim(arrival, arrival.ref)

    def leader_of(self, arrival: Arrival) -> RequestRef | None:
        """The waiting request behind which this one belongs, None if it need not wait."""
        firsts = (self._first_of.get(seat) for seat in seats_named(arrival.request))
        return next((first for first in firsts if first is not None), None)

    def follow(self, leader: RequestRef, arrival: Arrival) -> None:
        """A request waits behind another of the same member."""
        self._lines[leader].append(arrival)
        self._count += 1
        self._claim(arrival, leader)

    def end(self, leader: RequestRef) -> Iterator[Arrival]:
        """The look is done: what waited, in order; the first is the one that began it unless its client is gone."""
        line = self._lines.pop(leader, [])
        self._count -= len(line)
        for seat in self._seats.pop(leader, ()):
            del self._first_of[seat]
        yield from line

    def forget(self, connection: int) -> None:
        """A connection is gone, and nobody waits for its requests; those of others stay."""
        for line in self._lines.values():
            kept = [arrival for arrival in line if arrival.ref.connection != connection]
            self._count -= len(line) - len(kept)
            line[:] = kept

    def _claim(self, arrival: Arrival, leader: RequestRef) -> None:
        for seat in seats_named(arrival.request):
            if seat not in self._first_of:
                self._first_of[seat] = leader
                self._seats.setdefault(leader, []).append(seat)
