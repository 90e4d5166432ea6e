"""A client of whom nothing is known. How a JoinGroup begins."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    FRESH,
    INSTANCE,
    LIMITS,
    NOBODY,
    NOW,
    REBALANCE_MS,
    A,
    B,
    beat,
    beat_reply,
    inquiry,
    join_error,
    join_request,
    joined,
    membership,
    parts,
    preparing,
    profile,
    ref,
    sync_error,
    synced,
    tenure,
)
from translators.classic_member.events import ConnectionLost, JoinReceived, LeaveReceived
from translators.classic_member.joining import client_while_absent, hold_ms, park, parked, put_question, still_using
from translators.classic_member.states import Absent, Asked, Overtaken, Parked, PreparingRebalance, Silent
from translators.classic_member.tenure import Vacant
from translators.dialects.classic import Claim, Protocol
from translators.dialects.errors import ErrorCode
from translators.machine import Step

ABSENT = Absent(LIMITS)


def test_absent_join_without_id_is_told_its_id() -> None:
    """KIP-394: the machine stays absent and nothing is asked (decision 14)."""
    step = client_while_absent(ABSENT, joined(member_id=NOBODY), NOW)
    assert step == Step(ABSENT, (join_error(ErrorCode.MEMBER_ID_REQUIRED, FRESH),))


def test_absent_join_with_id_is_parked_and_asked() -> None:
    """An id that nobody has is taken as it is (K4.7); it joins with epoch 0, owning nothing."""
    step = client_while_absent(ABSENT, joined(), NOW)
    assert step == Step(preparing(Asked(), Vacant(), epoch=0), (inquiry(epoch=0),))


def test_absent_join_of_a_client_that_owns_partitions_is_refused() -> None:
    """Its session ended while it stood still, or the bridge forgot it: what it still uses may be another's by now."""
    step = client_while_absent(ABSENT, joined("cooperative-sticky", owned=parts(A)), NOW)
    assert step == Step(ABSENT, (join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY),))


def test_absent_join_of_an_eager_client_that_lists_partitions_owns_nothing() -> None:
    """Joining under eager assignors is dropping all: refused, it would come again with the same list for ever."""
    listing = client_while_absent(ABSENT, joined("range", "roundrobin", owned=parts(A)), NOW)
    assert isinstance(listing.state, PreparingRebalance)
    profile = listing.state.membership.profile
    assert (listing.state.tenure, profile.owned, profile.is_eager) == (Vacant(), frozenset(), True)


def test_absent_old_or_static_join_gets_the_fresh_id() -> None:
    """Before version 4, and with an instance id, a newcomer joins at once (K1.18, K1.21)."""
    old = replace(join_request(member_id=NOBODY), needs_member_id=False)
    static = replace(join_request(member_id=NOBODY), instance_id=INSTANCE)
    for request, knows_its_id in ((old, False), (static, True)):
        step = client_while_absent(ABSENT, JoinReceived(ref(), request, FRESH), NOW)
        assert isinstance(step.state, PreparingRebalance)
        assert step.state.parked == Parked(ref(), knows_its_id)
        seat = step.state.membership.seat
        assert (seat.member_id, seat.instance_id) == (FRESH, request.instance_id)


def test_absent_join_of_untranslatable_client_is_refused() -> None:
    """What can't be translated does not become a member, and gets no id either."""
    event = joined("faust", member_id=NOBODY)
    refused = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NOBODY)
    assert client_while_absent(ABSENT, event, NOW) == Step(ABSENT, (refused,))


def test_absent_join_that_can_not_be_read_is_told_its_id_first() -> None:
    """A newcomer is told its id (K4.5) before its subscription is read (K4.10): that is when the id comes back."""
    broken = (Protocol("range", b"\x00"),)
    answers = {NOBODY: (ErrorCode.MEMBER_ID_REQUIRED, FRESH), FRESH: (ErrorCode.UNKNOWN_SERVER_ERROR, NOBODY)}
    for member_id, (code, told) in answers.items():
        request = replace(join_request(member_id=member_id), protocols=broken)
        step = client_while_absent(ABSENT, JoinReceived(ref(), request, FRESH), NOW)
        assert step == Step(ABSENT, (join_error(code, told),))


def test_absent_requests_are_unknown() -> None:
    """Only a join makes a member (K4.20)."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert client_while_absent(ABSENT, synced(), NOW) == Step(ABSENT, (sync_error(unknown),))
    assert client_while_absent(ABSENT, beat(), NOW) == Step(ABSENT, (beat_reply(unknown),))
    assert client_while_absent(ABSENT, LeaveReceived(), NOW) == Step(ABSENT)
    assert client_while_absent(ABSENT, ConnectionLost(ref()), NOW) == Step(ABSENT)


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
