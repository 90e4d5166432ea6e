"""Seats ordered by how many partitions each has, kept in order while loads change one by one."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from translators.dialects.ids import InstanceId, MemberId

Seat = tuple[bool, str, MemberId]
"""Where a member stands among others: static ones first by instance id, then dynamic ones by member id (K9.2)."""


def seat_of(member_id: MemberId, instance_id: InstanceId | None) -> Seat:
    """A member's seat; its instance id keeps it through restarts (KIP-345)."""
    return (instance_id is None, instance_id or "", member_id)


@dataclass(slots=True)
class Ladder:
    """Rungs of seats by load, none of them empty, each in seat order, with the number of seats and the sum of loads.

    A plain sorted list costs a comparison per bit and a move of pointers, which beats cleverer trees up to some 100,000
    seats.
    """

    rungs: dict[int, list[Seat]] = field(default_factory=dict)
    size: int = 0
    total: int = 0

    def add(self, load: int, seat: Seat) -> None:
        """Put a seat on the rung of its load."""
        rung = self.rungs.get(load)
        if rung is None:
            self.rungs[load] = [seat]
        else:
            insort(rung, seat)
        self.size += 1
        self.total += load

    def remove(self, load: int, seat: Seat) -> None:
        """Take a seat away from its rung; KeyError or ValueError if it is not there, which is a bug."""
        rung = self.rungs[load]
        place = bisect_left(rung, seat)
        if place == len(rung) or rung[place] != seat:
            raise ValueError(f"EB-ENGINE-009: seat {seat!r} is not among the {len(rung)} with load {load}")
        del rung[place]
        if not rung:
            del self.rungs[load]
        self.size -= 1
        self.total -= load

    def fill(self, seats: list[tuple[int, Seat]]) -> None:
        """Put many seats with their loads on an empty ladder at once."""
        for load, seat in sorted(seats):
            self.rungs.setdefault(load, []).append(seat)
            self.total += load
        self.size = len(seats)
