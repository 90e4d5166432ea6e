"""Follows what members do with partitions that they were given: the first Fetch of each, and the commits that matter.

Those are the first after an assignment, and those while a member gives something up.
"""

from bridge.telemetry.following.fact_fields import member_fields
from bridge.telemetry.following.fact_writer import FactWriter, Owner
from bridge.telemetry.following.joins import Partitions
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.facts import CommitPassed
from bridge.telemetry.schema.terms import Phase
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply


class FetchFollower:
    """Members that have not fetched all of what they have."""

    def __init__(self, writer: FactWriter) -> None:
        self._writer = writer

    def fetched(self, client: ClientIdentity, partitions: Partitions, is_incremental: bool, at_us: int) -> None:
        """A Fetch names these; members are known by client id and host, since a Fetch names no group.

        An incremental one (KIP-227) asks also for what its session names from before, so a member that has the same
        partitions again need not name them again.
        """
        awaited = self._writer.awaiting.get((client.client_id, client.client_host), {})
        found: dict[Owner, tuple[GroupTrack, MemberTrack, set[TopicPartition]]] = {}
        for partition, waiting in awaited.items():
            for owner, (group, member) in waiting.items():
                if partition in partitions or (is_incremental and partition in member.former):
                    found.setdefault(owner, (group, member, set()))[2].add(partition)
        for group, member, fetched in found.values():
            self._writer.fetch(group, member, frozenset(fetched), at_us)


class CommitFollower:
    """Commits of members."""

    def __init__(self, writer: FactWriter) -> None:
        self._writer = writer

    def is_wanted(self, group: GroupTrack, request: OffsetCommit) -> bool:
        """Whether this commit's answer matters."""
        member = group.members.get(request.member_id)
        return member is not None and (member.owes_commit or member.phase is Phase.REVOKING)

    def answered(self, group: GroupTrack, request: OffsetCommit, reply: OffsetCommitReply, at_us: int) -> None:
        """A commit was answered."""
        member = group.members.get(request.member_id)
        if member is None:
            return
        member.commit()
        errors = {one.error for topic in reply.topics for one in topic.partitions} - {ErrorCode.NONE}
        partitions = sorted((topic.name, one.partition) for topic in request.topics for one in topic.partitions)
        fact = CommitPassed(
            **member_fields(group, member),
            partitions=tuple(f"{name}-{partition}" for name, partition in partitions),
            is_on_revoke=member.phase is Phase.REVOKING,
            error=min((error.name for error in errors), default=""),
        )
        self._writer.tell(group, fact, at_us)
