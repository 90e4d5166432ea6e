"""How each record of a classic group changes it and its indexes; `apply` hands them on.

It must not decide anything, refuse anything or know the time.
"""

from dataclasses import replace
from typing import assert_never

from bridge.engine.classic.group import ClassicGroup, Roster, join_key, session_key, sync_key
from bridge.engine.classic.model import ClassicMember, Phase, metadata_of, names_of
from bridge.engine.classic.records import (
    AssignmentsHandedOut,
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicGroupUnloaded,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    ClassicMemberSeated,
    ClassicRecord,
    HandOutHeldUp,
    JoinDelayChanged,
    JoinParked,
    JoinPhaseCompleted,
    MemberIdPromised,
    MemberIdWithdrawn,
    RebalancePrepared,
    SyncParked,
    SyncReceived,
)
from bridge.engine.indexes import count_down, count_up
from bridge.engine.state import Shard
from translators.dialects.ids import GroupId, MemberId


def apply_classic(state: Shard, record: ClassicRecord) -> None:  # noqa: C901  # one case a kind
    """Change a classic group as the record says; cost O(what the record changes)."""
    if isinstance(record, ClassicGroupCreated):
        state.classic_groups[record.group_id] = ClassicGroup(group_id=record.group_id)
        return
    group = state.classic_groups[record.group_id]
    match record:
        case JoinParked():
            group.joining[record.member_id] = record.ref
        case SyncReceived():
            _take_from_unsynced(state, group, record.member_id)
        case SyncParked():
            group.syncing[record.member_id] = record.ref
        case ClassicMemberSeated():
            _seat(group, record)
        case MemberIdPromised():
            group.pending[record.member_id] = None
        case MemberIdWithdrawn():
            del group.pending[record.member_id]
            state.deadlines.drop(session_key(record.group_id, record.member_id))
        case JoinPhaseCompleted():
            _complete_join_phase(state, group, record)
        case AssignmentsHandedOut():
            _hand_out(group)
        case ClassicGroupSynced():
            _sync(state, group, record)
        case ClassicGenerationReserved():
            group.last_generation = record.generation
            group.aliases = {}
        case ClassicMemberForgotten():
            _forget_member(state, group, record)
        case ClassicMemberReplaced():
            _replace_member(state, group, record)
        case RebalancePrepared():
            _prepare_rebalance(state, group, record)
        case JoinDelayChanged():
            group.delay = record.delay
        case HandOutHeldUp():
            _hold_hand_out(group, record)
        case ClassicGenerationsAliased():
            group.aliases = {shown.member_id: shown.generation for shown in record.generations}
        case ClassicGroupUnloaded():
            _unload(state, group, record)
        case _:
            assert_never(record)


def delete_classic(state: Shard, group_id: GroupId) -> None:
    """Forget a classic group with all its deadlines."""
    group = state.classic_groups.pop(group_id)
    for member_id in (*group.members, *group.pending):
        state.deadlines.drop(session_key(group_id, member_id))
    state.deadlines.drop(join_key(group_id))
    state.deadlines.drop(sync_key(group_id))


def _seat(group: ClassicGroup, record: ClassicMemberSeated) -> None:
    member = record.member
    known = group.members.get(member.member_id)
    if known is not None:
        _unindex(group, known)
    _index(group, member)
    group.members[member.member_id] = member
    group.roster.protocol_type = record.protocol_type
    group.roster.leader = record.leader
    if record.is_new:
        group.newcomers.add(member.member_id)


def _complete_join_phase(state: Shard, group: ClassicGroup, record: JoinPhaseCompleted) -> None:
    group.phase = Phase.COMPLETING_REBALANCE
    group.roster.generation = record.generation
    group.roster.protocol_name = record.protocol_name
    group.roster.leader = record.leader
    group.delay = None
    group.joining = {}
    group.newcomers = set()
    group.unsynced = dict.fromkeys(group.members)
    group.subscriptions = _subscriptions(group)
    state.deadlines.drop(join_key(record.group_id))


def _hand_out(group: ClassicGroup) -> None:
    group.syncing = {}
    group.draining = frozenset()
    group.succeeding = set()


def _sync(state: Shard, group: ClassicGroup, record: ClassicGroupSynced) -> None:
    group.synced, group.roster = _roster(record), _roster(record)
    group.last_generation = max(group.last_generation, record.generation)
    group.has_lost_member = False
    group.aliases = {}
    group.subscriptions = _subscriptions(group)
    group.phase = Phase.STABLE if record.members else Phase.EMPTY
    group.instances = {
        member.instance_id: member.member_id for member in record.members if member.instance_id is not None
    }
    group.offers = {}
    for member in record.members:
        count_up(group.offers, names_of(member.protocols))
    if not record.members:
        group.delay = None
        state.deadlines.drop(join_key(record.group_id))


def _forget_member(state: Shard, group: ClassicGroup, record: ClassicMemberForgotten) -> None:
    member_id = record.member_id
    group.has_lost_member |= member_id in group.synced.members
    member = group.members.get(member_id)
    if member is not None:
        _unindex(group, member)
    _forget(group.roster, member_id)
    _forget(group.synced, member_id)
    group.joining.pop(member_id, None)
    group.syncing.pop(member_id, None)
    group.newcomers.discard(member_id)
    group.succeeding.discard(member_id)
    group.aliases.pop(member_id, None)
    state.deadlines.drop(session_key(record.group_id, member_id))
    _take_from_unsynced(state, group, member_id)


def _replace_member(state: Shard, group: ClassicGroup, record: ClassicMemberReplaced) -> None:
    member, former_id = record.member, record.former_id
    former = group.members.get(former_id)
    if former is not None:
        _unindex(group, former)
        _index(group, member)
    _replace(group.roster, former_id, member)
    _replace(group.synced, former_id, member)
    group.joining.pop(former_id, None)
    group.syncing.pop(former_id, None)
    group.aliases.pop(former_id, None)
    group.succeeding.discard(former_id)
    if former_id in group.newcomers:
        group.newcomers.discard(former_id)
        group.newcomers.add(member.member_id)
    if former_id in group.unsynced:
        del group.unsynced[former_id]
        group.unsynced[member.member_id] = None
    state.deadlines.drop(session_key(record.group_id, former_id))


def _prepare_rebalance(state: Shard, group: ClassicGroup, record: RebalancePrepared) -> None:
    group.phase = Phase.PREPARING_REBALANCE
    group.syncing = {}
    group.unsynced = {}
    group.draining = frozenset()
    group.succeeding = set()
    state.deadlines.drop(sync_key(record.group_id))
    if record.voids_assignments:
        for member_id, member in group.members.items():
            group.members[member_id] = replace(member, assignment=b"")


def _hold_hand_out(group: ClassicGroup, record: HandOutHeldUp) -> None:
    group.draining = record.commit_ids
    if record.member_id is not None:
        group.succeeding.add(record.member_id)


def _unload(state: Shard, group: ClassicGroup, record: ClassicGroupUnloaded) -> None:
    group.phase = Phase.DEAD
    group.joining = {}
    group.syncing = {}
    for member_id in (*group.members, *group.pending):
        state.deadlines.drop(session_key(record.group_id, member_id))
    state.deadlines.drop(join_key(record.group_id))
    state.deadlines.drop(sync_key(record.group_id))


def _roster(record: ClassicGroupSynced) -> Roster:
    return Roster(
        generation=record.generation,
        protocol_type=record.protocol_type,
        protocol_name=record.protocol_name,
        leader=record.leader,
        members={member.member_id: member for member in record.members},
    )


def _subscriptions(group: ClassicGroup) -> tuple[bytes, ...]:
    """What members say under the chosen protocol."""
    return tuple(metadata_of(member, group.roster.protocol_name) for member in group.members.values())


def _replace(roster: Roster, former_id: MemberId, member: ClassicMember) -> None:
    """Put a member on another's seat, with its assignment and, if it led, its leadership."""
    former = roster.members.get(former_id)
    if former is None:
        return
    seated = replace(member, assignment=former.assignment)
    if roster.leader == former_id:
        roster.leader = member.member_id
    del roster.members[former_id]
    roster.members[member.member_id] = seated


def _forget(roster: Roster, member_id: MemberId) -> None:
    roster.members.pop(member_id, None)
    if roster.leader == member_id:
        roster.leader = next(iter(roster.members), None)


def _take_from_unsynced(state: Shard, group: ClassicGroup, member_id: MemberId) -> None:
    if member_id in group.unsynced:
        del group.unsynced[member_id]
        if not group.unsynced:
            state.deadlines.drop(sync_key(group.group_id))


def _index(group: ClassicGroup, member: ClassicMember) -> None:
    count_up(group.offers, names_of(member.protocols))
    if member.instance_id is not None:
        group.instances[member.instance_id] = member.member_id


def _unindex(group: ClassicGroup, member: ClassicMember) -> None:
    count_down(group.offers, names_of(member.protocols))
    if member.instance_id is not None and group.instances.get(member.instance_id) == member.member_id:
        del group.instances[member.instance_id]
