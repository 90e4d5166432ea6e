"""A give-back step by step: what is asked, what an answer makes of a member, and how it ends."""

from dataclasses import replace

import pytest

from bridge.migration.moves.giveback import (
    ENDED,
    TRANSITIONS,
    CameToRest,
    Effect,
    Event,
    GiveBack,
    Join,
    Joined,
    Map,
    Member,
    Stage,
    Sync,
    Synced,
    begin,
    step,
)
from bridge.migration.moves.one_by_one import Drop, Keep, MemberLeft, Stopped
from translators.dialects.classic import JoinGroupReply, SyncGroupReply
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition

ONE, TWO = MemberId("one"), MemberId("two")
USING = frozenset({TopicPartition(TopicName("t"), 0), TopicPartition(TopicName("t"), 1)})
STOP = Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the operator stopped it")
WAITING = Member(using=USING)
JOINING = Member(using=USING, stage=Stage.JOINING, was_asked=True)
ASKING = Member(using=USING, stage=Stage.ASKING, was_asked=True, asked_generation=7)
SYNCING = Member(using=USING, stage=Stage.SYNCING, was_asked=True, generation=8)
LATER = [
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
]
REBALANCED = [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION]
GONE = [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID]


def of(member: Member) -> GiveBack:
    """A move of one member."""
    return GiveBack(members={ONE: member})


def became(member: Member, stage: Stage, code: ErrorCode | None = None, request: str = "JoinGroup") -> Member:
    """The same member at another stage, for the reason that the broker gave."""
    reason = None if code is None else Refused(code, f"the broker answers {code.name} to its {request}")
    return replace(member, stage=stage, reason=reason)


def joined(error: ErrorCode = ErrorCode.NONE, generation: int = -1) -> Joined:
    """The broker's answer to its JoinGroup."""
    return Joined(ONE, JoinGroupReply(error=error, member_id=ONE, generation=generation))


def synced(error: ErrorCode = ErrorCode.NONE, assignment: bytes = b"") -> Synced:
    """The broker's answer to its SyncGroup."""
    return Synced(ONE, SyncGroupReply(error=error, assignment=assignment))


def check(member: Member, event: Event, after: Member, *effects: Effect) -> None:
    """One event happens to the one member."""
    assert step(of(member), event) == (of(after), effects)


def test_member_at_rest_joins_and_syncs_and_is_mapped() -> None:
    """By what it has at that moment."""
    state, effects = step(begin({ONE: None, TWO: USING}), CameToRest(ONE, USING))
    assert (state, effects) == (GiveBack(members={ONE: JOINING, TWO: replace(WAITING, was_asked=True)}), (Join(ONE),))
    check(JOINING, joined(generation=8), SYNCING, Sync(ONE, 8))
    check(SYNCING, synced(assignment=encode_assignment(USING)), became(SYNCING, Stage.BACK), Map(ONE, 8, False))


@pytest.mark.parametrize(
    "assignment",
    [
        encode_assignment(frozenset(list(USING)[:1])),
        encode_assignment(USING | {TopicPartition(TopicName("t"), 2)}),
        encode_assignment(frozenset()),
        b"",
        b"\xff",
    ],
    ids=["less", "more", "nothing", "no bytes", "unreadable"],
)
def test_member_that_is_given_otherwise_is_called(assignment: bytes) -> None:
    """Its client gives up or takes on as in any rebalance."""
    check(SYNCING, synced(assignment=assignment), became(SYNCING, Stage.CALLED), Map(ONE, 8, True))


@pytest.mark.parametrize("code", LATER)
def test_what_says_nothing_of_the_member_is_asked_again(code: ErrorCode) -> None:
    """By the very same way, when its client is heard next; the operator's stop waits for that."""
    check(JOINING, joined(code), became(JOINING, Stage.WAITING))
    check(SYNCING, synced(code), became(SYNCING, Stage.WAITING))
    check(became(SYNCING, Stage.WAITING), CameToRest(ONE, USING), SYNCING, Sync(ONE, 8))


def test_lost_answer_is_asked_for_again() -> None:
    """It may be a classic member already, of a classic group perhaps: by a SyncGroup under the epoch that it had."""
    check(JOINING, Joined(ONE, None), became(JOINING, Stage.WAITING))
    check(became(JOINING, Stage.WAITING), CameToRest(ONE, USING, 7), ASKING, Sync(ONE, 7))
    check(ASKING, Synced(ONE, None), became(ASKING, Stage.WAITING))
    check(SYNCING, Synced(ONE, None), became(SYNCING, Stage.WAITING))


def test_member_whose_join_was_not_taken_joins_then() -> None:
    """As a classic member its broker does not know it."""
    check(ASKING, synced(ErrorCode.UNKNOWN_MEMBER_ID), became(ASKING, Stage.JOINING), Join(ONE))


def test_member_whose_join_was_taken_unheard_joins_no_second_time() -> None:
    """In a classic group's rebalance that was a promise that its client, which had all of it still, had let go."""
    check(ASKING, synced(assignment=encode_assignment(USING)), became(ASKING, Stage.BACK), Map(ONE, 7, False))
    check(ASKING, synced(assignment=encode_assignment(frozenset())), became(ASKING, Stage.CALLED), Map(ONE, 7, True))
    for code in REBALANCED:
        check(ASKING, synced(code), became(ASKING, Stage.CALLED, code, "SyncGroup"), Map(ONE, 7, True))
    code = ErrorCode.FENCED_INSTANCE_ID
    check(ASKING, synced(code), became(ASKING, Stage.GONE, code, "SyncGroup"), Drop(ONE))


@pytest.mark.parametrize("code", REBALANCED)
def test_member_whose_sync_comes_into_a_rebalance_is_called(code: ErrorCode) -> None:
    """Of its group, a classic one by then, nobody may join in its client's place, which has let nothing go."""
    check(SYNCING, synced(code), became(SYNCING, Stage.CALLED, code, "SyncGroup"), Map(ONE, 8, True))


@pytest.mark.parametrize("code", REBALANCED)
def test_join_that_comes_between_others_is_asked_again(code: ErrorCode) -> None:
    """It was not taken."""
    check(JOINING, joined(code), became(JOINING, Stage.WAITING))


@pytest.mark.parametrize("code", GONE)
def test_member_that_is_no_more_is_dropped(code: ErrorCode) -> None:
    """Whatever was asked."""
    check(JOINING, joined(code), became(JOINING, Stage.GONE, code), Drop(ONE))
    check(SYNCING, synced(code), became(SYNCING, Stage.GONE, code, "SyncGroup"), Drop(ONE))


def test_member_that_the_broker_wont_have_stays() -> None:
    """It goes on as a consumer member."""
    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    check(JOINING, joined(code), became(JOINING, Stage.STAYS, code), Keep(ONE))


def test_member_that_has_joined_is_a_classic_one_whatever_is_said_later() -> None:
    """Its client joins again under the same seat."""
    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    check(SYNCING, synced(code), became(SYNCING, Stage.CALLED, code, "SyncGroup"), Map(ONE, 8, True))


def test_stop_keeps_whoever_was_not_asked_for() -> None:
    """Of the others it is not known what they are."""
    lost = became(JOINING, Stage.WAITING)
    state = GiveBack(members={ONE: WAITING, TWO: lost, MemberId("three"): SYNCING})
    after = {ONE: replace(WAITING, stage=Stage.STAYS, reason=STOP), TWO: lost, MemberId("three"): SYNCING}
    assert step(state, Stopped(STOP)) == (GiveBack(members=after, stopped=STOP), (Keep(ONE),))


def test_member_that_is_gone_is_not_waited_for() -> None:
    """Also if an answer was lost before; one that is being asked for is answered first."""
    check(WAITING, MemberLeft(ONE), became(WAITING, Stage.GONE))
    check(became(JOINING, Stage.WAITING), MemberLeft(ONE), became(JOINING, Stage.GONE))
    check(JOINING, MemberLeft(ONE), JOINING)
    check(SYNCING, MemberLeft(ONE), SYNCING)


def test_what_is_not_in_the_table_changes_nothing() -> None:
    """Answers that come late, strangers, and members that have come to an end."""
    events: list[Event] = [CameToRest(ONE, USING), joined(generation=9), synced(), MemberLeft(ONE), Joined(ONE, None)]
    for stage in Stage:
        for event in events:
            if (stage, type(event)) not in TRANSITIONS:
                check(Member(using=USING, stage=stage), event, Member(using=USING, stage=stage))
    for event in events:
        assert step(begin({}), event) == (begin({}), ())


def test_move_is_over_when_everybody_has_come_to_an_end() -> None:
    """Also one of nobody."""
    assert begin({}).is_over
    assert [stage for stage in Stage if of(replace(SYNCING, stage=stage)).is_over] == [
        stage for stage in Stage if stage in ENDED
    ]
