"""What groups themselves take of the journal, members aside, and at whose cost.

A group begins with a JoinGroup that is answered MEMBER_ID_REQUIRED, as in Kafka (K1.11), and goes on when its last
member has left, until its last offset has expired: 2,000 names of 32 kB, with nobody in any, weighed nothing and filled
a journal, and then all groups' heartbeats were refused.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from bridge.coordinators.embedded.pattern_shares import NOTHING, Growth, Holder
from bridge.coordinators.embedded.weights import group_bytes
from bridge.engine.state import Shard
from translators.dialects.ids import GroupId

FOUNDER = "founder:"
"""In front of an address, the name of the fact of which groups it began, of those that nobody is in."""
TOLD_MAX = 10_000
"""Of so many groups it is kept over a restart who began them; each takes 12 characters."""
_DIGEST_BYTES = 6


class Charge(NamedTuple):
    """So much more, or less, for a group, for all, and for the address that made it if that is known."""

    group_id: GroupId
    host: str | None
    size_bytes: int


class Founders:
    """Each group is the cost of the address whose join began it, as long as there is the group.

    Entries of groups don't say whose that was: after a restart it is the address of the group's first member, and where
    nobody is in it the one that a fact of the bridge names (`told`); without that it counts for all together only.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._hosts: dict[GroupId, str] = {}
        self.charged: dict[GroupId, str | None] = {}
        """Who pays for each group that is in the sums; None for nobody."""
        self._coming: dict[GroupId, str] = {}
        self._arriving: dict[GroupId, str] = {}
        self._recalled: dict[str, str] = {}

    def told(self, is_inhabited: Callable[[GroupId], bool]) -> Mapping[str, str]:
        """By the names of facts, what has to be kept of groups that nobody is in; O(groups)."""
        begun: dict[str, list[str]] = {}
        empty = (group_id for group_id in self._hosts if self._has(group_id) and not is_inhabited(group_id))
        for group_id in islice(empty, TOLD_MAX):
            begun.setdefault(FOUNDER + self._hosts[group_id], []).append(_digest(group_id))
        return {name: "".join(sorted(digests)) for name, digests in begun.items()}

    def recall(self, facts: Mapping[str, str]) -> None:
        """Go on with what was told before a restart."""
        step = 2 * _DIGEST_BYTES
        for name, text in facts.items():
            host = name.removeprefix(FOUNDER)
            self._recalled |= {text[at : at + step]: host for at in range(0, len(text), step)}

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
        if is_there and group_id not in self._hosts:
            founder = self._recalled.pop(_digest(group_id), first_host) if self._recalled else first_host
            if founder is not None:
                self._hosts[group_id] = founder
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


def _digest(group_id: GroupId) -> str:
    """A name of 32 kB is not written once more: what tells a group from others is enough to know it again."""
    return blake2b(group_id.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
