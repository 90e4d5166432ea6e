"""Mapped members behind the session: what the broker is asked, what the client hears, and when a mapping ends."""

from dataclasses import dataclass, field, replace

import pytest

from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat, MemberRequest
from tests.support.embedded_world import FakeVia
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    LeftMember,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberId, MemberRef, RequestRef, Via, via_of
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import (
    FetchedGroup,
    GroupOffsets,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)

ONE = MappedSeat(member_id=MemberId("one"), generation=3, seat_id=MemberId("seat-1"), seat_generation=8)
TWO = MappedSeat(member_id=MemberId("two"), generation=4, seat_id=MemberId("two"), seat_generation=8, is_called=True)
REF = RequestRef(0, 1, 0)


@dataclass(slots=True)
class Mapped:
    """Two mapped members, the one connection of their clients, and what comes of it."""

    via: FakeVia = field(default_factory=FakeVia)
    delivered: list[GroupReply] = field(default_factory=list)
    forgotten: list[MemberRef] = field(default_factory=list)
    go_on: list[MemberId | None] = field(default_factory=list)
    groups: MappedGroups = field(init=False)

    def __post_init__(self) -> None:
        self.groups = MappedGroups(Clients(self._deliver, self._look_up), self._forget)
        for seat in (ONE, TWO):
            self.groups.put(GROUP, seat)

    def _forget(self, member: MemberRef, goes_on: MemberId | None) -> None:
        self.forgotten.append(member)
        self.go_on.append(goes_on)

    def _deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        assert ref == REF
        self.delivered.append(reply)

    def _look_up(self, via: Via) -> FakeVia:
        assert via == via_of(REF)
        return self.via

    def ask(self, request: MemberRequest, reply: GroupReply | None) -> MemberRequest:
        """Submit a request and answer it; gives what the broker was asked."""
        self.groups.submit(REF, CLIENT, via_of(REF), request)
        asked = self.via.answer(lambda _: reply)
        assert isinstance(asked, MemberRequest)
        return asked


def beat(member_id: str, generation: int) -> Heartbeat:
    """A heartbeat of the tests' group."""
    return Heartbeat(GROUP, generation, MemberId(member_id), None)


def join(member_id: str) -> JoinGroup:
    """A JoinGroup without protocols."""
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member_id),
        instance_id=None,
        protocol_type="consumer",
        protocols=(),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )


def leave(*names: str) -> LeaveGroup:
    """These members leave, in one request."""
    return LeaveGroup(group_id=GROUP, members=tuple(LeavingMember(member_id=MemberId(one)) for one in names))


def left(**codes: ErrorCode) -> LeaveGroupReply:
    """What the broker says of each."""
    members = (LeftMember(member_id=MemberId(one), instance_id=None, error=code) for one, code in codes.items())
    return LeaveGroupReply(error=ErrorCode.NONE, members=tuple(members))


def test_request_goes_in_the_words_of_the_seat() -> None:
    """The mapping stays: its client still says its old generation."""
    mapped = Mapped()
    assert mapped.ask(beat("one", 3), HeartbeatReply(ErrorCode.NONE)) == beat("seat-1", 8)
    assert mapped.delivered == [HeartbeatReply(ErrorCode.NONE)]
    assert mapped.groups.seats_of(GROUP) == {"one": ONE, "two": TWO}


@pytest.mark.parametrize("member_id", ["one", "nobody"])
def test_what_a_join_says_of_itself_is_forgotten_once_it_is_on_its_way(member_id: str) -> None:
    """Its broker answers when the rebalance ends, in minutes: what was read of it was kept until then in many times its
    bytes, and counted as a request that is still coming, for which others wait.
    """
    mapped, forgotten, request = Mapped(), list[bool](), join(member_id)
    request.when_forgotten(lambda: forgotten.append(bool(mapped.via.open)))
    mapped.groups.submit(REF, CLIENT, via_of(REF), request)
    assert forgotten == [True]
    assert not mapped.delivered


def test_stale_request_is_answered_here() -> None:
    """The broker is not asked for a generation that is nobody's."""
    mapped = Mapped()
    mapped.groups.submit(REF, CLIENT, via_of(REF), beat("one", 2))
    assert (mapped.delivered, mapped.via.open) == ([HeartbeatReply(ErrorCode.ILLEGAL_GENERATION)], [])


def test_member_without_a_seat_is_passed_on() -> None:
    """It became equal to its client while this was on its way."""
    mapped = Mapped()
    assert mapped.groups.take_out(GROUP, ONE.member_id) == ONE
    assert mapped.groups.take_out(GROUP, ONE.member_id) is None
    assert mapped.groups.seat(GROUP, ONE.member_id) is None
    assert mapped.groups.seat(GROUP, TWO.member_id) == TWO
    assert mapped.ask(beat("one", 3), HeartbeatReply(ErrorCode.NONE)) == beat("one", 3)
    assert mapped.forgotten == []


def test_lost_answer_is_said_to_be_the_coordinators() -> None:
    """The client asks for its coordinator and comes again; nothing is forgotten."""
    mapped = Mapped()
    mapped.ask(leave("one"), None)
    assert mapped.delivered == [LeaveGroupReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    assert mapped.forgotten == []


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID])
def test_join_ends_the_mapping(error: ErrorCode) -> None:
    """Its answer hands out the seat's own id and generation, or says that there is no seat."""
    mapped = Mapped()
    reply = JoinGroupReply(error=error, member_id=ONE.seat_id, generation=9)
    assert mapped.ask(join("one"), reply) == join("seat-1")
    named = ONE.seat_id if error is ErrorCode.NONE else ONE.member_id
    assert mapped.delivered == [replace(reply, member_id=named)]
    assert mapped.forgotten == [MemberRef(GROUP, ONE.member_id)]
    assert mapped.go_on == [ONE.seat_id if error is ErrorCode.NONE else None]
    assert mapped.groups.seats_of(GROUP) == {"two": TWO}


@pytest.mark.parametrize("error", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NOT_COORDINATOR])
def test_join_that_is_to_come_again_ends_nothing(error: ErrorCode) -> None:
    """The client still says its old id, and a client that took the one of the answer would be a stranger with the next
    word: nobody maps it.
    """
    mapped = Mapped()
    mapped.ask(join("one"), JoinGroupReply(error=error, member_id=ONE.seat_id))
    assert mapped.delivered == [JoinGroupReply(error=error, member_id=ONE.member_id)]
    assert mapped.forgotten == []


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID])
def test_seat_that_is_no_more_ends_the_mapping(error: ErrorCode) -> None:
    """Its client forgets its id, so nobody would ever end it else."""
    mapped = Mapped()
    mapped.ask(beat("one", 3), HeartbeatReply(error))
    assert mapped.forgotten == [MemberRef(GROUP, ONE.member_id)]
    synced = SyncGroup(group_id=GROUP, generation=3, member_id=ONE.member_id, instance_id=None)
    mapped.groups.put(GROUP, ONE)
    mapped.ask(synced, SyncGroupReply(error=error))
    assert mapped.forgotten == [MemberRef(GROUP, ONE.member_id)] * 2


def test_batch_of_leaving_members_is_mapped_one_by_one() -> None:
    """An admin names several; each is answered under its client's id, and only who left is forgotten."""
    mapped = Mapped()
    reply = left(**{"seat-1": ErrorCode.NONE, "two": ErrorCode.REQUEST_TIMED_OUT, "else": ErrorCode.NONE})
    assert mapped.ask(leave("one", "two", "else"), reply) == leave("seat-1", "two", "else")
    told = left(**{"one": ErrorCode.NONE, "two": ErrorCode.REQUEST_TIMED_OUT, "else": ErrorCode.NONE})
    assert (mapped.delivered, mapped.forgotten) == ([told], [MemberRef(GROUP, ONE.member_id)])


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID])
def test_old_leave_is_answered_by_one_code(error: ErrorCode) -> None:
    """Before version 3 no member is named."""
    mapped = Mapped()
    mapped.ask(leave("two"), LeaveGroupReply(error=error))
    assert mapped.forgotten == [MemberRef(GROUP, TWO.member_id)]


def test_refused_leave_ends_nothing() -> None:
    """The coordinator moves."""
    mapped = Mapped()
    mapped.ask(leave("two"), LeaveGroupReply(error=ErrorCode.NOT_COORDINATOR))
    assert mapped.forgotten == []


def test_mapping_that_was_renewed_meanwhile_stays() -> None:
    """An old answer says nothing of a new seat."""
    mapped = Mapped()
    mapped.groups.submit(REF, CLIENT, via_of(REF), join("one"))
    mapped.groups.put(GROUP, TWO)
    mapped.groups.take_out(GROUP, ONE.member_id)
    renewed = MappedSeat(member_id=ONE.member_id, generation=3, seat_id=ONE.seat_id, seat_generation=12)
    mapped.groups.put(GROUP, renewed)
    mapped.via.answer(lambda _: JoinGroupReply(error=ErrorCode.NONE, member_id=ONE.seat_id, generation=9))
    assert (mapped.forgotten, mapped.groups.seats_of(GROUP)[ONE.member_id]) == ([], renewed)


def test_offsets_are_fetched_without_identity() -> None:
    """Also where a member is named: the broker may know another epoch."""
    mapped = Mapped()
    wanted = OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None, member_id=ONE.member_id, member_epoch=3),))
    fetched = OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=()),))
    assert mapped.ask(wanted, fetched) == OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),))
    assert mapped.delivered == [fetched]


def test_no_heartbeat_is_answered_without_the_broker() -> None:
    """Its session is the broker's, and outlives connections."""
    mapped = Mapped()
    assert not mapped.groups.beat(CLIENT, beat("one", 3))
    mapped.groups.disconnected(1)
    assert mapped.groups.seats_of(GROUP) == {"one": ONE, "two": TWO}


# ----------------------------------------------------------------------- behind a restart between JoinGroup and answer


def test_client_that_says_its_seats_id_is_mapped_no_more() -> None:
    """The last life delivered the answer to its JoinGroup and did not live to write so."""
    world = Mapped()
    settled: list[MemberId] = []
    world.groups.settled = lambda _, seat_id: settled.append(seat_id)
    world.groups.recall(GROUP, ONE)
    assert world.groups.unheard(GROUP) == (ONE.seat_id,)
    own = beat("seat-1", 9)
    assert world.ask(own, HeartbeatReply(ErrorCode.NONE)) == own
    assert (world.forgotten, world.go_on, settled) == ([MemberRef(GROUP, ONE.member_id)], [ONE.seat_id], [ONE.seat_id])
    assert (world.groups.seat(GROUP, ONE.member_id), world.groups.unheard(GROUP)) == (None, ())


def test_client_that_says_its_own_id_still_is_mapped() -> None:
    """It never got the answer: what the broker knows it by is what was written."""
    world = Mapped()
    settled: list[MemberId] = []
    world.groups.settled = lambda _, seat_id: settled.append(seat_id)
    world.groups.recall(GROUP, ONE)
    assert world.ask(beat("one", 3), HeartbeatReply(ErrorCode.NONE)) == beat("seat-1", 8)
    assert (world.forgotten, settled, world.groups.unheard(GROUP)) == ([], [ONE.seat_id], ())


def test_client_that_kept_its_id_shows_by_its_generation_what_it_was_told() -> None:
    """A newer one than it knew it has from its broker; it is told no 22 over a mapping that has ended."""
    world = Mapped()
    world.groups.recall(GROUP, replace(TWO, is_called=False))
    newer = beat("two", 9)
    assert world.ask(newer, HeartbeatReply(ErrorCode.NONE)) == newer
    assert (world.forgotten, world.go_on) == ([MemberRef(GROUP, TWO.member_id)], [TWO.member_id])
    assert world.delivered == [HeartbeatReply(ErrorCode.NONE)]


def test_producers_words_tell_nothing_of_what_a_member_was_told() -> None:
    """A producer commits with what it was told of the member before its JoinGroup; the client itself knows better."""
    world = Mapped()
    world.groups.recall(GROUP, ONE)
    commit = TxnOffsetCommit(
        transactional_id="t",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=0,
        topics=(),
        generation=ONE.generation,
        member_id=ONE.member_id,
    )
    world.ask(commit, OffsetCommitReply(topics=()))
    assert world.groups.unheard(GROUP) == (ONE.seat_id,)
    world.ask(beat("seat-1", 9), HeartbeatReply(ErrorCode.NONE))
    assert (world.groups.seat(GROUP, ONE.member_id), world.groups.unheard(GROUP)) == (None, ())


@pytest.mark.parametrize("named", [ONE.seat_id, ONE.member_id])
def test_who_asks_for_offsets_tells_nothing_of_a_member(named: MemberId) -> None:
    """Whoever may DESCRIBE a group sees the ids, and may ask for offsets as any of them."""
    world = Mapped()
    world.groups.recall(GROUP, ONE)
    asked = GroupOffsets(group_id=GROUP, topics=None, member_id=named, member_epoch=9)
    world.ask(OffsetFetch(groups=(asked,)), OffsetFetchReply(groups=()))
    assert (world.groups.seat(GROUP, ONE.member_id), world.groups.unheard(GROUP)) == (ONE, (ONE.seat_id,))
    assert world.forgotten == []


def test_client_that_its_broker_has_no_more_is_dropped() -> None:
    """It was not heard since the restart, and nobody waits for it."""
    world = Mapped()
    for seat in (ONE, TWO):
        world.groups.recall(GROUP, seat)
    world.groups.drop_unheard(GROUP, {TWO.seat_id})
    assert (world.forgotten, world.go_on) == ([MemberRef(GROUP, ONE.member_id)], [None])
    assert world.groups.unheard(GROUP) == (TWO.seat_id,)


class Follower:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """See `MappedEars`."""
        self.heard += [(ref, client), request]

    def mapped_answered(self, ref: RequestRef, reply: GroupReply) -> None:
        """See `MappedEars`."""
        self.heard += [ref, reply]


def test_mapped_members_are_followed_as_their_broker_knows_them() -> None:
    """They go on by that id; an answer that was lost is one, and what has no answer of the broker's nobody hears."""
    mapped, follower = Mapped(), Follower()
    mapped.groups.ears = follower
    asked = mapped.ask(beat("one", 3), HeartbeatReply(ErrorCode.NONE))
    assert follower.heard == [(REF, CLIENT), asked, REF, HeartbeatReply(ErrorCode.NONE)]
    follower.heard.clear()
    asked = mapped.ask(beat("one", 3), None)
    assert follower.heard == [(REF, CLIENT), asked, REF, HeartbeatReply(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    follower.heard.clear()
    mapped.groups.submit(REF, CLIENT, via_of(REF), beat("one", 2))
    assert follower.heard == []
