"""Follows the first Fetch of each partition that a member was given.

It must not know how a Fetch is read: it gets the partitions that one names.
"""

from bridge.telemetry.following.telling import Owner, Teller
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack, Partitions
from translators.dialects.ids import ClientIdentity, TopicPartition


class FetchFollower:
    """Members that have not fetched all of what they have."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def fetched(self, client: ClientIdentity, partitions: Partitions, is_incremental: bool, at_us: int) -> None:
        """A Fetch names these; members are known by client id and host, since a Fetch names no group.

        An incremental one (KIP-227) asks also for what its session names from before, so a member that has the same
        partitions again need not name them again.
        """
        awaited = self._teller.awaiting.get((client.client_id, client.client_host), {})
        found: dict[Owner, tuple[GroupTrack, MemberTrack, set[TopicPartition]]] = {}
        for partition, waiting in awaited.items():
            for owner, (group, member) in waiting.items():
                if partition in partitions or (is_incremental and partition in member.former):
                    found.setdefault(owner, (group, member, set()))[2].add(partition)
        for group, member, fetched in found.values():
            self._teller.fetch(group, member, frozenset(fetched), at_us)
