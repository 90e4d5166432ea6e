"""What a probe asks, and what its answers mean."""

from collections.abc import Sequence

import pytest

from bridge.migration.abilities import TakeOverWay
from bridge.migration.probe import QUESTIONS_MAX, Probe, ProbeFinding, farewells, next_question
from translators.dialects.admin import DeleteGroups
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, GroupId, MemberId
from translators.dialects.messages import GroupReply

PROBE = Probe(GroupId("__epochbridge-probe-x"), MemberId("scout"))
MEMBER = MemberId("m-1")
TOLD_ID = JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=MEMBER)
JOINED = JoinGroupReply(error=ErrorCode.NONE, member_id=MEMBER, generation=1, protocol_name="range", leader=MEMBER)
SYNCED = SyncGroupReply(error=ErrorCode.NONE)
STABLE = (TOLD_ID, JOINED, SYNCED)
ALIVE, CALLED = HeartbeatReply(ErrorCode.NONE), HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS)


def beat(error: ErrorCode = ErrorCode.NONE) -> ConsumerGroupHeartbeatReply:
    """An answer to a heartbeat."""
    return ConsumerGroupHeartbeatReply(error=error)


FENCED = beat(ErrorCode.FENCED_MEMBER_EPOCH)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ((*STABLE, beat()), ProbeFinding(TakeOverWay.IN_PLACE)),
        ((*STABLE, FENCED, beat(), ALIVE, beat()), ProbeFinding(TakeOverWay.BY_SCOUT)),
        ((*STABLE, FENCED, beat(), CALLED), ProbeFinding(TakeOverWay.WHOLE_GROUP)),
        ((*STABLE, beat(ErrorCode.UNSUPPORTED_VERSION)), ProbeFinding(TakeOverWay.IMPOSSIBLE)),
        (
            (*STABLE, beat(ErrorCode.GROUP_ID_NOT_FOUND)),
            ProbeFinding(TakeOverWay.UNKNOWN, "brokers refuse to convert a group (69)"),
        ),
        (
            (JoinGroupReply(error=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=MemberId("")),),
            ProbeFinding(TakeOverWay.UNKNOWN, "the bridge's login has no READ on groups __epochbridge-probe-*"),
        ),
        (
            (TOLD_ID, JoinGroupReply(error=ErrorCode.GROUP_MAX_SIZE_REACHED, member_id=MEMBER)),
            ProbeFinding(TakeOverWay.UNKNOWN, "JoinGroupReply said GROUP_MAX_SIZE_REACHED"),
        ),
        ((TOLD_ID, TOLD_ID), ProbeFinding(TakeOverWay.UNKNOWN, "JoinGroupReply said MEMBER_ID_REQUIRED")),
        (
            (TOLD_ID, JOINED, SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS)),
            ProbeFinding(TakeOverWay.UNKNOWN, "SyncGroupReply said REBALANCE_IN_PROGRESS"),
        ),
        (
            (*STABLE, FENCED, beat(), HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID)),
            ProbeFinding(TakeOverWay.UNKNOWN, "HeartbeatReply said UNKNOWN_MEMBER_ID"),
        ),
        (
            (*STABLE, FENCED, beat(ErrorCode.GROUP_MAX_SIZE_REACHED)),
            ProbeFinding(TakeOverWay.UNKNOWN, "ConsumerGroupHeartbeatReply said GROUP_MAX_SIZE_REACHED"),
        ),
    ],
)
def test_answers_mean_what_was_measured(answers: Sequence[GroupReply], found: ProbeFinding) -> None:
    """On brokers of 4.0 to 4.3, and on those that do not know the protocol; before the end there are questions."""
    assert next_question(PROBE, answers) == found
    asked = [next_question(PROBE, answers[:count]) for count in range(len(answers))]
    assert not any(isinstance(question, ProbeFinding) for question in asked)
    assert len(asked) <= QUESTIONS_MAX


def test_questions_come_from_one_member_and_then_its_scout() -> None:
    """Joined by name, at rest, its own heartbeat; the scout only where that is not taken."""
    answers = (*STABLE, FENCED, beat(), ALIVE)
    asked = [next_question(PROBE, answers[:count]) for count in range(len(answers) + 1)]
    names = [(type(one).__name__, getattr(one, "member_id", None), getattr(one, "member_epoch", None)) for one in asked]
    assert names == [
        ("JoinGroup", "", None),
        ("JoinGroup", MEMBER, None),
        ("SyncGroup", MEMBER, None),
        ("ConsumerGroupHeartbeat", MEMBER, 0),
        ("ConsumerGroupHeartbeat", "scout", 0),
        ("Heartbeat", MEMBER, None),
        ("ConsumerGroupHeartbeat", MEMBER, 1),
    ]
    beats = [one for one in asked if isinstance(one, ConsumerGroupHeartbeat)]
    assert {(one.subscribed_topic_names, one.owned) for one in beats} == {((), frozenset())}


def test_nobody_is_left_behind() -> None:
    """The member leaves however far it came, the scout where it was let in, and then the group is removed."""
    assert farewells(PROBE, ()) == ()
    leaving, removal = farewells(PROBE, (*STABLE, beat()))
    assert removal == DeleteGroups((PROBE.group_id,))
    assert isinstance(leaving, LeaveGroup)
    assert [one.member_id for one in leaving.members] == [MEMBER]
    _, scout, removal = farewells(PROBE, (*STABLE, FENCED, beat(), CALLED))
    assert removal == DeleteGroups((PROBE.group_id,))
    assert isinstance(scout, ConsumerGroupHeartbeat)
    assert (scout.member_id, scout.member_epoch, scout.owned) == ("scout", LEAVE_EPOCH, None)
    assert len(farewells(PROBE, (*STABLE, FENCED, FENCED))) == 2
