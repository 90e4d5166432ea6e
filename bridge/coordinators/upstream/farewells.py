"""Members that are gone and could not say so themselves, as their connection is gone, too."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from translators.dialects.coordinator import Farewell
from translators.dialects.ids import STATIC_LEAVE_EPOCH, GroupId, InstanceId

FAREWELLS_MAX = 10_000
"""Members whose leaving could not be said, of all groups together; the broker ends the others by their session."""


class Farewells:
    """Members that are gone with their connection: the next one of their group says so, or else the others would wait
    for the broker's session, 45 s where a classic client asked for six.
    """

    def __init__(self) -> None:
        self._by_group: OrderedDict[GroupId, list[Farewell]] = OrderedDict()
        self._count = 0

    def __contains__(self, group_id: GroupId) -> bool:
        """Whether anybody of a group is to be seen off."""
        return group_id in self._by_group

    def keep(self, farewell: Farewell) -> None:
        """Let it be said later; beyond the limit the oldest group's are never said."""
        self._by_group.setdefault(farewell.group_id, []).append(farewell)
        self._count += 1
        while self._count > FAREWELLS_MAX:
            self._count -= len(self._by_group.popitem(last=False)[1])

    def take(self, group_id: GroupId) -> Sequence[Farewell]:
        """What is to be said for a group, once."""
        found = self._by_group.pop(group_id, [])
        self._count -= len(found)
        return found

    def take_seat(self, group_id: GroupId, instance_id: InstanceId) -> Sequence[Farewell]:
        """Who sat on a static seat that somebody takes now: whoever may join with an instance id, may say so, too.

        The seat is handed on, whatever was to be said before: the broker keeps its partitions for the newcomer.
        """
        kept = self._by_group.get(group_id, [])
        found = [one for one in kept if one.instance_id == instance_id]
        if found:
            self._count -= len(found)
            self._by_group[group_id] = [one for one in kept if one.instance_id != instance_id]
            if not self._by_group[group_id]:
                del self._by_group[group_id]
        return [replace(one, member_epoch=STATIC_LEAVE_EPOCH) for one in found]
