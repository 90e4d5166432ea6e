"""What groups themselves take of the journal, members aside, and at whose cost.

A group begins with a JoinGroup that is answered MEMBER_ID_REQUIRED, as in Kafka (K1.11), and goes on when its last
member has left, until its last offset has expired: 2,000 names of 32 kB, with nobody in any, weighed nothing and filled
a journal, and then all groups' heartbeats were refused.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bridge.coordinators.embedded.pattern_shares import NOTHING, Growth, Holder
from bridge.coordinators.embedded.weights import group_bytes
from bridge.engine.state import Shard
from translators.dialects.ids import GroupId


class Charge(NamedTuple):
    """So much more, or less, for a group, for all, and for the address that made it if that is known."""

    group_id: GroupId
    host: str | None
    size_bytes: int


class Founders:
    """Each group is the cost of the address whose join began it, as long as there is the group.

    The journal does not say whose that was: after a restart it is the address of the group's first member, and where
    nobody is in it nobody's, so that it counts for all together only.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._hosts: dict[GroupId, str] = {}
        self.charged: dict[GroupId, str | None] = {}
        """Who pays for each group that is in the sums; None for nobody."""
        self._coming: dict[GroupId, str] = {}
        self._arriving: dict[GroupId, str] = {}

    def clear(self) -> None:
        """Nothing is in the sums."""
        self.charged.clear()
        self._hosts = {group_id: host for group_id, host in self._hosts.items() if self._has(group_id)}

    def groups(self) -> Iterator[GroupId]:
        """All that there are."""
        yield from self._shard.groups
        yield from self._shard.classic_groups

    def growth(self, group_id: GroupId) -> Growth:
        """What a join adds by beginning its group; nothing where there is one, or will be with this turn."""
        return NOTHING if group_id in self._coming or self._has(group_id) else Growth.of_all(group_bytes(group_id))

    def reserve(self, holder: Holder) -> None:
        """Somebody there was let in, who may begin the group."""
        if not self._has(holder.group_id):
            self._coming.setdefault(holder.group_id, holder.host)

    def end_turn(self) -> None:
        """Whoever was let in is about to be carried out."""
        self._arriving, self._coming = self._coming, {}

    def note(self, group_id: GroupId) -> None:
        """It has begun; if it only changed its type, whoever made it before has made it."""
        host = self._arriving.get(group_id)
        if host is not None:
            self._hosts[group_id] = host

    def weigh_again(self, group_id: GroupId, first_host: str | None) -> Iterator[Charge]:
        """What changes of the sums by what the group is now; O(1)."""
        is_there, is_charged = self._has(group_id), group_id in self.charged
        if is_there and group_id not in self._hosts and first_host is not None:
            self._hosts[group_id] = first_host
        if not is_there:
            self._hosts.pop(group_id, None)
        host = self._hosts.get(group_id)
        if is_charged and not (is_there and self.charged[group_id] == host):
            yield Charge(group_id, self.charged.pop(group_id), -group_bytes(group_id))
        if is_there and group_id not in self.charged:
            self.charged[group_id] = host
            yield Charge(group_id, host, group_bytes(group_id))

    def _has(self, group_id: GroupId) -> bool:
        return group_id in self._shard.groups or group_id in self._shard.classic_groups
