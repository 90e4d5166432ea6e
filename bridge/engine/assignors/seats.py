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
class LoadOrder:
    """Levels of seats by load, none of them empty, each in seat order, with the number of seats and the sum of loads.

    A plain sorted list costs a comparison per bit and a move of pointers, which beats cleverer trees up to some 100,000
    seats.
    """

    levels: dict[int, list[Seat]] = field(default_factory=dict)
    size: int = 0
    total: int = 0

    def add(self, load: int, seat: Seat) -> None:
        """Put a seat on the level of its load."""
        level = self.levels.get(load)
        if level is None:
            self.levels[load] = [seat]
        else:
            insort(level, seat)
        self.size += 1
        self.total += load

    def remove(self, load: int, seat: Seat) -> None:
        """Take a seat away from its level; KeyError or ValueError if it is not there, which is a bug."""
        level = self.levels[load]
        place = bisect_left(level, seat)
        if place == len(level) or level[place] != seat:
            raise ValueError(f"EB-ENGINE-009: seat {seat!r} is not among the {len(level)} with load {load}")
        del level[place]
        if not level:
            del self.levels[load]
        self.size -= 1
        self.total -= load

    def fill(self, seats: list[tuple[int, Seat]]) -> None:
        """Put many seats with their loads on an empty load order at once."""
        for load, seat in sorted(seats):
            self.levels.setdefault(load, []).append(seat)
            self.total += load
        self.size = len(seats)
