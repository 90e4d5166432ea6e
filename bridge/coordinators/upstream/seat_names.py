"""Members whose broker knows them by another id than their clients do: a seat that was taken in a client's place goes
on under its own id until its member leaves.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from bridge.session.contracts import Access, BrokerAccess, OnAnswer
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.classic import LeaveGroup, LeaveGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import GroupId, MemberId, MemberRef, RequestRef, Via
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

_OfMember = ConsumerGroupHeartbeat | OffsetCommit | TxnOffsetCommit


class SeatNames:
    """The ids of seats by member; whoever puts one here sees to the journal."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._names: dict[MemberRef, MemberId] = {}
        self._members: dict[MemberRef, MemberId] = {}
        self._beats: dict[MemberRef, tuple[ConsumerGroupHeartbeat, ConsumerGroupHeartbeat]] = {}
        """The last heartbeat of each, and what it is for the broker: said over again it is the same object again, too,
        so that it is not written anew.
        """

    def put(self, member: MemberRef, seat_id: MemberId) -> None:
        """From now on the broker hears of this member by the id of its seat."""
        if seat_id != member.member_id:
            self.take_out(member)
            self._names[member] = seat_id
            self._members[MemberRef(member.group_id, seat_id)] = member.member_id

    def take_out(self, member: MemberRef) -> bool:
        """The member is gone, or no consumer member any more; whether it had a name of its own."""
        seat_id = self._names.pop(member, None)
        self._beats.pop(member, None)
        if seat_id is not None:
            self._members.pop(MemberRef(member.group_id, seat_id), None)
        return seat_id is not None

    def seat_id(self, member: MemberRef) -> MemberId:
        """As whom the broker knows a member."""
        return self._names.get(member, member.member_id)

    def member_of(self, seat: MemberRef) -> MemberRef:
        """Whom the broker knows by this id."""
        member_id = self._members.get(seat)
        return seat if member_id is None else MemberRef(seat.group_id, member_id)

    def all(self) -> Mapping[MemberRef, MemberId]:
        """The seats' ids of all members that have one of their own."""
        return self._names

    def of(self, group_id: GroupId) -> Mapping[MemberId, MemberId]:
        """The seats' ids in one group; costs all of them, so it is for moves."""
        return {member.member_id: seat_id for member, seat_id in self._names.items() if member.group_id == group_id}

    def access(self, via: Via) -> BrokerAccess:
        """A client's way to the broker, on which its member goes by the id of its seat."""
        way = self._access(via)
        return SeatedAccess(way, self) if self._names else way

    def in_its_words(self, request: Request) -> Request:
        """What the broker is to be asked; what names no member with a name of its own stays as it is."""
        if isinstance(request, _OfMember):
            member = MemberRef(request.group_id, request.member_id)
            seat_id = self._names.get(member)
            if seat_id is not None:
                return self._rename(member, request, seat_id)
        if isinstance(request, LeaveGroup):
            # What an admin says of several, in the words of their clients.
            seats = [self._names.get(MemberRef(request.group_id, one.member_id)) for one in request.members]
            members = (
                one if seat_id is None else replace(one, member_id=seat_id)
                for one, seat_id in zip(request.members, seats, strict=True)
            )
            return replace(request, members=tuple(members)) if any(seats) else request
        return request

    def _rename(self, member: MemberRef, request: _OfMember, seat_id: MemberId) -> Request:
        if not isinstance(request, ConsumerGroupHeartbeat):
            return replace(request, member_id=seat_id)
        known = self._beats.get(member)
        if known is None or known[0] is not request:
            known = self._beats[member] = request, replace(request, member_id=seat_id)
        return known[1]


class SeatedAccess:
    """See `contracts.BrokerAccess`: of the answers that name members that of LeaveGroup alone is looked at."""

    def __init__(self, way: BrokerAccess, names: SeatNames) -> None:
        self._way = way
        self._names = names

    @property
    def connection(self) -> int:
        """See `BrokerAccess`."""
        return self._way.connection

    @property
    def broker_id(self) -> int | None:
        """See `BrokerAccess`."""
        return self._way.broker_id

    def highest_version(self, api_key: int) -> int | None:
        """See `BrokerAccess`."""
        return self._way.highest_version(api_key)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `BrokerAccess`."""
        asked = self._names.in_its_words(request)
        if isinstance(request, LeaveGroup) and isinstance(asked, LeaveGroup) and asked is not request:
            on_answer = partial(_answer_leavers, request, asked, on_answer)
        self._way.ask(ref, asked, on_answer, version)


def _answer_leavers(said: LeaveGroup, asked: LeaveGroup, on_answer: OnAnswer, reply: Reply | None) -> None:
    """The broker's answer, with the ids that were said to the bridge."""
    if isinstance(reply, LeaveGroupReply):
        own = {it.member_id: one.member_id for one, it in zip(said.members, asked.members, strict=True)}
        members = (replace(one, member_id=own.get(one.member_id, one.member_id)) for one in reply.members)
        reply = replace(reply, members=tuple(members))
    on_answer(reply)
