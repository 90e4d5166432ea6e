"""Mapped members as the session room sees them: each request goes to the broker in other words, each answer back."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol

from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.seats import MappedSeat, MemberRequest, knows_better, to_broker, to_client
from bridge.wire.codec.registry import error_reply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, GroupId, MemberId, MemberRef, RequestRef, Via
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetFetch, TxnOffsetCommit

Forgotten = Callable[[MemberRef, MemberId | None], None]
"""Hears of a member that needs no mapping any more, and as whom its client goes on at the broker; None: it is gone."""
NO_MORE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""What says that a seat is no more."""


class MappedEars(Protocol):
    """Who follows mapped members, in the words of their broker: by those they go on when they are mapped no more."""

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """A request goes to the broker."""
        ...

    def mapped_answered(self, ref: RequestRef, reply: GroupReply) -> None:
        """It was answered."""
        ...


class _NoEars:
    """Nobody follows them."""

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """See `MappedEars`."""

    def mapped_answered(self, ref: RequestRef, reply: GroupReply) -> None:
        """See `MappedEars`."""


class MappedGroups:
    """Seats by member (`session.contracts.Groups`); whoever puts one here sees to the road and the journal."""

    def __init__(self, clients: Clients, forgotten: Forgotten) -> None:
        self._access = clients.access
        self._deliver = clients.deliver
        self._forgotten = forgotten
        self.joins: Callable[[Via, ClientIdentity, JoinGroup], None] = lambda _via, _client, _request: None
        """Hears of every JoinGroup in the words in which it goes to the broker."""
        self.passes: Callable[[Via, GroupRequest], None] = lambda _via, _request: None
        """Hears of every request on its way to the broker, in its client's words."""
        self.settled: Callable[[GroupId, MemberId], None] = lambda _group_id, _seat_id: None
        """Hears of each seat of another name than its client's that is waited for no more since a restart."""
        self.ears: MappedEars = _NoEars()
        """Who follows what they do."""
        self._seats: dict[MemberRef, MappedSeat] = {}
        self._unheard: dict[MemberRef, MemberId] = {}
        """Whose seat each is of which the last life may have told its client, and not written so."""
        self._spoke: set[MemberRef] = set()

    def recall(self, group_id: GroupId, seat: MappedSeat) -> None:
        """Go on with a mapping of the last life, which may have ended with a JoinGroup whose answer its client has got:
        by what the client says first it is known.
        """
        self.put(group_id, seat)
        self._unheard[MemberRef(group_id, seat.seat_id)] = seat.member_id

    def unheard(self, group_id: GroupId) -> Collection[MemberId]:
        """The seats of a group whose clients have said nothing since the restart; costs all of them."""
        return tuple(key.member_id for key in self._unheard if key.group_id == group_id)

    def drop_unheard(self, group_id: GroupId, there: Collection[MemberId]) -> None:
        """Only these are at the broker: whoever else was not heard since the restart is gone."""
        for seat_id in self.unheard(group_id):
            if seat_id not in there:
                self._end(MemberRef(group_id, self._unheard[MemberRef(group_id, seat_id)]), None)

    def members(self) -> Collection[MemberRef]:
        """Everybody who is mapped."""
        return self._seats.keys()

    def take_spoken(self) -> Collection[MemberRef]:
        """Whose clients have said something since this was asked last."""
        spoke, self._spoke = self._spoke, set()
        return spoke

    def end(self, member: MemberRef) -> None:
        """A member is known to be gone."""
        self._end(member, None)

    def put(self, group_id: GroupId, seat: MappedSeat) -> None:
        """From now on the requests of this member are mapped."""
        self._seats[MemberRef(group_id, seat.member_id)] = seat

    def take_out(self, group_id: GroupId, member_id: MemberId) -> MappedSeat | None:
        """End the mapping of a member; gives what it was."""
        seat = self._seats.pop(MemberRef(group_id, member_id), None)
        if seat is not None:
            self._settle(MemberRef(group_id, seat.seat_id))
        return seat

    def seat(self, group_id: GroupId, member_id: MemberId) -> MappedSeat | None:
        """The seat of a mapped member."""
        return self._seats.get(MemberRef(group_id, member_id))

    def seats_of(self, group_id: GroupId) -> Mapping[MemberId, MappedSeat]:
        """The mapped members of a group; costs all of them, so it is for moves and admins."""
        return {key.member_id: seat for key, seat in self._seats.items() if key.group_id == group_id}

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """See `session.contracts.Groups`."""
        self.pass_on(ref, client, via, request, partial(self._deliver, ref))

    def pass_on(
        self,
        ref: RequestRef,
        client: ClientIdentity,
        via: Via,
        request: GroupRequest,
        deliver: Callable[[GroupReply], None],
    ) -> None:
        """The same, with the answer in its client's words for whoever asks."""
        assert isinstance(request, MemberRequest), request
        # Offsets are told to whoever may DESCRIBE the group, and sees by that as whom its broker knows each member.
        for key in () if isinstance(request, OffsetFetch) else _members(request):
            self._hear(key, request)
        # Who became equal to its client while this was on its way has no seat here: the client's own words count.
        seats = {key: seat for key in _members(request) if (seat := self._seats.get(key)) is not None}
        asked: MemberRequest = request
        for seat in seats.values():
            said = to_broker(seat, asked)
            if not isinstance(said, MemberRequest):
                deliver(said)
                return
            asked = said
        if isinstance(asked, JoinGroup):
            self.joins(via, client, asked)
        self.passes(via, request)
        self.ears.mapped_asked(ref, client, asked)
        self._ask(ref, via, request, asked, partial(self._take, deliver, seats))

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """See `session.contracts.Groups`: each goes to the broker."""
        return False

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`: a seat is its client's over connections."""

    def _hear(self, key: MemberRef, request: MemberRequest) -> None:
        """A mapping has ended whose client says what its broker told it: its seat's id, or a newer generation of it."""
        seat = self._seats.get(key)
        # A producer may live on whose consumer is gone.
        if seat is not None and not isinstance(request, TxnOffsetCommit):
            self._spoke.add(key)
        if seat is None and key in self._unheard:
            self._end(MemberRef(key.group_id, self._unheard[key]), key.member_id)
        elif seat is not None and knows_better(seat, request):
            self._end(key, seat.seat_id)
        elif seat is not None and self._unheard and not isinstance(request, TxnOffsetCommit):
            # A producer speaks for a member with what it was told of it last, which may be from before its JoinGroup.
            self._settle(MemberRef(key.group_id, seat.seat_id))

    def _end(self, key: MemberRef, goes_on: MemberId | None) -> None:
        self.take_out(key.group_id, key.member_id)
        self._forgotten(key, goes_on)

    def _settle(self, seat: MemberRef) -> None:
        if self._unheard.pop(seat, seat.member_id) != seat.member_id:
            self.settled(seat.group_id, seat.member_id)

    def _ask(
        self,
        ref: RequestRef,
        via: Via,
        request: MemberRequest,
        asked: MemberRequest,
        take: Callable[[GroupReply], None],
    ) -> None:
        def heard(reply: GroupReply | None) -> None:
            answer = error_reply(request, ErrorCode.COORDINATOR_NOT_AVAILABLE) if reply is None else reply
            self.ears.mapped_answered(ref, answer)
            take(answer)

        self._access(via).ask(ref, asked, heard)
        if isinstance(request, JoinGroup):
            request.forget()

    def _take(
        self, deliver: Callable[[GroupReply], None], seats: Mapping[MemberRef, MappedSeat], reply: GroupReply
    ) -> None:
        for key, seat in seats.items():
            if self._seats.get(key) is seat and _ends(seat, reply):
                self._end(key, _goes_on_as(reply))
            reply = to_client(seat, reply)
        deliver(reply)


def _ends(seat: MappedSeat, reply: GroupReply) -> bool:
    """Whether the client knows its seat's id and generation now, or the seat is no more."""
    match reply:
        case JoinGroupReply(error=error):
            return error is ErrorCode.NONE or error in NO_MORE
        case HeartbeatReply(error=error) | SyncGroupReply(error=error):
            return error in NO_MORE
        case LeaveGroupReply(error=error, members=members):
            # Before version 3 the one error is its only member's.
            codes = {one.member_id: one.error for one in members}
            code = codes.get(seat.seat_id, error)
            return code is ErrorCode.NONE or code in NO_MORE
        case _:
            return False


def _goes_on_as(reply: GroupReply) -> MemberId | None:
    joined = isinstance(reply, JoinGroupReply) and reply.error is ErrorCode.NONE
    return reply.member_id if isinstance(reply, JoinGroupReply) and joined else None


def _members(request: MemberRequest) -> list[MemberRef]:
    match request:
        case OffsetFetch(groups=groups):
            return [MemberRef(one.group_id, one.member_id or NO_MEMBER_ID) for one in groups]
        case LeaveGroup(group_id=group_id, members=members):
            return [MemberRef(group_id, one.member_id) for one in members]
        case _:
            return [MemberRef(request.group_id, request.member_id)]
