"""The sync barrier of a classic group: SyncGroups wait for the leader's, and for commits that are on their way."""

from dataclasses import replace

from bridge.engine.classic.rebalancing import prepare_rebalance
from bridge.engine.classic.seats import extend_session, forget_member, judge_identity
from bridge.engine.commands import ClassicSync
from bridge.engine.model import ClassicMember, Phase, names_of
from bridge.engine.outcome import RebalanceCompleted, RemovalCause
from bridge.engine.records import (
    AssignmentsHandedOut,
    ClassicGroupSynced,
    HandOutHeldUp,
    SyncParked,
    SyncReceived,
)
from bridge.engine.state import ClassicGroup, Shard
from bridge.engine.turn import Turn
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, ReplyTo


def take_sync(turn: Turn, command: ClassicSync) -> None:
    """Refuse, park or answer a SyncGroup; the leader's ends the rebalance (K1.47 to K1.51)."""
    request = command.request
    code = judge_sync(turn.state, request)
    if code is not ErrorCode.NONE:
        turn.reply(command.ref, SyncGroupReply(error=code))
        return
    group = turn.state.classic_groups[request.group_id]
    turn.write(SyncReceived(group.group_id, request.member_id))
    if group.phase is Phase.STABLE and not is_draining(turn.state, group):
        turn.reply(command.ref, _assigned(group, request.member_id, request.protocol_name))
        return
    _park(turn, group, request.member_id, command.ref)
    if group.phase is Phase.COMPLETING_REBALANCE and request.member_id == group.roster.leader:
        _take_assignments(turn, group, request)


def judge_sync(state: Shard, request: SyncGroup) -> ErrorCode:
    """Why a SyncGroup is refused, in Kafka's order (K1.47 to K1.50)."""
    if request.lacks_protocol:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    group = state.classic_groups.get(request.group_id)
    if group is None or group.phase is Phase.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = judge_identity(group, request.member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        return code
    if request.generation != group.generation_of(request.member_id):
        return ErrorCode.ILLEGAL_GENERATION
    if not _agrees(group, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_rebalancing = group.phase is Phase.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE


def pass_sync_deadline(turn: Turn, group: ClassicGroup) -> None:
    """Who has not synced in time goes, static members too, and the others rebalance (K1.53)."""
    for member_id in tuple(group.unsynced):
        forget_member(turn, group, member_id, RemovalCause.SYNC_TIMED_OUT)
    prepare_rebalance(turn, group)


def is_draining(state: Shard, group: ClassicGroup) -> bool:
    """Whether commits from before the partitions changed hands are still on their way (decision 2)."""
    return any(commit_id in state.flights for commit_id in group.draining)


def hold_hand_out(turn: Turn, group: ClassicGroup, successor: MemberId | None = None) -> None:
    """Assignments wait for every commit of the group that is on its way now: it may land after its member's time.

    Whose partitions are whose is in bytes that only the clients read, so all commits of the group count.
    """
    flying = turn.state.group_flights.get(group.group_id)
    if flying:
        turn.write(HandOutHeldUp(group.group_id, frozenset(flying), successor))


def hand_out_if_drained(turn: Turn, group_id: GroupId) -> None:
    """A commit has ended: answer who waited for it."""
    group = turn.state.classic_groups.get(group_id)
    if group is not None and group.draining and not is_draining(turn.state, group):
        _hand_out(turn, group)


def _agrees(group: ClassicGroup, request: SyncGroup) -> bool:
    """Type and name, where the request tells them, are the group's (K1.49), or what the member was told when the group
    was none: any protocol of its own (decision 8).
    """
    names: tuple[str | None, ...] = (None, group.roster.protocol_name)
    if request.member_id in group.aliases:
        names += names_of(group.members[request.member_id].protocols)
    return request.protocol_type in (None, group.roster.protocol_type) and request.protocol_name in names


def _park(turn: Turn, group: ClassicGroup, member_id: MemberId, ref: ReplyTo) -> None:
    superseded = group.syncing.get(member_id)
    if superseded is not None:
        turn.reply(superseded, SyncGroupReply(error=ErrorCode.NOT_COORDINATOR))
    turn.write(SyncParked(group.group_id, member_id, ref))


def _take_assignments(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """Members that the leader forgot get zero bytes, and unknown ones it names are dropped (K1.51)."""
    assigned = {entry.member_id: entry.assignment for entry in request.assignments}
    roster = group.roster
    turn.write(
        ClassicGroupSynced(
            group_id=group.group_id,
            generation=roster.generation,
            protocol_type=roster.protocol_type,
            protocol_name=roster.protocol_name,
            leader=roster.leader,
            members=tuple(_assign(member, assigned) for member in group.members.values()),
        )
    )
    turn.notices.append(RebalanceCompleted(group.group_id, roster.generation))
    hold_hand_out(turn, group)
    if not group.draining:
        _hand_out(turn, group)


def _assign(member: ClassicMember, assigned: dict[MemberId, bytes]) -> ClassicMember:
    return replace(member, assignment=assigned.get(member.member_id, b""))


def _hand_out(turn: Turn, group: ClassicGroup) -> None:
    """Answer all parked SyncGroups; each of these members gets its full session from now (K1.62)."""
    parked = dict(group.syncing)
    turn.write(AssignmentsHandedOut(group.group_id))
    for member_id, ref in parked.items():
        extend_session(turn, group, group.members[member_id])
        turn.reply(ref, _assigned(group, member_id))


def _assigned(group: ClassicGroup, member_id: MemberId, told_name: str | None = None) -> SyncGroupReply:
    """What a member gets, under the protocol name that it was told (K4.63)."""
    return SyncGroupReply(
        error=ErrorCode.NONE,
        protocol_type=group.roster.protocol_type,
        protocol_name=told_name or group.roster.protocol_name,
        assignment=group.members[member_id].assignment,
    )
