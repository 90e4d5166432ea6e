"""Follows the first Fetch of each partition that a member was given.

It must not know how a Fetch is read: it gets the partitions that one names.
"""

from collections.abc import Mapping

from bridge.telemetry.following.telling import Teller
from bridge.telemetry.following.tracks import GroupTrack, Partitions
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, TopicPartition


class FetchFollower:
    """Members that have not fetched all of what they have."""

    def __init__(self, teller: Teller, groups: Mapping[GroupId, GroupTrack]) -> None:
        self._teller = teller
        self._groups = groups

    def fetched(self, client: ClientIdentity, partitions: Partitions, is_incremental: bool, at_us: int) -> None:
        """A Fetch names these; members are known by client id and host, since a Fetch names no group.

        An incremental one (KIP-227) asks also for what its session names from before, so a member that has the same
        partitions again need not name them again.
        """
        awaited = self._teller.awaiting.get((client.client_id, client.client_host), {})
        found: dict[tuple[GroupId, MemberId], set[TopicPartition]] = {}
        for partition in partitions & awaited.keys():
            for owner in awaited[partition]:
                found.setdefault(owner, set()).add(partition)
        if is_incremental:
            for partition, waiting in awaited.items():
                for owner in waiting:
                    if partition in self._former(owner):
                        found.setdefault(owner, set()).add(partition)
        for (group_id, member_id), fetched in found.items():
            group = self._groups[group_id]
            self._teller.fetch(group, group.members[member_id], frozenset(fetched), at_us)

    def _former(self, owner: tuple[GroupId, MemberId]) -> Partitions:
        group_id, member_id = owner
        return self._groups[group_id].members[member_id].former
