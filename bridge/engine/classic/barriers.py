"""The two barriers of a classic group: the join barrier of a rebalance, and the sync barrier behind it."""

from collections.abc import Mapping
from dataclasses import replace

from bridge.engine.classic.seats import extend_session, forget_member, judge_identity, welcome
from bridge.engine.commands import ClassicSync
from bridge.engine.model import ClassicMember, InitialDelay, Phase, metadata_of, names_of
from bridge.engine.outcome import GenerationBegun, GroupEmptied, RebalanceBegun, RebalanceCompleted, RemovalCause
from bridge.engine.records import (
    AssignmentsHandedOut,
    ClassicGenerationReserved,
    ClassicGroupSynced,
    DeadlineSet,
    HandOutHeldUp,
    JoinDelayChanged,
    JoinPhaseCompleted,
    RebalancePrepared,
    SyncParked,
    SyncReceived,
)
from bridge.engine.state import (
    ClassicGroup,
    Shard,
    held_until_ms,
    join_key,
    rebalance_timeout_ms,
    settings_of,
    sync_key,
)
from bridge.engine.turn import Turn
from translators.dialects.classic import JoinedMember, JoinGroup, SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, ReplyTo

# -------------------------------------------------------------------------------------- rebalancing
# The join barrier of a classic group: when a rebalance begins, when everybody is there, which protocol and leader
# they choose, and what they are told.


def supports(group: ClassicGroup, request: JoinGroup) -> bool:
    """Whether a joiner fits: any type and name while Empty, else the group's type and a name that all offer (K1.15).

    The joiner's own former offer counts too (K1.16), as in Kafka. O(distinct offers), not O(members).
    """
    names = names_of(request.protocols)
    if group.phase is Phase.EMPTY:
        return bool(request.protocol_type and names)
    if request.protocol_type != group.roster.protocol_type:
        return False
    return any(all(name in offer for offer in group.offers) for name in names)


def choose_protocol(offers: Mapping[tuple[str, ...], int], current: str | None) -> str:
    """The protocol that most members like best of those that all offer (K1.38); O(distinct offers).

    A tie, which Kafka leaves to its hash map, goes to the current protocol if it is among the first, else to the
    first in the alphabet: the choice depends on nothing but the state, and nobody changes protocol without need.
    """
    distinct = [set(offer) for offer in offers]
    candidates = set.intersection(*distinct) if distinct else set()
    if not candidates:
        raise ValueError(
            f"EB-ENGINE-008: no protocol is offered by all members ({sorted(offers)!r}); a joiner without a common one"
            " must have been refused, this is a bug in bridge.engine.classic.joining"
        )
    votes = dict.fromkeys(candidates, 0)
    for offer, count in offers.items():
        votes[next(name for name in offer if name in candidates)] += count
    most = max(votes.values())
    best = sorted(name for name, count in votes.items() if count == most)
    return current if current is not None and current in best else best[0]


def choose_leader(group: ClassicGroup) -> MemberId | None:
    """Who leads the generation that begins: the leader if it has joined, else who joined and is in the group longest
    (K1.35, where Kafka takes any); None if nobody has joined.
    """
    leader = group.roster.leader
    if leader is not None and leader in group.joining:
        return leader
    return next((member_id for member_id in group.members if member_id in group.joining), None)


def rebalance_or_complete(turn: Turn, group: ClassicGroup) -> None:
    """Begin a rebalance, or see whether the one that runs was waiting for just this (K1.28)."""
    if group.phase is Phase.PREPARING_REBALANCE:
        try_complete(turn, group)
    else:
        prepare_rebalance(turn, group)


def prepare_rebalance(turn: Turn, group: ClassicGroup) -> None:
    """Call everybody to join: parked SyncGroups get REBALANCE_IN_PROGRESS, an Empty group waits for more members
    (K1.29 to K1.32), one that nobody is left in is over at once, whatever ids are promised (K1.4: 0 ms).
    """
    was_empty = group.phase is Phase.EMPTY
    for member_id, ref in group.syncing.items():
        extend_session(turn, group, group.members[member_id])
        turn.reply(ref, SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS))
    voids_assignments = group.phase is Phase.COMPLETING_REBALANCE
    turn.write(RebalancePrepared(group.group_id, voids_assignments))
    turn.notices.append(RebalanceBegun(group.group_id, group.roster.generation))
    if was_empty:
        _begin_delay(turn, group)
    elif _has_everybody(group) or not group.members:
        complete_join_phase(turn, group)
    else:
        turn.write(DeadlineSet(join_key(group.group_id), turn.now_ms + rebalance_timeout_ms(group)))


def try_complete(turn: Turn, group: ClassicGroup) -> None:
    """End the join phase early if everybody is there and no promised id is waited for; never in the first rebalance
    (K1.33).
    """
    if group.phase is Phase.PREPARING_REBALANCE and group.delay is None and _has_everybody(group):
        complete_join_phase(turn, group)


def follow_expiry(turn: Turn, group: ClassicGroup) -> None:
    """The time of a seat, or of a promise of one, is over: if everybody else is there, the join phase is, too, the
    first one as well, whose delay is not waited out (K1.60); but for survivors of a restart (decision 9).
    """
    is_held = group.delay is not None and turn.now_ms < held_until_ms(turn.state, group.group_id)
    if group.phase is Phase.PREPARING_REBALANCE and not is_held and _has_everybody(group):
        complete_join_phase(turn, group)


def follow_departure(turn: Turn, group: ClassicGroup) -> None:
    """What a member's going means to the others: a rebalance, or the end of the wait for it (K1.59, K1.60)."""
    if group.phase is not Phase.EMPTY:
        rebalance_or_complete(turn, group)


def pass_join_deadline(turn: Turn, group: ClassicGroup) -> None:
    """A step of the initial delay is over, and newcomers lengthen it (K1.30); or members had their time to join."""
    delay = group.delay
    if delay is None or not (delay.has_newcomers and delay.remaining_ms):
        complete_join_phase(turn, group)
        return
    step_ms = min(settings_of(turn.state, group.group_id).group_initial_rebalance_delay_ms, delay.remaining_ms)
    longer = InitialDelay(remaining_ms=delay.remaining_ms - step_ms, last_delay_ms=step_ms)
    turn.write(JoinDelayChanged(group.group_id, longer))
    turn.write(DeadlineSet(join_key(group.group_id), turn.now_ms + step_ms))


def complete_join_phase(turn: Turn, group: ClassicGroup) -> None:
    """Go on with who is there: dynamic members that did not join go, static ones keep their seats (K1.34 to K1.37).

    If only absent static members are left, the join phase goes on in the same generation (K1.35).
    """
    if group.delay is not None:
        turn.write(JoinDelayChanged(group.group_id, None))
    for member_id in [one for one, member in group.members.items() if member.instance_id is None]:
        if member_id not in group.joining:
            forget_member(turn, group, member_id, RemovalCause.REBALANCE_TIMED_OUT)
    leader = choose_leader(group)
    if leader is not None:
        _begin_generation(turn, group, leader)
    elif group.members:
        turn.write(DeadlineSet(join_key(group.group_id), turn.now_ms + rebalance_timeout_ms(group)))
    else:
        _empty(turn, group)


def list_members(group: ClassicGroup) -> tuple[JoinedMember, ...]:
    """Everybody as the leader is told of them, absent static members included."""
    return tuple(
        JoinedMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            metadata=metadata_of(member.protocols, group.roster.protocol_name),
        )
        for member in group.members.values()
    )


def _has_everybody(group: ClassicGroup) -> bool:
    return len(group.joining) == len(group.members) and not group.pending


def _begin_delay(turn: Turn, group: ClassicGroup) -> None:
    """Wait for more members, and for survivors of a restart without a journal (decision 9)."""
    delay_ms = settings_of(turn.state, group.group_id).group_initial_rebalance_delay_ms
    delay_ms = max(delay_ms, held_until_ms(turn.state, group.group_id) - turn.now_ms)
    if delay_ms <= 0:
        complete_join_phase(turn, group)
        return
    remaining_ms = max(rebalance_timeout_ms(group) - delay_ms, 0)
    turn.write(
        JoinDelayChanged(group.group_id, InitialDelay(remaining_ms=remaining_ms, last_delay_ms=delay_ms)),
        DeadlineSet(join_key(group.group_id), turn.now_ms + delay_ms),
    )


def _begin_generation(turn: Turn, group: ClassicGroup, leader: MemberId) -> None:
    group_id, generation = group.group_id, group.last_generation + 1
    protocol_name = choose_protocol(group.offers, group.roster.protocol_name)
    joined = tuple(group.joining.items())
    turn.write(
        ClassicGenerationReserved(group_id, generation),
        JoinPhaseCompleted(group_id=group_id, generation=generation, protocol_name=protocol_name, leader=leader),
        DeadlineSet(sync_key(group_id), turn.now_ms + rebalance_timeout_ms(group)),
    )
    for member in group.members.values():
        extend_session(turn, group, member)
    for member_id, ref in joined:
        turn.reply(ref, welcome(group, member_id, list_members(group) if member_id == leader else ()))
    turn.notices.append(GenerationBegun(group_id, generation, frozenset(group.members)))


def _empty(turn: Turn, group: ClassicGroup) -> None:
    roster = group.roster
    turn.write(
        ClassicGroupSynced(
            group_id=group.group_id,
            generation=group.last_generation + 1,
            protocol_type=roster.protocol_type,
            protocol_name=None,
            leader=None,
            members=(),
        )
    )
    turn.notices.append(GroupEmptied(group.group_id))


# ------------------------------------------------------------------------------------------ syncing
# The sync barrier of a classic group: SyncGroups wait for the leader's, and for commits that are on their way.


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
