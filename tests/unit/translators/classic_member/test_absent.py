"""A client of whom nothing is known."""

from dataclasses import replace

from tests.support.classic_members import (
    FRESH,
    INSTANCE,
    LIMITS,
    NOBODY,
    NOW,
    A,
    beat,
    beat_reply,
    inquiry,
    join_error,
    join_request,
    joined,
    parts,
    preparing,
    ref,
    sync_error,
    synced,
)
from translators.classic_member.absent import client_while_absent
from translators.classic_member.events import ConnectionLost, JoinReceived, LeaveReceived
from translators.classic_member.states import Absent, Asked, Parked, PreparingRebalance
from translators.classic_member.tenure import Vacant
from translators.dialects.classic import Protocol
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
    """K4.5 comes before K4.10: the subscription is looked at when the id comes back."""
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
