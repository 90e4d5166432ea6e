"""A member that works with its assignment."""

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
    cooperative,
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
    stable,
    sync_error,
    sync_reply,
    synced,
    tenure,
)
from translators.classic_member.events import ConnectionLost, DeadlinePassed, LeaveReceived, Replaced
from translators.classic_member.preparing import world_while_preparing
from translators.classic_member.stable import (
    ask_calmly,
    beat_calmly,
    client_while_stable,
    hear_calmly,
    report,
    stable_deadline,
    world_while_stable,
)
from translators.classic_member.states import (
    Asked,
    CallDue,
    Called,
    GainAwaited,
    Overtaken,
    PreparingRebalance,
    ReleaseAwaited,
    Retrying,
    Scheduled,
    Silent,
)
from translators.classic_member.tenure import Tenure
from translators.dialects.classic import Claim
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Granted
from translators.dialects.errors import ErrorCode
from translators.machine import Step

LATER = NOW + 1_000
REJOIN = ErrorCode.REBALANCE_IN_PROGRESS


def test_stable_heartbeat_is_calm_and_extends_the_session() -> None:
    """Nothing changed for this member, whatever the group does."""
    alive = replace(stable(A), session_deadline_ms=LATER + SESSION_MS)
    assert client_while_stable(stable(A), beat(), LATER) == Step(alive, (beat_reply(ErrorCode.NONE),))


def test_stable_calm_heartbeat_extends_the_session_and_any_other_is_left_to_the_step() -> None:
    """The short way: only what is answered NONE; a call, another generation or another state take the long way."""
    assert beat_calmly(stable(A), 3, LATER) == replace(stable(A), session_deadline_ms=LATER + SESSION_MS)
    assert beat_calmly(stable(A), 2, LATER) is None
    assert beat_calmly(replace(stable(A), call=CallDue()), 3, LATER) is None
    assert beat_calmly(replace(stable(A), call=Called(LATER)), 3, LATER) is None
    assert beat_calmly(fenced(ErrorCode.ILLEGAL_GENERATION), 3, LATER) is None


def test_stable_calm_question_is_asked_at_its_time_and_any_other_is_left_to_the_step() -> None:
    """The short way: what is due beside it, a call and another state take the long way."""
    due = stable(A, talk=Scheduled(LATER))
    assert ask_calmly(due, LATER) == replace(due, talk=Asked())
    assert report(due) == inquiry(parts(A)).inquiry
    assert ask_calmly(due, LATER - 1) is None
    assert ask_calmly(replace(due, session_deadline_ms=LATER), LATER) is None
    assert ask_calmly(replace(due, call=CallDue()), LATER) is None
    assert ask_calmly(replace(due, talk=Retrying(LATER)), LATER) is None
    assert ask_calmly(fenced(ErrorCode.ILLEGAL_GENERATION), LATER) is None


def test_stable_calm_answer_tells_nothing_new_and_any_other_is_left_to_the_step() -> None:
    """The short way: an assignment, another epoch, and a client that has not all of it, take the long way."""
    asked = stable(A, talk=Asked())
    calm = Granted(member_epoch=EPOCH, heartbeat_interval_ms=5_000)
    assert hear_calmly(asked, calm, LATER) == replace(asked, talk=Scheduled(LATER + 5_000))
    assert hear_calmly(asked, replace(calm, assigned=parts(A)), LATER) is None
    assert hear_calmly(asked, replace(calm, member_epoch=EPOCH + 1), LATER) is None
    assert hear_calmly(asked, replace(calm, pending=parts(B)), LATER) is None
    assert hear_calmly(replace(asked, tenure=tenure(A, B)), calm, LATER) is None
    assert hear_calmly(replace(asked, call=CallDue()), calm, LATER) is None
    assert hear_calmly(replace(asked, talk=Overtaken()), calm, LATER) is None
    assert hear_calmly(fenced(ErrorCode.ILLEGAL_GENERATION), calm, LATER) is None


def test_stable_heartbeat_of_other_generation_is_illegal() -> None:
    """A stale incarnation does not keep the session alive (K4.30)."""
    stale = beat_reply(ErrorCode.ILLEGAL_GENERATION)
    assert client_while_stable(stable(A), beat(2), LATER) == Step(stable(A), (stale,))


def test_stable_call_is_given_with_a_deadline_that_is_not_extended() -> None:
    """The first notice starts the clock, later heartbeats only repeat it (K4.31)."""
    called = Called(NOW + REBALANCE_MS)
    first = client_while_stable(stable(A, call=CallDue()), beat(), NOW)
    assert first == Step(stable(A, call=called), (beat_reply(REJOIN),))
    again = client_while_stable(stable(A, call=called), beat(), LATER)
    alive = replace(stable(A, call=called), session_deadline_ms=LATER + SESSION_MS)
    assert again == Step(alive, (beat_reply(REJOIN),))


@pytest.mark.parametrize("call", [GainAwaited(LATER, LATER), ReleaseAwaited(LATER)])
def test_stable_waiting_call_is_not_given(call: GainAwaited | ReleaseAwaited) -> None:
    """A member that waits works with what it has (K4.33)."""
    assert client_while_stable(stable(A, call=call), beat(), NOW).effects == (beat_reply(ErrorCode.NONE),)


def test_stable_epoch_moves_silently() -> None:
    """A new epoch with the same assignment changes nothing for the client."""
    step = world_while_stable(stable(A, talk=Asked()), granted(parts(A), epoch=9), NOW)
    assert step == Step(replace(stable(A), membership=membership(parts(A), epoch=9)))


def test_stable_loser_is_due() -> None:
    """What was taken is still reported as owned until the client lets go (decision 10)."""
    lost = world_while_stable(stable(A, B, talk=Asked()), granted(parts(A)), NOW)
    due = replace(stable(A, B, call=CallDue()), membership=membership(parts(A)))
    assert lost == Step(due)
    asked = world_while_stable(due, CoordinatorCalled(), NOW)
    assert asked == Step(replace(due, talk=Asked()), (inquiry(parts(A, B)),))


def test_stable_gainer_is_due_when_all_is_free() -> None:
    """Told once for all it gains (decision 10)."""
    waiting = world_while_stable(stable(A, talk=Asked()), granted(parts(A, B), parts(C)), NOW)
    until = NOW + LIMITS.gain_wait_max_ms
    awaiting = replace(stable(A, call=GainAwaited(until, until)), membership=membership(parts(A, B), parts(C)))
    assert waiting == Step(awaiting)
    whole = world_while_stable(replace(awaiting, talk=Asked()), granted(parts(A, B, C)), NOW)
    assert whole == Step(replace(stable(A, call=CallDue()), membership=membership(parts(A, B, C))))


def test_stable_gainer_is_due_when_it_waited_long_enough() -> None:
    """Nothing sits idle because one member is slow (decision 10)."""
    state = stable(A, call=GainAwaited(LATER, LATER))
    assert world_while_stable(state, DeadlinePassed(), LATER - 1) == Step(state)
    assert world_while_stable(state, DeadlinePassed(), LATER) == Step(stable(A, call=CallDue()))


def test_stable_upstream_gainer_waits_one_interval() -> None:
    """On road upstream the broker's own interval is the measure (decision 17)."""
    step = world_while_stable(stable(A, talk=Asked()), granted(parts(A, B), None, interval_ms=2_000), NOW)
    call = GainAwaited(NOW + 2_000, NOW + LIMITS.gain_wait_max_ms)
    expected = stable(A, call=call, talk=Scheduled(NOW + 2_000))
    assert step == Step(replace(expected, membership=membership(parts(A, B), None)))


def test_stable_eager_join_owns_nothing() -> None:
    """It is parked, and the coordinator hears that all is let go (decision 11)."""
    step = client_while_stable(stable(A, B), joined(), NOW)
    assert step == Step(preparing(Asked(), tenure(A, B), parts(A, B)), (inquiry(),))


def test_stable_join_for_other_topics_is_told_another_generation() -> None:
    """Also if the coordinator has not got round to another assignment when it answers."""
    parked = client_while_stable(stable(A, B), resubscribed(), NOW).state
    assert isinstance(parked, PreparingRebalance)
    assert parked.is_resubscribing
    told = world_while_preparing(parked, granted(parts(A, B)), NOW)
    assert told.effects == (join_reply(4),)


def test_stable_cooperative_join_owns_its_list() -> None:
    """It is not held, and lets go of what its list lacks (decision 11)."""
    claimed = parts(A)
    step = client_while_stable(cooperative(stable(A, B)), joined("cooperative-sticky", owned=claimed), NOW)
    begun = preparing(Asked(), tenure(A, B), parts(A, B))
    member = replace(begun.membership, profile=profile("cooperative-sticky", owned=claimed))
    parked = replace(begun.parked, claim=Claim(claimed))
    state = replace(begun, membership=member, parked=parked, using=claimed, hold_until_ms=NOW)
    assert step == Step(state, (inquiry(claimed, claimed=claimed, assignor=None),))


def test_stable_join_waits_for_the_outstanding_answer() -> None:
    """The answer to an older question can't answer the join."""
    step = client_while_stable(stable(A, talk=Asked()), joined(), NOW)
    assert step == Step(preparing(Overtaken(), tenure(A), parts(A)))


def test_stable_untranslatable_join_is_refused() -> None:
    """The member stays as it was."""
    refused_ = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NOBODY)
    assert client_while_stable(stable(A), joined("faust"), NOW) == Step(stable(A), (refused_,))


def test_stable_repeated_sync_gets_the_same() -> None:
    """A client that lost the answer asks again (K1.50)."""
    alive = replace(stable(A), session_deadline_ms=LATER + SESSION_MS)
    assert client_while_stable(stable(A), synced(), LATER) == Step(alive, (sync_reply(A),))
    stale = sync_error(ErrorCode.ILLEGAL_GENERATION)
    assert client_while_stable(stable(A), synced(2), LATER) == Step(stable(A), (stale,))


def test_stable_news_during_a_question_are_asked_afterwards() -> None:
    """One question at a time."""
    state = stable(A, talk=Asked())
    assert world_while_stable(state, CoordinatorCalled(), NOW) == Step(stable(A, talk=Overtaken()))
    again = world_while_stable(stable(A, talk=Overtaken()), granted(None), NOW)
    assert again == Step(state, (inquiry(parts(A)),))


def test_stable_tries_again_and_hears_of_staleness() -> None:
    """A failing coordinator is asked later; a member behind is called (clients.md, 6)."""
    later = Retrying(NOW + LIMITS.retry_ms)
    failed = world_while_stable(stable(A, talk=Asked()), refused(ErrorCode.COORDINATOR_NOT_AVAILABLE), NOW)
    assert failed == Step(stable(A, talk=later))
    behind = world_while_stable(stable(A, talk=Asked()), refused(ErrorCode.STALE_MEMBER_EPOCH), NOW)
    assert behind == Step(stable(A, call=CallDue(), talk=later))
    asked = world_while_stable(stable(A, talk=later), DeadlinePassed(), NOW + LIMITS.retry_ms)
    assert asked == Step(stable(A, talk=Asked()), (inquiry(parts(A)),))


@pytest.mark.parametrize(
    ("code", "heard"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION),
        (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.GROUP_MAX_SIZE_REACHED),
    ],
)
def test_stable_fence(code: ErrorCode, heard: ErrorCode) -> None:
    """A lost seat is told in classic words, whether asked for or not (decision 15)."""
    assert world_while_stable(stable(A, talk=Asked()), refused(code), NOW) == Step(fenced(heard))
    assert world_while_stable(stable(A), FencedByCoordinator(code), NOW) == Step(fenced(heard))


@pytest.mark.parametrize(
    ("call", "after_ms", "reason"),
    [
        (None, SESSION_MS, DepartReason.SESSION_EXPIRED),
        (Called(NOW + 10), 10, DepartReason.REJOIN_EXPIRED),
    ],
)
def test_stable_silence_ends_it(call: Called | None, after_ms: int, reason: DepartReason) -> None:
    """Session and rejoin deadlines end in a real leave, of static members too (K4.50, K4.51)."""
    out = leaving(reason, Asked())
    late = replace(out, give_up_at_ms=out.give_up_at_ms + after_ms)
    assert world_while_stable(stable(A, call=call), DeadlinePassed(), NOW + after_ms) == Step(late, (farewell(reason),))


def test_stable_leaves_when_asked_or_replaced() -> None:
    """LeaveGroup and a newcomer on the same instance id end it."""
    left = leaving(DepartReason.LEFT, Asked())
    assert client_while_stable(stable(A), LeaveReceived(), NOW) == Step(left, (FAREWELL,))
    replaced = leaving(DepartReason.REPLACED, Asked())
    assert world_while_stable(stable(A), Replaced(MEMBER), NOW) == Step(replaced, (farewell(replaced.reason),))


def test_stable_survives_its_connection() -> None:
    """Membership belongs to the member id (decision 16)."""
    assert client_while_stable(stable(A), ConnectionLost(ref()), NOW) == Step(stable(A))


def test_stable_reports_what_a_cooperative_client_lets_go() -> None:
    """Until its rejoin says otherwise it may be using what its assignment lacks (decision 6)."""
    releasing = replace(stable(A), tenure=Tenure(generation=4, handed=parts(A), since={A: 3, B: 3}))
    asked = world_while_stable(releasing, CoordinatorCalled(), NOW)
    assert asked == Step(replace(releasing, talk=Asked()), (inquiry(parts(A, B)),))


@pytest.mark.parametrize(
    ("state", "deadline_ms"),
    [
        (stable(A), NOW + SESSION_MS),
        (stable(A, call=GainAwaited(NOW + 5, NOW + 9)), NOW + 5),
        (stable(A, call=ReleaseAwaited(NOW + 6)), NOW + 6),
        (stable(A, call=Called(NOW + 7)), NOW + 7),
        (stable(A, call=Called(NOW + 7), talk=Scheduled(NOW + 4)), NOW + 4),
        (stable(A, talk=Silent()), NOW + SESSION_MS),
    ],
)
def test_stable_deadline_is_the_earliest(state: object, deadline_ms: int) -> None:
    """Session, call, and the coordinator's wish to hear of the member."""
    assert isinstance(state, type(stable(A)))
    assert stable_deadline(state) == deadline_ms
