"""LeaveGroup for machines and engine alike."""

from bridge.coordinators.exchange import Departures, once_each
from tests.support.embedded_world import leave_request
from translators.dialects.classic import LeaveGroupReply, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, RequestRef

REF = RequestRef(0, 0, 0)
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


def test_request_without_entries_for_the_engine_is_answered_at_once() -> None:
    """Also one without any entry."""
    departures = Departures()
    reply = departures.begin(REF, leave_request("a", "b"), (NONE, UNKNOWN))
    assert reply is not None
    assert [member.error for member in reply.members] == [NONE, UNKNOWN]
    assert departures.begin(REF, leave_request(), ()) == LeaveGroupReply(error=NONE, members=())


def test_engine_answers_its_entries_in_their_places() -> None:
    """The order asked."""
    departures = Departures()
    assert departures.begin(REF, leave_request("a", "b", "c"), (None, NONE, None)) is None
    assert [entry.member_id for entry in departures.remainder(REF).members] == ["a", "c"]
    theirs = tuple(
        LeftMember(member_id=MemberId(n), instance_id=None, error=e) for n, e in (("a", UNKNOWN), ("c", NONE))
    )
    reply = departures.end(REF, LeaveGroupReply(error=NONE, members=theirs))
    assert [(m.member_id, m.error) for m in reply.members] == [("a", UNKNOWN), ("b", NONE), ("c", NONE)]


def test_error_of_the_whole_request_stands_alone() -> None:
    """And a failed turn leaves nothing behind."""
    departures = Departures()
    departures.begin(REF, leave_request("a"), (None,))
    refused = LeaveGroupReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert departures.end(REF, refused) == refused
    departures.begin(REF, leave_request("a"), (None,))
    departures.clear()
    assert not departures._begun


def test_member_that_is_named_again_is_gone_in_a_classic_group() -> None:
    """K1.59: each entry finds what the one before has left; a refused one leaves everything."""
    a, b = (MemberRef(GroupId("g"), MemberId(name)) for name in "ab")
    verdicts = once_each([(a, NONE), (b, UNKNOWN), (a, NONE), (b, None), (b, None)])
    assert [code for _, code in verdicts] == [NONE, UNKNOWN, UNKNOWN, None, UNKNOWN]
