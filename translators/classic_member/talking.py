"""The two conversations of a member's machine: with its client and with its coordinator."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.events import Ask, Effect, HeartbeatReceived, JoinReceived, Reply, SyncReceived
from translators.classic_member.states import Asked, Membership, Overtaken, Scheduled, Seat, Silent, Talk
from translators.classic_member.tenure import Partitions, Tenure
from translators.dialects.classic import NO_CLAIM, Claim, HeartbeatReply, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import CONSUMER, encode_assignment
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, NO_MEMBER_ID, STATIC_LEAVE_EPOCH, MemberId, RequestRef
from translators.machine import UnexpectedEvent

# ------------------------------------------------------------------------------------------ talking
# The conversation with the coordinator: what is asked, when it may be asked, and what an answer teaches.

SERVER_ASSIGNORS = {"range": "range"}
"""Clients of range may join topics that are partitioned alike: who gets a partition of one gets that of the others.
Kafka's own default (uniform) would break that at the next change; all others only want balance.
"""


def inquire(membership: Membership, using: Partitions, claim: Claim = NO_CLAIM) -> Ask:
    """Ask what the member may own, telling that its client may be `using` these; nothing is ever owned at epoch 0
    (K2.6).
    """
    return Ask(inquiry_of(membership, using, claim))


def inquiry_of(membership: Membership, using: Partitions, claim: Claim = NO_CLAIM) -> Inquiry:
    """Give what `inquire` asks."""
    seat, profile = membership.seat, membership.profile
    return Inquiry(
        group_id=seat.group_id,
        member_id=seat.member_id,
        member_epoch=membership.epoch,
        instance_id=seat.instance_id,
        rack_id=profile.rack_id,
        topics=profile.topics,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        owned=using,
        assignor=SERVER_ASSIGNORS.get(profile.protocol_name),
        claimed=claim.partitions,
        claimed_generation=claim.generation,
    )


def say_farewell(seat: Seat, reason: DepartReason) -> Ask:
    """Leave for good, or (-2) leave a static seat to the newcomer that replaces this member (decision 16)."""
    handed_on = reason is DepartReason.REPLACED and seat.instance_id is not None
    return Ask(
        Farewell(
            group_id=seat.group_id,
            member_id=seat.member_id,
            member_epoch=STATIC_LEAVE_EPOCH if handed_on else LEAVE_EPOCH,
            instance_id=seat.instance_id,
            reason=reason,
        )
    )


def prompt(talk: Talk, question: Ask) -> tuple[Talk, tuple[Effect, ...]]:
    """Ask now, or, with a question outstanding, remember that its answer will be out of date."""
    match talk:
        case Asked() | Overtaken():
            return Overtaken(), ()
        case _:
            return Asked(), (question,)


BEATS_AT_ONCE = 50
"""At so many moments of an interval members are asked for: those whose time comes in between are asked for together, as
a turn for each of a thousand costs as much again as their questions.
"""


def rest(answer: Granted, now_ms: int) -> Silent | Scheduled:
    """Give the talk after an answer that is up to date: it goes on when the coordinator wants it to, or a little
    earlier.
    """
    interval_ms = answer.heartbeat_interval_ms
    if interval_ms is None:
        return Silent()
    due_ms = now_ms + interval_ms
    return Scheduled(due_ms - due_ms % max(1, interval_ms // BEATS_AT_ONCE))


def learn(membership: Membership, answer: Granted) -> Membership:
    """Take over what an answer says."""
    granted = membership.granted if answer.assigned is None else answer.assigned
    if (answer.member_epoch, granted, answer.pending) == (membership.epoch, membership.granted, membership.pending):
        return membership
    return replace(membership, epoch=answer.member_epoch, granted=granted, pending=answer.pending)


def expect_question(state: object, talk: Talk, event: object) -> None:
    """Raise UnexpectedEvent for an answer to nothing."""
    if not isinstance(talk, (Asked, Overtaken)):
        raise UnexpectedEvent(state, event, "no question is outstanding")


# ------------------------------------------------------------------------------------------ replies
# The answers a classic client gets, within the contract that all known clients accept.

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
