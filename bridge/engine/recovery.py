"""What a shard that was rebuilt from its journal needs before it serves, the shortest history that leads to a shard's
durable state, for a journal that has grown too long, and the end of serving classic groups.
"""

from collections.abc import Iterator

from bridge.engine.classic.barriers import prepare_rebalance
from bridge.engine.classic.seats import extend_session, refuse_join
from bridge.engine.commands import EndSessions, Speaks
from bridge.engine.consumer.reconciliation import session_timeout_ms
from bridge.engine.consumer.retargeting import renew_seats
from bridge.engine.indexes import prepare_loads
from bridge.engine.model import (
    DEPARTED,
    Current,
    DeadlineKey,
    DeadlineKind,
    Member,
    MemberState,
    Phase,
    ShownGeneration,
)
from bridge.engine.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicGroupUnloaded,
    ClassicMemberForgotten,
    CurrentAssigned,
    DeadlineSet,
    DurableRecord,
    GroupConfigured,
    GroupCreated,
    MemberSubscribed,
    NativesLost,
    Record,
    RegularExpressionResolved,
    SeatKept,
    TargetAssigned,
    TargetEpochReached,
    TopicSeen,
    TopicsHidden,
)
from bridge.engine.state import ClassicGroup, Group, Shard, settings_of
from bridge.engine.turn import Turn
from translators.dialects.classic import SyncGroupReply
from translators.dialects.errors import ErrorCode


def resume(state: Shard, now_ms: int) -> tuple[Record, ...]:
    """Give every native member a full session, and a full rebalance timeout to those that have to give something up
    (K7, after load); members of classic groups get theirs too, and a group that must rebalance does so (K1.71).

    Returns the records, which were applied; the durable ones among them belong into the journal. Consumer groups behind
    their epoch get their target with the next `PassDeadlines`, or when what members left behind has waited; one that
    has lost its last KIP-848 member may turn classic with it.
    """
    turn = Turn(state, now_ms)
    for group in state.groups.values():
        for member in group.members.values():
            turn.write(*_deadlines(state, group, member, now_ms))
        prepare_loads(state, group)
        turn.write(*renew_seats(state, group, now_ms))
        if group.epoch > group.assignment_epoch or group.lost_natives:
            turn.write(DeadlineSet(DeadlineKey(DeadlineKind.TARGET, group.group_id), now_ms))
    for classic in state.classic_groups.values():
        resume_classic(turn, classic)
    return turn.finish().records


def _deadlines(state: Shard, group: Group, member: Member, now_ms: int) -> list[Record]:
    subscription, current = member.subscription, member.current
    if subscription.speaks is Speaks.CLASSIC and current.epoch >= 0:
        return []
    member_id = subscription.member_id
    session = DeadlineKey(DeadlineKind.SESSION, group.group_id, member_id)
    records: list[Record] = [DeadlineSet(session, now_ms + session_timeout_ms(state, group))]
    if current.state is MemberState.UNREVOKED_PARTITIONS and current.epoch >= 0:
        rebalance = DeadlineKey(DeadlineKind.REBALANCE, group.group_id, member_id)
        records.append(DeadlineSet(rebalance, now_ms + subscription.rebalance_timeout_ms))
    return records


def resume_classic(turn: Turn, group: ClassicGroup) -> None:
    """Give every member its own full session (K1.71); rebalance a group that is too large, or that lost a member after
    its last sync: what it held would have no owner.

    Parked requests, promised ids and the rest of a rebalance that ran are lost (K7.31), but no protocol that a member
    offers: its next plain rejoin still matches (Kafka keeps the chosen one only, K1.72).
    """
    for member in group.members.values():
        extend_session(turn, group, member)
    is_too_large = len(group.members) > settings_of(turn.state, group.group_id).group_max_size
    if group.has_lost_member or is_too_large:
        prepare_rebalance(turn, group)


def end_sessions(turn: Turn, command: EndSessions) -> None:
    """Members whose session was over before the start are dropped soon unless they come, where Kafka, which has more
    than one coordinator, gives everybody a full one: a journal that is brought back after hours has nobody in it.
    """
    for key in lapsed_sessions(turn.state, command.away_ms, turn.now_ms):
        turn.write(DeadlineSet(key, command.until_ms))


def lapsed_sessions(state: Shard, away_ms: int, now_ms: int) -> tuple[DeadlineKey, ...]:
    """The sessions of members who were just resumed that are no longer than `away_ms`."""
    due = state.deadlines.due
    return tuple(key for key, at_ms in due.items() if key.kind in _SESSIONS and at_ms - now_ms <= away_ms)


_SESSIONS = frozenset({DeadlineKind.SESSION, DeadlineKind.CLASSIC_SESSION})


def unload_classic_groups(turn: Turn) -> None:
    """Answer all parked JoinGroups and SyncGroups NOT_COORDINATOR; the groups are Dead from now on (K1.75).

    Nothing durable is written: the journal has them as they were, and no member leaves.
    """
    for group in turn.state.classic_groups.values():
        if group.phase is Phase.DEAD:
            continue
        for member_id, ref in group.joining.items():
            turn.reply(ref, refuse_join(ErrorCode.NOT_COORDINATOR, member_id))
        for ref in group.syncing.values():
            turn.reply(ref, SyncGroupReply(error=ErrorCode.NOT_COORDINATOR))
        turn.write(ClassicGroupUnloaded(group.group_id))


def condense(state: Shard) -> Iterator[DurableRecord]:
    """Records that make an equal durable state from nothing; members keep their order, which breaks ties."""
    for topic in state.topics.values():
        yield TopicSeen(topic)
    for pattern, resolved in state.patterns.items():
        yield RegularExpressionResolved(pattern, resolved.topics, resolved.error)
    for group_id, configs in state.configs.items():
        yield GroupConfigured(group_id, configs.values)
    for group in state.groups.values():
        yield from _group(group)
    for classic in state.classic_groups.values():
        yield from _classic(classic)


def _group(group: Group) -> Iterator[DurableRecord]:
    group_id = group.group_id
    yield GroupCreated(group_id, group.epoch)
    for member in group.members.values():
        yield MemberSubscribed(group_id, member.subscription)
    for pattern, topics in group.hidden.items():
        yield TopicsHidden(group_id, pattern, topics)
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
