"""Members under the ids of their seats, on the way to the broker."""

from dataclasses import replace

from bridge.coordinators.upstream.seat_names import SeatedAccess, SeatNames
from bridge.wire.codec.registry import Reply
from tests.support.embedded_world import FakeVia, commit_request, leave_request
from tests.support.owned_group import GROUP
from translators.dialects.classic import Heartbeat, LeaveGroupReply, LeftMember
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, Via

A = MemberRef(GROUP, MemberId("a"))
SEAT = MemberId("seat")
BEAT = ConsumerGroupHeartbeat(group_id=GROUP, member_id=A.member_id, member_epoch=3)
COMMIT = commit_request(3, "a")


def test_members_without_a_name_of_their_own_go_as_they_are() -> None:
    """Their way is the client's own, with nothing in between."""
    way = FakeVia(connection=1)
    names = SeatNames(lambda _: way)
    names.put(A, A.member_id)
    assert names.access(Via(0, 1)) is way
    assert (names.seat_id(A), names.of(GROUP), names.take_out(A)) == ("a", {}, False)


def test_seat_speaks_for_its_member() -> None:
    """In heartbeats and commits; of others, and of what names no member of a broker's group, nothing changes."""
    way = FakeVia(connection=1)
    names = SeatNames(lambda _: way)
    names.put(A, SEAT)
    seated = names.access(Via(0, 1))
    assert isinstance(seated, SeatedAccess)
    assert (seated.connection, seated.broker_id, seated.highest_version(12)) == (
        way.connection,
        way.broker_id,
        way.highest_version(12),
    )
    other = replace(BEAT, member_id=MemberId("b"))
    classic = Heartbeat(GROUP, 3, A.member_id, None)
    for asked in (BEAT, COMMIT, other, classic):
        seated.ask(None, asked, lambda _: None)
    assert [one for one, _ in way.open] == [
        replace(BEAT, member_id=SEAT),
        replace(COMMIT, member_id=SEAT),
        other,
        classic,
    ]
    assert names.of(GROUP) == {A.member_id: SEAT}
    assert names.of(GroupId("other")) == {}
    assert names.take_out(A)
    assert names.in_its_words(BEAT) is BEAT


def test_who_sees_several_off_hears_of_them_by_the_ids_that_it_said() -> None:
    """Of those that have no seat of another name as well; no answer stays none."""
    way = FakeVia(connection=1)
    names = SeatNames(lambda _: way)
    names.put(A, SEAT)
    heard = list[Reply | None]()
    for asked in (leave_request("a", "b"), leave_request("a"), leave_request("b")):
        names.access(Via(0, 1)).ask(None, asked, heard.append)
    assert [one for one, _ in way.open] == [leave_request(SEAT, "b"), leave_request(SEAT), leave_request("b")]
    way.answer(lambda _: LeaveGroupReply(error=ErrorCode.NONE, members=(_left(SEAT), _left("b"))))
    way.answer(lambda _: None)
    way.answer(lambda _: LeaveGroupReply(error=ErrorCode.NOT_COORDINATOR))
    assert heard == [
        LeaveGroupReply(error=ErrorCode.NONE, members=(_left("a"), _left("b"))),
        None,
        LeaveGroupReply(error=ErrorCode.NOT_COORDINATOR),
    ]


def _left(name: str) -> LeftMember:
    return LeftMember(member_id=MemberId(name), instance_id=None, error=ErrorCode.NONE)


def test_heartbeat_said_over_again_is_the_same_object_again() -> None:
    """By that it is known that it need not be written, nor its answer read, anew; another name makes another one."""
    names = SeatNames(lambda _: FakeVia(connection=1))
    names.put(A, SEAT)
    said = names.in_its_words(BEAT)
    assert names.in_its_words(BEAT) is said
    assert names.in_its_words(replace(BEAT, member_epoch=4)) == replace(BEAT, member_id=SEAT, member_epoch=4)
    names.put(A, MemberId("another"))
    assert names.in_its_words(BEAT) == replace(BEAT, member_id=MemberId("another"))


def test_member_is_found_by_the_id_of_its_seat() -> None:
    """What goes to the broker is overheard under that, and whose Fetches belong to it is known of its client."""
    names, seat = SeatNames(lambda _: FakeVia(connection=1)), MemberRef(GROUP, SEAT)
    assert names.member_of(seat) == seat
    names.put(A, SEAT)
    assert (names.member_of(seat), names.all()) == (A, {A: SEAT})
    names.put(A, MemberId("another"))
    assert names.member_of(seat) == seat
    assert names.take_out(A)
    assert names.member_of(MemberRef(GROUP, MemberId("another"))).member_id == "another"
