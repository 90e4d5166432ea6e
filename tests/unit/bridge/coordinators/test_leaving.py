"""LeaveGroup for machines and coordinator alike."""

import pytest

from bridge.coordinators.leaving import Departures, OpenFarewells, once_each
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


@pytest.mark.parametrize("told", [0, 1, 3])
def test_whom_a_broker_leaves_out_is_to_be_asked_for_again(told: int) -> None:
    """A broker that answers fewer entries than it was asked ended a turn, and with it all groups of its road."""
    departures = Departures()
    assert departures.begin(REF, leave_request("a", "b", "c"), (None, NONE, None)) is None
    theirs = tuple(LeftMember(member_id=MemberId(n), instance_id=None, error=UNKNOWN) for n in "acx"[:told])
    reply = departures.end(REF, LeaveGroupReply(error=NONE, members=theirs))
    unheard = ErrorCode.COORDINATOR_NOT_AVAILABLE
    codes = [UNKNOWN if told else unheard, NONE, UNKNOWN if told > 1 else unheard]
    assert [(m.member_id, m.error) for m in reply.members] == list(zip("abc", codes, strict=True))


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
    """Each entry finds what the one before has left; a refused one leaves everything (K1.59)."""
    a, b = (MemberRef(GroupId("g"), MemberId(name)) for name in "ab")
    verdicts = once_each([(a, NONE), (b, UNKNOWN), (a, NONE), (b, None), (b, None)])
    assert [code for _, code in verdicts] == [NONE, UNKNOWN, UNKNOWN, None, UNKNOWN]


def test_answer_waits_for_every_farewell_and_its_own_coming() -> None:
    """In whichever order they come; nothing is left behind."""
    a, b = (MemberRef(GroupId("g"), MemberId(name)) for name in "ab")
    reply = LeaveGroupReply(error=NONE)
    farewells = OpenFarewells()
    farewells.expect(REF, [a, b], 100)
    assert farewells.next_due_ms() == 100
    assert farewells.end(a) == []
    assert farewells.keeps(REF, reply)
    assert farewells.end(b) == [(REF, reply)]
    farewells.expect(REF, [a], 200)
    assert farewells.end(a) == []
    assert not farewells.keeps(REF, reply)
    farewells.expect(REF, [], 300)
    assert (farewells.next_due_ms(), a in farewells, b in farewells) == (None, False, False)


def test_answers_wait_no_longer_than_their_time() -> None:
    """The oldest first; who is heard out later was waited for in vain."""
    members = [MemberRef(GroupId("g"), MemberId(name)) for name in "ab"]
    refs = [RequestRef(0, 0, number) for number in range(2)]
    reply = LeaveGroupReply(error=NONE)
    farewells = OpenFarewells()
    for ref, member, until_ms in zip(refs, members, (100, 200), strict=True):
        farewells.expect(ref, [member], until_ms)
        farewells.keeps(ref, reply)
    assert farewells.take_due(99) == []
    assert farewells.take_due(100) == [(refs[0], reply)]
    assert [member in farewells for member in members] == [False, True]
    assert farewells.take_all() == [(refs[1], reply)]
    assert farewells.next_due_ms() is None
