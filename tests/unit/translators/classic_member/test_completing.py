"""A member that has its generation and is to fetch its assignment."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
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
    stable,
    sync_error,
    sync_reply,
    synced,
    tenure,
)
from translators.classic_member.completing import (
    client_while_completing,
    completing_deadline,
    world_while_completing,
)
from translators.classic_member.events import ConnectionLost, DeadlinePassed, LeaveReceived, Replaced
from translators.classic_member.states import (
    Asked,
    CompletingRebalance,
    Overtaken,
    PreparingRebalance,
    ReleaseAwaited,
    Retrying,
    Scheduled,
    Silent,
    Stable,
)
from translators.classic_member.tenure import Tenure
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode
from translators.machine import Step

LATER = NOW + 1_000


def test_completing_sync_hands_out() -> None:
    """The right generation gets its assignment, and works from then on (K4.22, K4.23)."""
    step = client_while_completing(completing(A), synced(), LATER)
    assert step == Step(replace(stable(A), session_deadline_ms=LATER + SESSION_MS), (sync_reply(A),))


def test_completing_sync_of_other_generation_is_illegal() -> None:
    """A stale incarnation gets nothing (K4.20)."""
    refused_ = sync_error(ErrorCode.ILLEGAL_GENERATION)
    assert client_while_completing(completing(A), synced(2), NOW) == Step(completing(A), (refused_,))


def test_completing_sync_of_a_loser_awaits_its_release() -> None:
    """A cooperative client now lets go and joins by itself (K4.17)."""
    releasing = Tenure(generation=4, handed=parts(A), since={A: 3, B: 3})
    state = replace(completing(A), tenure=releasing, using=parts(A, B))
    step = client_while_completing(state, synced(4), NOW)
    call = ReleaseAwaited(NOW + LIMITS.release_wait_ms)
    assert step == Step(replace(stable(A), tenure=releasing, call=call), (sync_reply(A),))


def test_completing_heartbeat_is_calm_and_extends_the_session() -> None:
    """It is answered as in a group at rest (K1.56); the deadline for SyncGroup stays (K4.52)."""
    state = completing(A)
    alive = replace(state, session_deadline_ms=LATER + SESSION_MS)
    assert client_while_completing(state, beat(), LATER) == Step(alive, (beat_reply(ErrorCode.NONE),))
    stale = Step(state, (beat_reply(ErrorCode.ILLEGAL_GENERATION),))
    assert client_while_completing(state, beat(2), LATER) == stale


def test_completing_same_join_is_answered_again() -> None:
    """An identical JoinGroup gets the generation once more (K1.26)."""
    again = replace(completing(A), session_deadline_ms=LATER + SESSION_MS, sync_deadline_ms=LATER + REBALANCE_MS)
    assert client_while_completing(completing(A), joined(sequence=2), LATER) == Step(again, (join_reply(3, 2),))


def test_completing_same_join_with_other_timeouts_is_answered_and_bounded_by_them() -> None:
    """The protocols decide whether a join is the same; what else it says counts from now on."""
    event = joined(sequence=2)
    request = replace(event.request, session_timeout_ms=SESSION_MS + 1, rebalance_timeout_ms=REBALANCE_MS + 2)
    after = client_while_completing(completing(A), replace(event, request=request), LATER).state
    assert isinstance(after, CompletingRebalance)
    assert (after.session_deadline_ms, after.sync_deadline_ms) == (LATER + SESSION_MS + 1, LATER + REBALANCE_MS + 2)
    kept = after.membership.profile
    assert (kept.session_timeout_ms, kept.rebalance_timeout_ms) == (SESSION_MS + 1, REBALANCE_MS + 2)


def test_completing_changed_join_begins_anew() -> None:
    """aiokafka joins once per assignor with a growing list: a harmless rejoin (clients.md)."""
    step = client_while_completing(completing(A, B), joined("range", "roundrobin"), NOW)
    begun = preparing(Asked(), tenure(A, B), parts(A, B))
    member = replace(begun.membership, profile=profile("range", "roundrobin"))
    assert step == Step(replace(begun, membership=member), (inquiry(),))


def test_completing_untranslatable_join_is_refused() -> None:
    """The member stays as it was."""
    refused_ = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NOBODY)
    assert client_while_completing(completing(A), joined("faust"), NOW) == Step(completing(A), (refused_,))


def test_completing_join_for_other_topics_begins_another_generation() -> None:
    """Unlike one that only offers other assignors, or says the same."""
    wider = client_while_completing(completing(A), resubscribed(), NOW).state
    assert isinstance(wider, PreparingRebalance)
    assert wider.is_resubscribing
    other = client_while_completing(completing(A), joined("range", "roundrobin"), NOW).state
    assert isinstance(other, PreparingRebalance)
    assert not other.is_resubscribing


def test_completing_takes_gains_and_losses_before_sync() -> None:
    """What changed before SyncGroup is handed out changed; what went is let go by saying so."""
    state = completing(A, B, talk=Asked())
    step = world_while_completing(state, granted(parts(A, C)), NOW)
    amended = Tenure(generation=3, handed=parts(A, C), since={A: 3, C: 3}, released=parts(B))
    after = replace(state, membership=membership(parts(A, C)), tenure=amended)
    assert step == Step(after, (inquiry(parts(A, C)),))


def test_completing_loss_that_the_client_uses_is_not_let_go() -> None:
    """A cooperative client still processes what it claimed; its rejoin will let go."""
    state = replace(completing(A, B, talk=Asked()), using=parts(A, B))
    step = world_while_completing(state, granted(parts(A)), NOW)
    kept = Tenure(generation=3, handed=parts(A), since={A: 3, B: 3})
    assert step == Step(replace(state, membership=membership(parts(A)), tenure=kept, talk=Silent()))


def test_completing_shown_generation_never_shrinks() -> None:
    """A client that joined without news may have had this generation's assignment: it is called to join again while it
    fetches it, as a broker calls it (K1.50), and its next JoinGroup hears of the next generation.
    """
    shown = replace(completing(A, B, talk=Asked()), is_shown=True)
    step = world_while_completing(shown, granted(parts(A, C)), NOW)
    overtaken = step.state
    assert isinstance(overtaken, CompletingRebalance)
    assert overtaken.tenure == Tenure(generation=4, handed=parts(A, C), since={A: 3, C: 4})
    assert step.effects == (inquiry(parts(A, C)),)
    alive = replace(overtaken, session_deadline_ms=LATER + SESSION_MS)
    again = ErrorCode.REBALANCE_IN_PROGRESS
    assert client_while_completing(overtaken, synced(3), LATER) == Step(alive, (sync_error(again),))
    assert client_while_completing(overtaken, beat(3), LATER) == Step(alive, (beat_reply(again),))
    assert client_while_completing(overtaken, synced(2), NOW).effects == (sync_error(ErrorCode.ILLEGAL_GENERATION),)
    rejoined = client_while_completing(overtaken, joined(), NOW)
    assert rejoined.effects == (join_reply(4),)
    told = rejoined.state
    assert isinstance(told, CompletingRebalance)
    assert client_while_completing(told, synced(3), NOW).effects == (sync_error(ErrorCode.ILLEGAL_GENERATION),)
    assert isinstance(client_while_completing(told, synced(4), NOW).state, Stable)


def test_completing_shown_generation_may_grow() -> None:
    """What is gained before SyncGroup comes with it; nothing that the client was told becomes untrue."""
    shown = replace(completing(A, talk=Asked()), is_shown=True)
    step = world_while_completing(shown, granted(parts(A, B)), NOW)
    grown = replace(shown, membership=membership(parts(A, B)), tenure=tenure(A, B), talk=Silent())
    assert step == Step(grown)


def test_completing_asks_once_more_when_overtaken() -> None:
    """News during a question is asked for afterwards."""
    state = completing(A, talk=Asked())
    called = completing(A, talk=Overtaken())
    assert world_while_completing(state, CoordinatorCalled(), NOW) == Step(called)
    assert world_while_completing(called, granted(None), NOW) == Step(state, (inquiry(parts(A)),))


@pytest.mark.parametrize(
    ("code", "heard"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION),
        (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_completing_fence(code: ErrorCode, heard: ErrorCode) -> None:
    """A lost seat is told in classic words, whether asked for or not (decision 15)."""
    assert world_while_completing(completing(A, talk=Asked()), refused(code), NOW) == Step(fenced(heard))
    assert world_while_completing(completing(A), FencedByCoordinator(code), NOW) == Step(fenced(heard))


def test_completing_tries_again() -> None:
    """A coordinator that can't answer now is asked again."""
    trying = completing(A, talk=Retrying(NOW + LIMITS.retry_ms))
    step = world_while_completing(completing(A, talk=Asked()), refused(ErrorCode.NOT_COORDINATOR), NOW)
    assert step == Step(trying)
    asked = Step(completing(A, talk=Asked()), (inquiry(parts(A)),))
    assert world_while_completing(trying, DeadlinePassed(), NOW + LIMITS.retry_ms) == asked


def test_completing_without_sync_leaves() -> None:
    """A client that never fetches its assignment is out after its rebalance timeout (K4.52), or after its session."""
    state = replace(completing(A), session_deadline_ms=NOW + 2 * REBALANCE_MS)
    out = leaving(DepartReason.SYNC_EXPIRED, Asked())
    late = replace(out, give_up_at_ms=out.give_up_at_ms + REBALANCE_MS)
    assert world_while_completing(state, DeadlinePassed(), NOW + REBALANCE_MS) == Step(late, (farewell(late.reason),))
    silent = leaving(DepartReason.SESSION_EXPIRED, Asked())
    dead = replace(silent, give_up_at_ms=silent.give_up_at_ms + SESSION_MS)
    assert world_while_completing(completing(A), DeadlinePassed(), NOW + SESSION_MS) == Step(
        dead, (farewell(dead.reason),)
    )


def test_completing_leaves_when_asked_or_replaced() -> None:
    """LeaveGroup and a newcomer on the same instance id end it."""
    left = leaving(DepartReason.LEFT, Asked())
    assert client_while_completing(completing(A), LeaveReceived(), NOW) == Step(left, (FAREWELL,))
    replaced = leaving(DepartReason.REPLACED, Asked())
    assert world_while_completing(completing(A), Replaced(MEMBER), NOW) == Step(replaced, (farewell(replaced.reason),))


def test_completing_survives_its_connection_and_early_clocks() -> None:
    """Membership belongs to the member id (decision 16)."""
    assert client_while_completing(completing(A), ConnectionLost(ref()), NOW) == Step(completing(A))
    assert world_while_completing(completing(A), DeadlinePassed(), NOW) == Step(completing(A))


def test_completing_deadline_is_the_earliest() -> None:
    """Session, SyncGroup, and the coordinator's wish to hear of the member."""
    assert completing_deadline(completing(A)) == NOW + SESSION_MS
    assert completing_deadline(completing(A, talk=Scheduled(NOW + 5))) == NOW + 5
