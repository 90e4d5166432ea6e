"""Members of a classic group: who may speak for a seat, how it is taken and given up, and what a heartbeat is told."""

from dataclasses import dataclass

from bridge.engine.commands import ClassicHeartbeat
from bridge.engine.model import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicMember, Phase
from bridge.engine.outcome import MemberRemoved, RemovalCause
from bridge.engine.records import ClassicMemberForgotten, DeadlineSet, JoinParked
from bridge.engine.state import ClassicGroup, Shard, session_key
from bridge.engine.turn import Turn
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinedMember,
    JoinGroup,
    JoinGroupReply,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, InstanceId, MemberId, ReplyTo


@dataclass(frozen=True, slots=True)
class Seating:
    """A join that was accepted: where its answer goes, what it says, and under which id."""

    ref: ReplyTo
    request: JoinGroup
    identity: ClientIdentity
    member_id: MemberId


def judge_identity(group: ClassicGroup, member_id: MemberId, instance_id: InstanceId | None) -> ErrorCode:
    """Whether an id belongs to the group and, if an instance is named, to that instance (K1.24)."""
    if instance_id is not None:
        holder = group.instances.get(instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def to_member(seating: Seating) -> ClassicMember:
    """The member that a join makes, with nothing assigned yet."""
    request = seating.request
    return ClassicMember(
        member_id=seating.member_id,
        instance_id=request.instance_id,
        identity=seating.identity,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=request.protocols,
    )


def refuse_join(code: ErrorCode, member_id: MemberId = NO_MEMBER_ID) -> JoinGroupReply:
    """The answer to a JoinGroup that got nowhere; whether it echoes the id depends on why."""
    return JoinGroupReply(error=code, member_id=member_id)


def welcome(
    group: ClassicGroup, member_id: MemberId, members: tuple[JoinedMember, ...] = (), *, skip_assignment: bool = False
) -> JoinGroupReply:
    """The answer that puts a member into the group's current generation; `members` for the leader only."""
    return JoinGroupReply(
        error=ErrorCode.NONE,
        member_id=member_id,
        generation=group.generation_of(member_id),
        protocol_type=group.roster.protocol_type,
        protocol_name=group.roster.protocol_name,
        leader=group.roster.leader or "",
        skip_assignment=skip_assignment,
        members=members,
    )


def park_join(turn: Turn, group: ClassicGroup, member_id: MemberId, ref: ReplyTo) -> None:
    """Let a JoinGroup wait; one that waited before for the same member is answered NOT_COORDINATOR (K1.52 as in
    KAFKA-20938, where Kafka 4.3 never answers).
    """
    superseded = group.joining.get(member_id)
    if superseded is not None:
        turn.reply(superseded, refuse_join(ErrorCode.NOT_COORDINATOR, member_id))
    turn.write(JoinParked(group.group_id, member_id, ref))


def extend_session(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    """Give a member its full session from now; one that never completed a join has the time of a newcomer (K1.22)."""
    is_newcomer = member.member_id in group.newcomers
    timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if is_newcomer else member.session_timeout_ms
    turn.write(DeadlineSet(session_key(group.group_id, member.member_id), turn.now_ms + timeout_ms))


def forget_member(turn: Turn, group: ClassicGroup, member_id: MemberId, cause: RemovalCause) -> None:
    """A member goes; whatever it has parked is answered UNKNOWN_MEMBER_ID (K1.59; Kafka forgets a parked SyncGroup)."""
    member = group.members[member_id]
    joining, syncing = group.joining.get(member_id), group.syncing.get(member_id)
    if joining is not None:
        turn.reply(joining, refuse_join(ErrorCode.UNKNOWN_MEMBER_ID))
    if syncing is not None:
        turn.reply(syncing, SyncGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID))
    turn.write(ClassicMemberForgotten(group.group_id, member_id))
    turn.notices.append(removed(group, member, cause))


def removed(group: ClassicGroup, member: ClassicMember, cause: RemovalCause) -> MemberRemoved:
    """The notice that a seat is empty or has a new holder."""
    return MemberRemoved(
        group_id=group.group_id,
        member_id=member.member_id,
        instance_id=member.instance_id,
        cause=cause,
        client_id=member.identity.client_id,
        generation=group.roster.generation,
    )


_REPLIES = {code: HeartbeatReply(code) for code in ErrorCode}
_ALIVE = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def take_heartbeat(turn: Turn, command: ClassicHeartbeat) -> None:
    """Answer a heartbeat; one of a member in the current generation extends its session (K1.54 to K1.56); O(1)."""
    request = command.request
    code = judge_heartbeat(turn.state, request)
    if code in _ALIVE:
        group = turn.state.classic_groups[request.group_id]
        extend_session(turn, group, group.members[request.member_id])
    turn.reply(command.ref, _REPLIES[code])


def judge_heartbeat(state: Shard, request: Heartbeat) -> ErrorCode:
    """The code of a heartbeat, in Kafka's order (K1.55)."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    group = state.classic_groups.get(request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = judge_identity(group, request.member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        return code
    if request.generation != group.generation_of(request.member_id):
        return ErrorCode.ILLEGAL_GENERATION
    is_rebalancing = group.phase is Phase.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE
