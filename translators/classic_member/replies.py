"""The answers a classic client gets, within the contract that all known clients accept."""

from typing import assert_never

from translators.classic_member.effects import Reply
from translators.classic_member.events import HeartbeatReceived, JoinReceived, SyncReceived
from translators.classic_member.states import Membership
from translators.classic_member.tenure import Tenure
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import CONSUMER, encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, MemberId, RequestRef

HEARTBEAT_REPLIES = {code: HeartbeatReply(code) for code in ErrorCode}
"""One value per code: heartbeats are too many to make one each."""
NAMELESS = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""Refusals of a JoinGroup that name no member id."""


def accept_join(ref: RequestRef, membership: Membership, tenure: Tenure) -> Reply:
    """Tell the generation; nobody is leader and nobody is listed (clients.md, 1)."""
    return Reply(
        ref,
        JoinGroupReply(
            error=ErrorCode.NONE,
            member_id=membership.seat.member_id,
            generation=tenure.generation,
            protocol_type=CONSUMER,
            protocol_name=membership.profile.protocol_name,
        ),
    )


def refuse_join(ref: RequestRef, code: ErrorCode, member_id: MemberId) -> Reply:
    """Refuse a JoinGroup; who can't be a member is told no id, any other its own (K1.6, K1.59, K1.40, K4.6)."""
    told = NO_MEMBER_ID if code in NAMELESS else member_id
    return Reply(ref, JoinGroupReply(error=code, member_id=told))


def give_assignment(ref: RequestRef, membership: Membership, tenure: Tenure) -> Reply:
    """Hand the assignment out, in an envelope that is never zero bytes, of its subscription's version (K4.22)."""
    return Reply(
        ref,
        SyncGroupReply(
            error=ErrorCode.NONE,
            protocol_type=CONSUMER,
            protocol_name=membership.profile.protocol_name,
            assignment=encode_assignment(tenure.handed, membership.profile.blob_version),
        ),
    )


def refuse_sync(ref: RequestRef, code: ErrorCode) -> Reply:
    """Refuse a SyncGroup."""
    return Reply(ref, SyncGroupReply(error=code))


def answer_heartbeat(ref: RequestRef, code: ErrorCode) -> Reply:
    """Answer a Heartbeat."""
    return Reply(ref, HEARTBEAT_REPLIES[code])


def refuse(event: JoinReceived | SyncReceived | HeartbeatReceived, code: ErrorCode) -> Reply:
    """Refuse whatever the client sent."""
    match event:
        case HeartbeatReceived():
            return answer_heartbeat(event.ref, code)
        case SyncReceived():
            return refuse_sync(event.ref, code)
        case JoinReceived():
            return refuse_join(event.ref, code, event.request.member_id)
        case _:
            assert_never(event)


def judge_sync(request: SyncGroup, membership: Membership, generation: int) -> ErrorCode:
    """Say whether a SyncGroup fits: ILLEGAL_GENERATION, then INCONSISTENT_GROUP_PROTOCOL (K4.20, K1.47)."""
    if request.generation != generation:
        return ErrorCode.ILLEGAL_GENERATION
    told = (request.protocol_type, request.protocol_name)
    meant = (CONSUMER, membership.profile.protocol_name)
    if any(
        said != right and (said is not None or request.names_protocol) for said, right in zip(told, meant, strict=True)
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE
