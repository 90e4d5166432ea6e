"""Follows the commits that matter to a rebalance: the first after an assignment, and those while a member gives up.

It must not know offsets, let alone what else a commit carries.
"""

from bridge.telemetry.following.phrases import member_words
from bridge.telemetry.following.telling import Teller
from bridge.telemetry.following.tracks import GroupTrack
from bridge.telemetry.schema.facts import CommitPassed
from bridge.telemetry.schema.terms import Phase
from translators.dialects.errors import ErrorCode
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply


class CommitFollower:
    """Commits of members."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

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
            **member_words(group, member),
            partitions=tuple(f"{name}-{partition}" for name, partition in partitions),
            is_on_revoke=member.phase is Phase.REVOKING,
            error=min((error.name for error in errors), default=""),
        )
        self._teller.tell(group, fact, at_us)
