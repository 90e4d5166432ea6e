"""Mapped members as the session room sees them: each request goes to the broker in other words, each answer back."""

from collections.abc import Callable, Mapping
from functools import partial

from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.seats import MappedSeat, MemberRequest, to_broker, to_client
from bridge.wire.codec.registry import error_reply
from translators.dialects.classic import Heartbeat, JoinGroupReply, LeaveGroup, LeaveGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, MemberRef, RequestRef, Via
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetFetch

Forgotten = Callable[[MemberRef], None]
"""Hears of a member that needs no mapping any more."""
GENERATION_CODES = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""What says that a seat is no more."""


class MappedGroups:
    """Seats by member (`session.contracts.Groups`); whoever puts one here sees to the road and the journal."""

    def __init__(self, clients: Clients, forgotten: Forgotten) -> None:
        self._access = clients.access
        self._deliver = clients.deliver
        self._forgotten = forgotten
        self._seats: dict[MemberRef, MappedSeat] = {}

    def put(self, group_id: GroupId, seat: MappedSeat) -> None:
        """From now on the requests of this member are mapped."""
        self._seats[MemberRef(group_id, seat.member_id)] = seat

    def take_out(self, group_id: GroupId, member_id: MemberId) -> MappedSeat | None:
        """End the mapping of a member; gives what it was."""
        return self._seats.pop(MemberRef(group_id, member_id), None)

    def seats_of(self, group_id: GroupId) -> Mapping[MemberId, MappedSeat]:
        """The mapped members of a group; costs all of them, so it is for moves and admins."""
        return {key.member_id: seat for key, seat in self._seats.items() if key.group_id == group_id}

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """See `session.contracts.Groups`."""
        assert isinstance(request, MemberRequest), request
        key = _member(request)
        seat = self._seats.get(key)
        if seat is None:
            # It became equal to its client while this was on its way: the client's own words count.
            self._ask(ref, via, request, request, partial(self._deliver, ref))
            return
        asked = to_broker(seat, request)
        if isinstance(asked, MemberRequest):
            self._ask(ref, via, request, asked, partial(self._take, ref, key, seat))
        else:
            self._deliver(ref, asked)

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """See `session.contracts.Groups`: each goes to the broker."""
        return False

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`: a seat is its client's over connections."""

    def _ask(
        self,
        ref: RequestRef,
        via: Via,
        request: MemberRequest,
        asked: MemberRequest,
        take: Callable[[GroupReply], None],
    ) -> None:
        def heard(reply: GroupReply | None) -> None:
            take(error_reply(request, ErrorCode.COORDINATOR_NOT_AVAILABLE) if reply is None else reply)

        self._access(via).ask(ref, asked, heard)

    def _take(self, ref: RequestRef, key: MemberRef, seat: MappedSeat, reply: GroupReply) -> None:
        if self._seats.get(key) is seat and _ends(reply):
            del self._seats[key]
            self._forgotten(key)
        self._deliver(ref, to_client(seat, reply))


def _ends(reply: GroupReply) -> bool:
    """Whether the client knows its seat's id and generation now, or the seat is no more."""
    if isinstance(reply, JoinGroupReply):
        return reply.error is ErrorCode.NONE or reply.error in GENERATION_CODES
    return isinstance(reply, LeaveGroupReply) and reply.error is ErrorCode.NONE


def _member(request: MemberRequest) -> MemberRef:
    if isinstance(request, OffsetFetch):
        return MemberRef(request.groups[0].group_id, request.groups[0].member_id or MemberId(""))
    if isinstance(request, LeaveGroup):
        return MemberRef(request.group_id, request.members[0].member_id if request.members else MemberId(""))
    return MemberRef(request.group_id, request.member_id)
