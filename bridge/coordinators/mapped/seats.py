"""The requests of a classic client in the words in which its broker knows it, and the answers in the client's."""

from dataclasses import dataclass, replace
from typing import assert_never

from bridge.coordinators.offset_requests import refuse_commit
from bridge.migration.moves.members import ClassicMember, with_generation
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import NO_GENERATION, MalformedBlob
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetFetch, TxnOffsetCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedSeat:
    """A client's id and generation, and those of its seat at the broker.

    If it `is_called` the broker has less for it than its client has: it is to join again. Until it does, the broker
    keeps what its client has, as its JoinGroup said so: what it commits on its way there counts. `member` is what it
    said last of itself, which no broker shows of the members of a consumer group.
    """

    member_id: MemberId
    generation: int
    seat_id: MemberId
    seat_generation: int
    is_called: bool = False
    member: ClassicMember | None = None


_OfGeneration = Heartbeat | SyncGroup | OffsetCommit | TxnOffsetCommit
MemberRequest = Heartbeat | SyncGroup | JoinGroup | LeaveGroup | OffsetCommit | TxnOffsetCommit | OffsetFetch


def to_broker(seat: MappedSeat, request: MemberRequest) -> MemberRequest | GroupReply:
    """What the broker is to be asked, or the answer where it has no say."""
    match request:
        case JoinGroup():
            return replace(request, member_id=seat.seat_id, protocols=_protocols(seat, request))
        case LeaveGroup():
            members = tuple(
                replace(one, member_id=seat.seat_id) if one.member_id == seat.member_id else one
                for one in request.members
            )
            return replace(request, members=members)
        case OffsetFetch():
            # To a generation that it does not know the broker of a consumer group answers 113, to none the offsets.
            return replace(
                request, groups=tuple(replace(one, member_id=None, member_epoch=-1) for one in request.groups)
            )
        case Heartbeat():
            code = _judge(seat, request.generation)
            if code is not ErrorCode.NONE:
                return HeartbeatReply(code)
            return replace(request, generation=seat.seat_generation, member_id=seat.seat_id)
        case SyncGroup():
            code = _judge(seat, request.generation)
            if code is not ErrorCode.NONE:
                return SyncGroupReply(error=code)
            return replace(request, generation=seat.seat_generation, member_id=seat.seat_id)
        case OffsetCommit() | TxnOffsetCommit():
            if request.generation != seat.generation:
                return refuse_commit(request, ErrorCode.ILLEGAL_GENERATION)
            return replace(request, generation=seat.seat_generation, member_id=seat.seat_id)
        case _:
            assert_never(request)


def to_client(seat: MappedSeat, reply: GroupReply) -> GroupReply:
    """The broker's answer with the client's own id where it names the seat's, which only who has joined is told."""
    if isinstance(reply, LeaveGroupReply):
        members = tuple(
            replace(one, member_id=seat.member_id) if one.member_id == seat.seat_id else one for one in reply.members
        )
        return replace(reply, members=members)
    if isinstance(reply, JoinGroupReply) and reply.error is not ErrorCode.NONE and reply.member_id == seat.seat_id:
        return replace(reply, member_id=seat.member_id)
    return reply


def knows_better(seat: MappedSeat, request: MemberRequest) -> bool:
    """Whether a client that has kept its id says a generation that it can have from its broker alone: that was never
    older than the one that the client knew.
    """
    if seat.seat_id != seat.member_id or not isinstance(request, _OfGeneration):
        return False
    return request.generation > max(seat.generation, NO_GENERATION)


def _judge(seat: MappedSeat, generation: int) -> ErrorCode:
    if generation != seat.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if seat.is_called else ErrorCode.NONE


def _protocols(seat: MappedSeat, request: JoinGroup) -> tuple[Protocol, ...]:
    return tuple(Protocol(one.name, _blob(seat, one.metadata)) for one in request.protocols)


def _blob(seat: MappedSeat, blob: bytes) -> bytes:
    try:
        return with_generation(blob, seat.generation, seat.seat_generation)
    except MalformedBlob:
        # The broker takes any bytes; who reads them is the group's leader.
        return blob
