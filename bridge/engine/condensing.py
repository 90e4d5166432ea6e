"""The shortest history that leads to a shard's durable state, for a journal that has grown too long."""

from collections.abc import Iterator

from bridge.engine.model import DEPARTED, Current, ShownGeneration
from bridge.engine.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    CurrentAssigned,
    DurableRecord,
    GroupCreated,
    MemberSubscribed,
    NativesLost,
    RegularExpressionResolved,
    SeatKept,
    TargetAssigned,
    TargetEpochReached,
    TopicSeen,
)
from bridge.engine.state import ClassicGroup, Group, Shard


def condense(state: Shard) -> Iterator[DurableRecord]:
    """Records that make an equal durable state from nothing; members keep their order, which breaks ties."""
    for topic in state.topics.values():
        yield TopicSeen(topic)
    for pattern, resolved in state.patterns.items():
        yield RegularExpressionResolved(pattern, resolved.topics, resolved.error)
    for group in state.groups.values():
        yield from _group(group)
    for classic in state.classic_groups.values():
        yield from _classic(classic)


def _group(group: Group) -> Iterator[DurableRecord]:
    group_id = group.group_id
    yield GroupCreated(group_id, group.epoch)
    for member in group.members.values():
        yield MemberSubscribed(group_id, member.subscription)
    if group.lost_natives:
        yield NativesLost(group_id)
    for member_id, partitions in group.target.items():
        yield TargetAssigned(group_id, member_id, partitions)
    for member_id, member in group.members.items():
        if member.current != Current():
            yield CurrentAssigned(group_id, member_id, member.current)
    yield TargetEpochReached(group_id, group.assignment_epoch, group.assignor)
    yield from (SeatKept(group_id, seat) for seat in group.kept)


def _classic(group: ClassicGroup) -> Iterator[DurableRecord]:
    group_id, synced = group.group_id, group.synced
    departed = (DEPARTED,) if group.has_lost_member else ()
    yield ClassicGroupCreated(group_id)
    yield ClassicGroupSynced(
        group_id=group_id,
        generation=synced.generation,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol_name,
        leader=synced.leader,
        members=(*synced.members.values(), *departed),
    )
    yield from (ClassicMemberForgotten(group_id, member.member_id) for member in departed)
    yield ClassicGenerationReserved(group_id, group.last_generation)
    if group.aliases:
        shown = (ShownGeneration(member_id, generation) for member_id, generation in group.aliases.items())
        yield ClassicGenerationsAliased(group_id, tuple(shown))
