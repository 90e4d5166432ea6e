"""Members on their way between classic groups and translated ones."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    GENERATION,
    LIMITS,
    NOW,
    SEAT,
    SESSION_MS,
    A,
    B,
    beat,
    beat_reply,
    completing,
    fenced,
    granted,
    join_reply,
    joined,
    leaving,
    membership,
    parts,
    preparing,
    profile,
    stable,
    sync_reply,
    synced,
    tenure,
)
from translators.classic_member.converting import (
    ConvertedMember,
    Returner,
    begin_completing,
    begin_stable,
    last_join,
    take_leave,
)
from translators.classic_member.events import DeadlinePassed
from translators.classic_member.profile import read_profile
from translators.classic_member.states import Absent, Asked, Silent, Stable, State
from translators.classic_member.step import next_deadline, step
from translators.classic_member.tenure import Vacant
from translators.dialects.coordinator import CoordinatorCalled, DepartReason
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition

CONVERTED = ConvertedMember(
    seat=SEAT,
    profile=profile(),
    generation=GENERATION,
    epoch=7,
    handed=parts(A, B),
    using=parts(A, B),
    session_deadline_ms=NOW + 1_234,
)


def test_settled_member_notices_nothing() -> None:
    """Generation and assignment go on, and so does the session that was running (decision 7)."""
    begun = begin_stable(CONVERTED, NOW)
    assert (begun.membership, begun.tenure) == (membership(parts(A, B)), tenure(A, B))
    assert begun.session_deadline_ms == NOW + 1_234
    assert step(begun, beat(), NOW).effects == (beat_reply(ErrorCode.NONE),)


def test_settled_member_asks_nothing_until_it_is_called() -> None:
    """Its coordinator knows all of it: thousands may be converted at once; the same assignment changes nothing."""
    begun = begin_stable(CONVERTED, NOW)
    assert next_deadline(begun) == NOW + 1_234
    asked = step(begun, CoordinatorCalled(), NOW)
    answered = step(asked.state, granted(parts(A, B)), NOW).state
    assert step(answered, beat(), NOW).effects == (beat_reply(ErrorCode.NONE),)


def test_settled_member_that_loses_hears_of_it() -> None:
    """A partition of somebody else's by now."""
    asked = step(begin_stable(CONVERTED, NOW), CoordinatorCalled(), NOW)
    answered = step(asked.state, granted(parts(A)), NOW).state
    assert step(answered, beat(), NOW).effects == (beat_reply(ErrorCode.REBALANCE_IN_PROGRESS),)


def test_member_between_join_and_sync_gets_what_its_coordinator_grants_meanwhile() -> None:
    """An eager member holds nothing, and its SyncGroup brings it all: one stop, not two."""
    begun = begin_completing(replace(CONVERTED, using=parts()), NOW + 60_000, NOW)
    asked = step(begun, DeadlinePassed(), NOW)
    answered = step(asked.state, granted(parts(A)), NOW)
    done = step(answered.state, synced(), NOW)
    assert done.effects == (sync_reply(A),)
    assert isinstance(done.state, Stable)
    assert next_deadline(begun) == NOW


def test_parked_eager_member_goes_on_with_nothing_in_a_later_generation() -> None:
    """It has dropped all; the same assignment is a new hand-out, so that nothing old may be committed (decision 7)."""
    begun = begin_stable(replace(CONVERTED, using=parts()), NOW)
    parked = step(begun, joined(), NOW)
    answered = step(parked.state, granted(parts(A, B)), NOW)
    assert answered.effects == (join_reply(GENERATION + 1),)


def test_parked_cooperative_member_keeps_what_it_says_it_has() -> None:
    """Its list and the last assignment agree, so nothing has moved (decision 7)."""
    converted = replace(CONVERTED, profile=profile("cooperative-sticky"))
    parked = step(begin_stable(converted, NOW), joined("cooperative-sticky", owned=parts(A, B)), NOW)
    answered = step(parked.state, granted(parts(A, B)), NOW)
    assert answered.effects == (join_reply(GENERATION, name="cooperative-sticky"),)


def test_member_at_work_returns_with_what_it_was_shown() -> None:
    """The generation stays good, and nothing is left to be settled (decision 8)."""
    assert take_leave(stable(A), NOW) == Returner(
        membership=membership(parts(A)),
        generation=GENERATION,
        using=parts(A),
        is_settled=True,
        session_deadline_ms=NOW + SESSION_MS,
    )


@pytest.mark.parametrize(
    ("state", "using"),
    [
        (replace(stable(A), membership=membership(parts(A, B))), (A,)),
        (replace(stable(A, B), membership=membership(parts(A))), (A, B)),
        (replace(stable(A), tenure=replace(tenure(A, B), handed=parts(A))), (A, B)),
        (completing(A), (A,)),
    ],
    ids=["gains", "loses", "lets go", "before its sync"],
)
def test_member_with_a_change_before_it_is_not_settled(state: State, using: tuple[TopicPartition, ...]) -> None:
    """With unfinished moves a rebalance would have to follow (decision 8)."""
    returner = take_leave(state, NOW)
    assert returner is not None
    assert (returner.using, returner.is_settled, returner.generation) == (parts(*using), False, GENERATION)


def test_parked_member_is_not_settled() -> None:
    """Whoever waits is answered first; a newcomer was shown no generation."""
    known = take_leave(preparing(Asked(), tenure(A, B)), NOW)
    newcomer = take_leave(preparing(Asked(), Vacant()), NOW)
    assert known is not None
    assert newcomer is not None
    assert (known.generation, newcomer.generation) == (GENERATION, 0)
    assert known.session_deadline_ms == NOW + SESSION_MS
    assert (known.is_settled, newcomer.is_settled) == (False, False)


@pytest.mark.parametrize(
    "state",
    [Absent(LIMITS), leaving(DepartReason.LEFT, Silent()), fenced(ErrorCode.ILLEGAL_GENERATION)],
    ids=lambda state: type(state).__name__,
)
def test_member_that_is_gone_does_not_return(state: State) -> None:
    """Its client joins anew."""
    assert take_leave(state, NOW) is None


def test_last_join_says_of_the_client_what_is_known() -> None:
    """Read again it gives the same profile."""
    membership_ = membership(parts(A))
    request = last_join(membership_)
    assert read_profile(request) == membership_.profile
    assert (request.member_id, request.group_id) == (SEAT.member_id, SEAT.group_id)
