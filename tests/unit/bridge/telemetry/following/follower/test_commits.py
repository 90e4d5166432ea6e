"""Commits are told of where they matter to a rebalance, without offsets and what else they carry."""

from bridge.telemetry.schema.facts import CommitPassed
from tests.support.heard import Ears
from tests.support.owned_group import GROUP, TOPIC
from tests.support.passing_words import beat, beaten, join, joined, sync, synced
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)


def _commit(ears: Ears, error: ErrorCode = ErrorCode.NONE) -> None:
    request = OffsetCommit(
        group_id=GROUP,
        generation=1,
        member_id=MemberId("a"),
        instance_id=None,
        topics=(TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=0, offset=7, metadata="secret"),)),),
    )
    reply = OffsetCommitReply(topics=(CommittedTopic(name=TOPIC, partitions=(CommittedPartition(0, error),)),))
    ears.pass_by(request, reply)


def _member() -> Ears:
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0,)}), synced(0))
    return ears


def _told(ears: Ears) -> list[tuple[bool, str]]:
    facts = [fact for fact in ears.log.of(CommitPassed) if isinstance(fact, CommitPassed)]
    return [(fact.is_on_revoke, fact.error) for fact in facts]


def test_first_commit_after_an_assignment_is_told_and_no_other() -> None:
    """It says when work began."""
    ears = _member()
    for _ in range(3):
        _commit(ears)
    assert _told(ears) == [(False, "")]
    (fact,) = ears.log.of(CommitPassed)
    assert isinstance(fact, CommitPassed)
    assert fact.partitions == (f"{TOPIC}-0",)
    assert "secret" not in repr(ears.log.events)


def test_commit_on_revoke_is_told_with_its_error() -> None:
    """It says how a member let go."""
    ears = _member()
    _commit(ears)
    ears.pass_by(beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    _commit(ears, ErrorCode.REBALANCE_IN_PROGRESS)
    assert _told(ears) == [(False, ""), (True, "REBALANCE_IN_PROGRESS")]


def test_commit_of_nobody_known_is_not_told() -> None:
    """Simple commits belong to no member."""
    ears = Ears()
    _commit(ears)
    assert _told(ears) == []
