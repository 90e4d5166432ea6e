"""Compares each target of a group with the one before: how many partitions moved, and how many had to.

What it costs depends on what changed, not on the size of the group.
"""

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from translators.dialects.ids import MemberId

PartitionT = TypeVar("PartitionT")


@dataclass(frozen=True, slots=True)
class Moves:
    """How many partitions have another owner than before, and how many could not have stayed."""

    moved: int
    forced_minimum: int


def forced_minimum(counts: Mapping[int, int], left: int, partition_count: int) -> int:
    """Partitions that no balanced target could have left where they were, if every member wants every topic.

    `counts` says how many members of the new target had how many before, `left` how many partitions lost their owner.
    """
    members = sum(counts.values())
    if not members:
        return 0
    share, more = divmod(partition_count, members)
    moved = left
    for had in sorted(counts, reverse=True):
        with_more = min(more, counts[had])
        more -= with_more
        moved += with_more * max(0, had - share - 1) + (counts[had] - with_more) * max(0, had - share)
    return moved


def compare_shares(
    last_holders: Mapping[PartitionT, MemberId], shares: Mapping[MemberId, frozenset[PartitionT]], *, is_alike: bool
) -> Moves:
    """A target that is known in full, against who had each partition last.

    What a cooperative leader gives nobody while its owner still has to give it up (KIP-429) has not moved yet.
    """
    counts = Counter(last_holders.values())
    sizes = Counter(counts[member_id] for member_id in shares)
    had = {part: last_holders[part] for share in shares.values() for part in share if part in last_holders}
    moved = sum(had.get(part, member_id) != member_id for member_id, share in shares.items() for part in share)
    left = sum(holder not in shares for holder in had.values())
    total = sum(len(share) for share in shares.values())
    waiting = sum(counts[member_id] for member_id in shares) - (len(had) - left)
    forced = forced_minimum(sizes, left, total + waiting) if is_alike else left
    return Moves(moved, min(moved, forced))


@dataclass(slots=True)
class TargetBook(Generic[PartitionT]):
    """The target in force, and what changed since it came: who joined, who left, and the shares of the next one."""

    shares: dict[MemberId, frozenset[PartitionT]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    coming: dict[MemberId, frozenset[PartitionT]] = field(default_factory=dict)
    left: set[PartitionT] = field(default_factory=set)

    def join(self, member_id: MemberId) -> None:
        """A member came; one that is known stays as it is."""
        if member_id not in self.shares:
            self._put(member_id, frozenset())

    def leave(self, member_id: MemberId) -> None:
        """A member is gone."""
        self.coming.pop(member_id, None)
        share = self.shares.pop(member_id, None)
        if share is not None:
            self._count(len(share), -1)
            self.left |= share

    def assign(self, member_id: MemberId, share: frozenset[PartitionT]) -> None:
        """The next target gives a member these; without it a member keeps what it has."""
        self.join(member_id)
        self.coming[member_id] = share

    def seat(self, member_id: MemberId, share: frozenset[PartitionT]) -> None:
        """A member has taken over the seat of one that is gone, with its share: nothing moves."""
        self.coming.pop(member_id, None)
        self._count(len(self.shares.get(member_id, ())), -(member_id in self.shares))
        self._put(member_id, share)
        self.left -= share

    def turn(self, owned: Container[PartitionT], partition_count: int, *, is_alike: bool) -> Moves:
        """The next target is in force, with `owned` the partitions that it gives to somebody.

        `is_alike` says that every member wants the same topics; elsewhere only what lost its owner had to move.
        """
        left = {partition for partition in self.left if partition in owned}
        lost = left.union(*(self.shares[member_id] - share for member_id, share in self.coming.items()))
        # The first target of a large group gives out all there is and takes nothing.
        gained = (share - self.shares[member_id] for member_id, share in self.coming.items()) if lost else ()
        moved = len(lost & frozenset[PartitionT]().union(*gained))
        forced = forced_minimum(self.counts, len(left), partition_count) if is_alike else len(left)
        for member_id, share in self.coming.items():
            self._count(len(self.shares[member_id]), -1)
            self._put(member_id, share)
        self.coming, self.left = {}, set()
        return Moves(moved, min(moved, forced))

    def _put(self, member_id: MemberId, share: frozenset[PartitionT]) -> None:
        self.shares[member_id] = share
        self._count(len(share), 1)

    def _count(self, size: int, members: int) -> None:
        count = self.counts.get(size, 0) + members
        if count:
            self.counts[size] = count
        else:
            self.counts.pop(size, None)
