"""How a JoinGroup begins."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    FRESH,
    LIMITS,
    NOBODY,
    NOW,
    REBALANCE_MS,
    A,
    B,
    beat_reply,
    inquiry,
    join_request,
    joined,
    membership,
    parts,
    preparing,
    profile,
    ref,
    tenure,
)
from translators.classic_member.events import JoinReceived
from translators.classic_member.joining import hold_ms, park, parked, put_question, still_using
from translators.classic_member.states import Asked, Overtaken, Parked, Silent
from translators.classic_member.tenure import Vacant
from translators.dialects.claims import Claim
from translators.dialects.errors import ErrorCode
from translators.machine import Step

LIMIT = LIMITS.eager_join_hold_max_ms


def test_eager_client_uses_nothing() -> None:
    """An eager JoinGroup acknowledges every revocation at once (decision 6, K4.16)."""
    assert still_using(profile("range"), parts(A, B)) == parts()


def test_cooperative_client_uses_what_it_lists_and_held() -> None:
    """Its own list counts only within what the coordinator holds for it."""
    assert still_using(profile("cooperative-sticky", owned=parts(A)), parts(A, B)) == parts(A)
    assert still_using(profile("cooperative-sticky", owned=parts(A)), parts(B)) == parts()


def test_missing_list_of_a_cooperative_client_says_nothing() -> None:
    """An absent list is never an acknowledgement of a revocation (decision 6)."""
    assert still_using(profile("cooperative-sticky"), parts(A, B)) == parts(A, B)


def test_list_of_an_eager_client_still_counts() -> None:
    """A non-empty list is owned, whatever the protocol is called (decision 6)."""
    assert still_using(profile("range", owned=parts(A)), parts(A, B)) == parts(A)


def test_hold_is_bounded() -> None:
    """Five seconds or half the rebalance timeout, for those who use nothing meanwhile (decision 11)."""
    assert hold_ms(profile("range"), tenure(A), LIMIT) == 5_000
    assert hold_ms(replace(profile("range"), rebalance_timeout_ms=6_000), tenure(A), LIMIT) == 3_000
    assert hold_ms(profile("cooperative-sticky"), Vacant(), LIMIT) == 5_000
    assert hold_ms(profile("cooperative-sticky", owned=parts(A)), Vacant(), LIMIT) == 0
    assert hold_ms(profile("cooperative-sticky", owned=parts()), tenure(A), LIMIT) == 0


@pytest.mark.parametrize(
    ("event", "knows"),
    [
        (joined(), True),
        (joined(member_id=NOBODY), True),
        (JoinReceived(ref(), replace(join_request(member_id=NOBODY), needs_member_id=False), FRESH), False),
    ],
)
def test_only_an_old_newcomer_does_not_know_its_id(event: JoinReceived, knows: bool) -> None:
    """Before version 4 a newcomer learns its id from the answer only (decision 11)."""
    assert parked(event) == Parked(ref(), knows_its_id=knows)


def test_parked_join_has_its_deadlines() -> None:
    """Hold and patience count from the request."""
    state = park(joined(), membership(), tenure(A), parts(), NOW)
    assert (state.hold_until_ms, state.give_up_at_ms) == (NOW + 5_000, NOW + REBALANCE_MS)


def test_question_for_a_join_tells_the_clients_claims() -> None:
    """Claims travel apart from what is owned (decision 7)."""
    state = preparing(Silent())
    member = replace(state.membership, profile=profile("cooperative-sticky", owned=parts(A, B)))
    claiming = replace(state.parked, claim=Claim(parts(A, B)))
    state = replace(state, membership=member, parked=claiming, using=parts(A))
    first = beat_reply(ErrorCode.NONE)
    asked = Step(replace(state, talk=Asked()), (first, inquiry(parts(A), claimed=parts(A, B), assignor=None)))
    assert put_question(state, Silent(), (first,)) == asked
    assert put_question(state, Asked()) == Step(replace(state, talk=Overtaken()))
