"""A member whose JoinGroup is parked (decision 11)."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    EPOCH,
    FAREWELL,
    LIMITS,
    MEMBER,
    NOBODY,
    NOW,
    REBALANCE_MS,
    SESSION_MS,
    A,
    B,
    C,
    beat,
    beat_reply,
    completing,
    farewell,
    fenced,
    granted,
    inquiry,
    join_error,
    join_reply,
    joined,
    leaving,
    membership,
    parts,
    preparing,
    profile,
    ref,
    refused,
    resubscribed,
    sync_error,
    synced,
    tenure,
)
from translators.classic_member.events import ConnectionLost, DeadlinePassed, Depart, LeaveReceived, Replaced
from translators.classic_member.preparing import client_while_preparing, preparing_deadline, world_while_preparing
from translators.classic_member.states import (
    Absent,
    Asked,
    CompletingRebalance,
    Leaving,
    Overtaken,
    Parked,
    PreparingRebalance,
    Retrying,
    Scheduled,
    Silent,
)
from translators.classic_member.tenure import Tenure, Vacant
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode
from translators.machine import Step

HOLD_END = NOW + LIMITS.eager_join_hold_max_ms
NEWCOMER = preparing(Asked(), Vacant(), epoch=0)
LOST_B = Tenure(generation=3, handed=parts(A, B), since={A: 3}, released=parts(B))


def completed_at(now_ms: int, hand_out: Tenure) -> CompletingRebalance:
    """Give the state after the parked join was answered."""
    state = replace(completing(), membership=membership(hand_out.handed), tenure=hand_out)
    return replace(state, session_deadline_ms=now_ms + SESSION_MS, sync_deadline_ms=now_ms + REBALANCE_MS)


def test_preparing_newcomer_gets_generation_one() -> None:
    """Whatever the epoch is, the client's own counter starts at 1 (clients.md, 4)."""
    first = Tenure(generation=1, handed=parts(A), since={A: 1})
    step = world_while_preparing(NEWCOMER, granted(parts(A)), NOW)
    assert step == Step(completed_at(NOW, first), (join_reply(1),))


def test_preparing_same_assignment_keeps_the_generation() -> None:
    """A member that rejoined by itself and gets the same back is answered at once, unchanged (decision 12)."""
    step = world_while_preparing(preparing(Asked()), granted(parts(A, B)), NOW)
    shown = replace(completed_at(NOW, tenure(A, B)), is_shown=True)
    assert step == Step(shown, (join_reply(3),))


def test_preparing_changed_assignment_moves_the_generation() -> None:
    """What it kept stays its own since before."""
    step = world_while_preparing(preparing(Asked()), granted(parts(A, C)), NOW)
    after = Tenure(generation=4, handed=parts(A, C), since={A: 3, C: 4})
    assert step == Step(completed_at(NOW, after), (join_reply(4),))


def test_preparing_eager_join_is_held_while_partitions_are_pending() -> None:
    """It stops once: nothing is answered until all is free, and what was taken is known to be taken."""
    held = world_while_preparing(preparing(Asked()), granted(parts(A), parts(C)), NOW)
    waiting = replace(preparing(Silent(), LOST_B), membership=membership(parts(A), parts(C)))
    assert held == Step(waiting)
    called = world_while_preparing(waiting, CoordinatorCalled(), NOW + 1)
    assert called == Step(replace(waiting, talk=Asked()), (inquiry(),))
    free = world_while_preparing(replace(waiting, talk=Asked()), granted(parts(A, C)), NOW + 2)
    after = Tenure(generation=4, handed=parts(A, C), since={A: 3, C: 4})
    assert free == Step(completed_at(NOW + 2, after), (join_reply(4),))


def test_preparing_hold_ends_with_what_is_free() -> None:
    """At expiry the client works with what there is (decision 11)."""
    waiting = replace(preparing(Silent(), LOST_B), membership=membership(parts(A), parts(C)))
    assert world_while_preparing(waiting, DeadlinePassed(), HOLD_END - 1) == Step(waiting)
    after = Tenure(generation=4, handed=parts(A), since={A: 3})
    ended = world_while_preparing(waiting, DeadlinePassed(), HOLD_END)
    expected = replace(completed_at(HOLD_END, after), membership=membership(parts(A), parts(C)))
    assert ended == Step(expected, (join_reply(4),))


def test_preparing_hold_does_not_end_during_a_question() -> None:
    """What is granted may just be taken: the answer comes first, and then ends the hold."""
    asking = preparing(Asked(), assigned=parts(A, B))
    assert world_while_preparing(asking, DeadlinePassed(), HOLD_END) == Step(asking)
    ended = world_while_preparing(asking, granted(parts(A), parts(C)), HOLD_END)
    assert ended.effects == (join_reply(4),)


def test_preparing_cooperative_join_is_never_held() -> None:
    """It goes on processing meanwhile, so it is answered at once (decision 11)."""
    state = replace(preparing(Asked()), using=parts(A, B), hold_until_ms=NOW)
    step = world_while_preparing(state, granted(parts(A), parts(C)), NOW)
    after = Tenure(generation=4, handed=parts(A), since={A: 3, B: 3})
    expected = replace(completed_at(NOW, after), membership=membership(parts(A), parts(C)), using=parts(A, B))
    assert step == Step(expected, (join_reply(4),))


def test_preparing_with_unknown_pending_is_not_held() -> None:
    """On road upstream there is nothing to wait for (decision 17)."""
    step = world_while_preparing(preparing(Asked()), granted(parts(A, B), None, interval_ms=5_000), NOW)
    expected = replace(
        completed_at(NOW, tenure(A, B)),
        membership=membership(parts(A, B), None),
        talk=Scheduled(NOW + 5_000),
        is_shown=True,
    )
    assert step == Step(expected, (join_reply(3),))


def test_preparing_second_join_takes_the_hold_over() -> None:
    """The older request is answered, the newer one waits, no longer than the first would have (decision 11)."""
    state = preparing(Asked())
    step = client_while_preparing(state, joined("range", "roundrobin", sequence=2), NOW + 9)
    newer = replace(
        state,
        membership=replace(state.membership, profile=profile("range", "roundrobin")),
        parked=Parked(ref(2), knows_its_id=True),
        talk=Overtaken(),
    )
    assert step == Step(newer, (join_error(ErrorCode.REBALANCE_IN_PROGRESS),))
    asked_anew = world_while_preparing(newer, granted(parts(A, B)), NOW + 10)
    expected = replace(newer, membership=replace(newer.membership, granted=parts(A, B)), talk=Asked())
    assert asked_anew == Step(expected, (inquiry(),))


def test_preparing_outdated_refusal_is_asked_again() -> None:
    """Only the answer to the newest question counts."""
    state = preparing(Overtaken())
    step = world_while_preparing(state, refused(ErrorCode.UNKNOWN_MEMBER_ID), NOW)
    assert step == Step(replace(state, talk=Asked()), (inquiry(),))


def test_preparing_untranslatable_second_join_is_refused() -> None:
    """The first one stays parked."""
    state = preparing(Asked())
    refused_ = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NOBODY, sequence=2)
    assert client_while_preparing(state, joined("faust", sequence=2), NOW) == Step(state, (refused_,))


def test_preparing_join_for_other_topics_is_remembered_by_the_next_one() -> None:
    """It was never answered: what the client then says again is still news."""
    wider = client_while_preparing(preparing(Silent()), resubscribed(sequence=2), NOW).state
    assert isinstance(wider, PreparingRebalance)
    again = client_while_preparing(wider, resubscribed(sequence=3), NOW).state
    assert isinstance(again, PreparingRebalance)
    assert (wider.is_resubscribing, again.is_resubscribing) == (True, True)


def test_preparing_heartbeats_and_syncs_hear_of_the_rebalance() -> None:
    """Both are told of the rebalance (K1.56, K1.50); only a stale generation is illegal."""
    state, rejoin = preparing(Asked()), ErrorCode.REBALANCE_IN_PROGRESS
    assert client_while_preparing(state, beat(), NOW) == Step(state, (beat_reply(rejoin),))
    assert client_while_preparing(state, synced(), NOW) == Step(state, (sync_error(rejoin),))
    assert client_while_preparing(NEWCOMER, beat(5), NOW) == Step(NEWCOMER, (beat_reply(rejoin),))
    stale = beat_reply(ErrorCode.ILLEGAL_GENERATION)
    assert client_while_preparing(state, beat(2), NOW) == Step(state, (stale,))


def test_preparing_tries_again_and_keeps_the_join_parked() -> None:
    """An unreleased instance id is waited for (clients.md, 6)."""
    trying = preparing(Retrying(NOW + LIMITS.retry_ms))
    assert world_while_preparing(preparing(Asked()), refused(ErrorCode.UNRELEASED_INSTANCE_ID), NOW) == Step(trying)
    assert world_while_preparing(trying, DeadlinePassed(), NOW) == Step(trying)
    asked = Step(preparing(Asked()), (inquiry(),))
    assert world_while_preparing(trying, DeadlinePassed(), NOW + LIMITS.retry_ms) == asked


def test_preparing_hold_does_not_end_after_a_failed_question() -> None:
    """The question may have had its effect: nothing is handed out before an answer."""
    trying = preparing(Retrying(HOLD_END + 100), assigned=parts(A))
    assert world_while_preparing(trying, DeadlinePassed(), HOLD_END) == Step(trying)
    assert preparing_deadline(trying) == HOLD_END + 100


def test_preparing_eager_member_that_lost_its_seat_joins_anew() -> None:
    """It uses nothing, so it need not even hear of it."""
    anew = Step(preparing(Asked(), Vacant(3), epoch=0), (inquiry(epoch=0),))
    code = ErrorCode.FENCED_MEMBER_EPOCH
    assert world_while_preparing(preparing(Asked(), assigned=parts(A)), refused(code), NOW) == anew
    assert world_while_preparing(preparing(Silent(), assigned=parts(A)), FencedByCoordinator(code), NOW) == anew


def test_preparing_cooperative_member_that_lost_its_seat_loses_its_id() -> None:
    """It goes on processing until it is told that it is unknown."""
    state = replace(preparing(Asked()), using=parts(A))
    step = world_while_preparing(state, refused(ErrorCode.UNKNOWN_MEMBER_ID), NOW)
    told = join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)
    assert step == Step(leaving(DepartReason.FENCED, Asked()), (told, farewell(DepartReason.FENCED)))


def test_preparing_newcomer_fenced_at_once_loses_its_id() -> None:
    """A broker that fences epoch 0 (K2.19) still has the seat: it is given up, and the client takes a new id."""
    step = world_while_preparing(NEWCOMER, refused(ErrorCode.FENCED_MEMBER_EPOCH), NOW)
    told = join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)
    assert step == Step(leaving(DepartReason.FENCED, Asked()), (told, farewell(DepartReason.FENCED)))


def test_preparing_newcomer_can_not_be_fenced_before_it_is_in() -> None:
    """Such a notice is about an earlier life."""
    assert world_while_preparing(NEWCOMER, FencedByCoordinator(ErrorCode.FENCED_MEMBER_EPOCH), NOW) == Step(NEWCOMER)


def test_preparing_refused_newcomer_is_gone() -> None:
    """It was never in, and is told no id (K1.12, K4.6)."""
    code = ErrorCode.GROUP_MAX_SIZE_REACHED
    step = world_while_preparing(NEWCOMER, refused(code), NOW)
    assert step == Step(Absent(LIMITS), (join_error(code, NOBODY), Depart(DepartReason.REFUSED)))


def test_preparing_refused_member_is_fenced() -> None:
    """A member that may no longer join hears why."""
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    step = world_while_preparing(preparing(Asked()), refused(code), NOW)
    assert step == Step(fenced(code), (join_error(code),))


def test_preparing_leaves_and_answers_first() -> None:
    """A parked join never stays unanswered (K1.59, K1.40)."""
    told = join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)
    left = client_while_preparing(preparing(Silent()), LeaveReceived(), NOW)
    assert left == Step(leaving(DepartReason.LEFT, Asked()), (told, FAREWELL))
    replaced = world_while_preparing(preparing(Asked()), Replaced(MEMBER), NOW)
    duplicate = join_error(ErrorCode.FENCED_INSTANCE_ID)
    assert replaced == Step(leaving(DepartReason.REPLACED, Overtaken()), (duplicate,))


def test_preparing_member_whose_seat_its_coordinator_gave_to_another_does_not_take_it_back() -> None:
    """The newcomer wins, also when it speaks the other protocol (K1.40)."""
    fenced_out = FencedByCoordinator(ErrorCode.FENCED_INSTANCE_ID)
    step = world_while_preparing(preparing(Silent(), assigned=parts(A)), fenced_out, NOW)
    out = world_while_preparing(preparing(Silent(), assigned=parts(A)), Replaced(MEMBER), NOW)
    assert step == out
    assert isinstance(out.state, Leaving)


def test_preparing_gives_a_mute_coordinator_up() -> None:
    """The client is told to look for another, and the member leaves."""
    step = world_while_preparing(preparing(Asked()), DeadlinePassed(), NOW + REBALANCE_MS)
    out = leaving(DepartReason.UNANSWERED, Overtaken())
    late = replace(out, give_up_at_ms=out.give_up_at_ms + REBALANCE_MS)
    assert step == Step(late, (join_error(ErrorCode.COORDINATOR_NOT_AVAILABLE),))


def test_preparing_anonymous_newcomer_leaves_with_its_connection() -> None:
    """A v0-v3 newcomer can't come back for its seat; others, and other requests, stay (decision 11)."""
    anonymous = replace(NEWCOMER, parked=Parked(ref(), knows_its_id=False))
    told = join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)
    gone = client_while_preparing(anonymous, ConnectionLost(ref()), NOW)
    assert gone == Step(leaving(DepartReason.CONNECTION_LOST, Overtaken()), (told,))
    assert client_while_preparing(anonymous, ConnectionLost(ref(2)), NOW) == Step(anonymous)
    assert client_while_preparing(NEWCOMER, ConnectionLost(ref()), NOW) == Step(NEWCOMER)


def test_preparing_reports_on_time() -> None:
    """A broker that wants to hear of a held member does (decision 16)."""
    held = replace(preparing(Scheduled(NOW + 100)), membership=membership(parts(), parts(C)))
    step = world_while_preparing(held, DeadlinePassed(), NOW + 100)
    assert step == Step(replace(held, talk=Asked()), (inquiry(epoch=EPOCH),))


@pytest.mark.parametrize(
    ("state", "deadline_ms"),
    [
        (preparing(Asked()), NOW + REBALANCE_MS),
        (preparing(Overtaken()), NOW + REBALANCE_MS),
        (preparing(Silent()), HOLD_END),
        (preparing(Scheduled(NOW + 1)), NOW + 1),
        (preparing(Retrying(NOW + 2)), NOW + 2),
    ],
)
def test_preparing_deadline_is_the_earliest(state: PreparingRebalance, deadline_ms: int) -> None:
    """The hold is due only while all is known."""
    assert preparing_deadline(state) == deadline_ms
