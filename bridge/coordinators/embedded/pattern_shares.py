"""What patterns take of the journal: the topics of each are written once, whoever has it.

So a pattern counts once for all, once for each group that has it and once for each address whose clients have it; by
its own few letters it would cost nothing, and every member of a large group would be charged for all topics. What of
its topics is hidden from a group is written for each group, and counts so.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from bridge.coordinators.embedded.weights import hidden_bytes, pattern_bytes
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


class HiddenKey(NamedTuple):
    """What of a pattern's topics one group is not given."""

    group_id: GroupId
    pattern: str


KeyT = TypeVar("KeyT", bound=Hashable)


def pattern_written(shard: Shard, pattern: str) -> int:
    """What a pattern takes as the engine has it."""
    resolved = shard.patterns.get(pattern)
    return pattern_bytes(pattern, () if resolved is None else resolved.topics)


def hidden_written(shard: Shard, key: HiddenKey) -> int:
    """What it takes that a group is not given as the engine has that; nothing of most."""
    group = shard.groups.get(key.group_id)
    return 0 if group is None else hidden_bytes(key.group_id, key.pattern, group.hidden.get(key.pattern, ()))


class PatternShares(Generic[KeyT]):
    """Who has which pattern, or is hidden something by it, and with how many bytes that is in the sums: by what
    `written` tells, or `told`, the sizes of those that the engine learns in the next turn.
    """

    def __init__(self, written: Callable[[KeyT], int]) -> None:
        self.told: Mapping[KeyT, int] = {}
        self._written = written
        self._sizes: dict[KeyT, int] = {}
        self._groups: dict[KeyT, dict[GroupId, int]] = {}
        self._hosts: dict[KeyT, dict[str, int]] = {}
        self._reserved: set[tuple[KeyT, GroupId | None, str | None]] = set()

    def clear(self) -> None:
        """Nobody has any."""
        self._sizes.clear()
        self._groups.clear()
        self._hosts.clear()

    def end_turn(self) -> None:
        """What was reserved is carried out, or refused."""
        self._reserved.clear()

    def growth(self, pattern: KeyT | None, holder: Holder, will_be: Callable[[], int] | None = None) -> Growth:
        """What the sums grow by if somebody there has this pattern, too, of the size that it is or `will_be`."""
        if not pattern:
            return NOTHING
        news = [self._new(pattern, *whose) for whose in _whose(holder)]
        if not any(news):
            return NOTHING
        size_bytes = self._size(pattern) if will_be is None else will_be()
        return Growth(*(is_new * size_bytes for is_new in news))

    def reserve(self, pattern: KeyT | None, holder: Holder) -> None:
        """Somebody there will have it with the next turn."""
        if pattern:
            self._reserved.update((pattern, *whose) for whose in _whose(holder))

    def begin(self, pattern: KeyT, holder: Holder) -> Growth:
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

    def end(self, pattern: KeyT, holder: Holder) -> Growth:
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

    def weigh_again(self, pattern: KeyT) -> tuple[int, tuple[GroupId, ...], tuple[str, ...]]:
        """It matches something else now: how many bytes more it takes, for whom; nobody if nobody has it."""
        if pattern not in self._sizes:
            return 0, (), ()
        size_bytes = self._written(pattern)
        more, self._sizes[pattern] = size_bytes - self._sizes[pattern], size_bytes
        return more, tuple(self._groups[pattern]), tuple(self._hosts[pattern])

    def _new(self, pattern: KeyT, group_id: GroupId | None, host: str | None) -> bool:
        if (pattern, group_id, host) in self._reserved:
            return False
        if group_id is not None:
            return group_id not in self._groups.get(pattern, ())
        return pattern not in self._hosts if host is None else host not in self._hosts.get(pattern, ())

    def _size(self, pattern: KeyT) -> int:
        told = self.told.get(pattern)
        if told is not None:
            return told
        counted = self._sizes.get(pattern)
        return self._written(pattern) if counted is None else counted


def _whose(holder: Holder) -> tuple[tuple[GroupId | None, str | None], ...]:
    """For whom something counts: for the group, for the address, and for all."""
    return (holder.group_id, None), (None, holder.host), (None, None)
