"""What patterns take of the journal: the topics of each are written once, whoever has it.

So a pattern counts once for all, once for each group that has it and once for each address whose clients have it; by
its own few letters it would cost nothing, and every member of a large group would be charged for all topics.
"""

from collections.abc import Mapping
from typing import NamedTuple

from bridge.coordinators.embedded.weights import pattern_bytes
from bridge.engine.indexes import count_down, count_up
from bridge.engine.state import Shard
from translators.dialects.ids import GroupId


class Growth(NamedTuple):
    """How many bytes more a group, an address and all together would hold."""

    group_bytes: int
    host_bytes: int
    all_bytes: int

    @classmethod
    def of_all(cls, size_bytes: int) -> "Growth":
        """That much of something which nobody shares."""
        return cls(size_bytes, size_bytes, size_bytes)

    def plus(self, other: "Growth") -> "Growth":
        """Both."""
        return Growth(*(mine + its for mine, its in zip(self, other, strict=True)))


NOTHING = Growth.of_all(0)


class Holder(NamedTuple):
    """A group and an address from which somebody in it has a pattern."""

    group_id: GroupId
    host: str


class PatternShares:
    """Who has which pattern, and with how many bytes it is in the sums.

    `told` are the sizes of those that the engine learns in the next turn.
    """

    def __init__(self, shard: Shard) -> None:
        self.told: Mapping[str, int] = {}
        self._shard = shard
        self._sizes: dict[str, int] = {}
        self._groups: dict[str, dict[GroupId, int]] = {}
        self._hosts: dict[str, dict[str, int]] = {}
        self._reserved: set[tuple[str, GroupId | None, str | None]] = set()

    def clear(self) -> None:
        """Nobody has any."""
        self._sizes.clear()
        self._groups.clear()
        self._hosts.clear()

    def end_turn(self) -> None:
        """What was reserved is carried out, or refused."""
        self._reserved.clear()

    def growth(self, pattern: str | None, holder: Holder) -> Growth:
        """What the sums grow by if somebody there has this pattern, too."""
        if not pattern:
            return NOTHING
        size_bytes = self._size(pattern)
        return Growth(
            self._new(pattern, holder.group_id, None) * size_bytes,
            self._new(pattern, None, holder.host) * size_bytes,
            self._new(pattern, None, None) * size_bytes,
        )

    def reserve(self, pattern: str | None, holder: Holder) -> None:
        """Somebody there will have it with the next turn."""
        if pattern:
            whose = ((pattern, holder.group_id, None), (pattern, None, holder.host), (pattern, None, None))
            self._reserved.update(whose)

    def begin(self, pattern: str, holder: Holder) -> Growth:
        """A member there has it; what the sums grow by."""
        size_bytes = self._sizes.setdefault(pattern, self._written(pattern))
        groups, hosts = self._groups.setdefault(pattern, {}), self._hosts.setdefault(pattern, {})
        grown = Growth(
            (holder.group_id not in groups) * size_bytes,
            (holder.host not in hosts) * size_bytes,
            (not groups) * size_bytes,
        )
        count_up(groups, holder.group_id)
        count_up(hosts, holder.host)
        return grown

    def end(self, pattern: str, holder: Holder) -> Growth:
        """A member there has it no more; what the sums shrink by."""
        size_bytes, groups, hosts = self._sizes[pattern], self._groups[pattern], self._hosts[pattern]
        count_down(groups, holder.group_id)
        count_down(hosts, holder.host)
        if not groups:
            del self._sizes[pattern], self._groups[pattern], self._hosts[pattern]
        return Growth(
            (holder.group_id not in groups) * size_bytes,
            (holder.host not in hosts) * size_bytes,
            (not groups) * size_bytes,
        )

    def weigh_again(self, pattern: str) -> tuple[int, tuple[GroupId, ...], tuple[str, ...]]:
        """It matches something else now: how many bytes more it takes, for whom; nobody if nobody has it."""
        if pattern not in self._sizes:
            return 0, (), ()
        size_bytes = self._written(pattern)
        more, self._sizes[pattern] = size_bytes - self._sizes[pattern], size_bytes
        return more, tuple(self._groups[pattern]), tuple(self._hosts[pattern])

    def _new(self, pattern: str, group_id: GroupId | None, host: str | None) -> bool:
        if (pattern, group_id, host) in self._reserved:
            return False
        if group_id is not None:
            return group_id not in self._groups.get(pattern, ())
        return pattern not in self._hosts if host is None else host not in self._hosts.get(pattern, ())

    def _size(self, pattern: str) -> int:
        told = self.told.get(pattern)
        if told is not None:
            return told
        counted = self._sizes.get(pattern)
        return self._written(pattern) if counted is None else counted

    def _written(self, pattern: str) -> int:
        resolved = self._shard.patterns.get(pattern)
        return pattern_bytes(pattern, () if resolved is None else resolved.topics)
