"""Follows the first Fetch of each partition that a member was given.

It must not know how a Fetch is read: it gets the partitions that one names.
"""

from collections.abc import Mapping

from bridge.telemetry.following.telling import Teller
from bridge.telemetry.following.tracks import GroupTrack, Partitions
from translators.dialects.ids import ClientIdentity, GroupId


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
        waiting = self._teller.awaiting.get((client.client_id, client.client_host), {})
        for group_id, member_id in tuple(waiting):
            group = self._groups[group_id]
            member = group.members.get(member_id)
            if member is None:
                del waiting[group_id, member_id]
                continue
            named = partitions | member.former if is_incremental else partitions
            found = member.unfetched & named
            if found:
                self._teller.fetch(group, member, found, at_us)
