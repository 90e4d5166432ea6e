"""A classic group becomes a consumer group: ids, generations and assignments stay, and nobody moves who need not.

It must not know machines, or who made the group change.
"""

from bridge.engine.classic.group import ClassicGroup, session_key
from bridge.engine.classic.model import Phase
from bridge.engine.commands import Speaks
from bridge.engine.convert.holdings import Holding, Named, read_holdings
from bridge.engine.model import FIRST_GROUP_EPOCH, Current, MemberState, Subscription
from bridge.engine.outcome import ConversionCause, GroupUpgraded, TranslatedSeat
from bridge.engine.records import (
    CurrentAssigned,
    GroupCreated,
    GroupDeleted,
    MemberSubscribed,
    TargetAssigned,
    TargetEpochReached,
)
from bridge.engine.state import Partitions, Shard, topic_ids_of
from bridge.engine.turn import Turn
from translators.dialects.ids import GroupId, TopicId, TopicIdPartition, TopicName, TopicPartition


def upgrade(turn: Turn, group_id: GroupId, cause: ConversionCause) -> None:
    """Write the conversion of a group that `find_upgrade_fault` has nothing against (K3.4 to K3.9, decisions 7, 8).

    The consumer group's epoch is the last generation that was given out, everybody's target its last synced
    assignment. Only a group that was in a rebalance, or whose members don't hold exactly what they subscribe to, moves
    its epoch at once.
    """
    classic = turn.state.classic_groups[group_id]
    holdings = _holdings(turn.state, classic)
    seats = [holding for holding in holdings if not holding.is_newcomer]
    newcomers = [holding for holding in holdings if holding.is_newcomer]
    epoch = max(classic.last_generation, FIRST_GROUP_EPOCH)
    notice = GroupUpgraded(
        group_id=group_id,
        cause=cause,
        protocol_name=classic.roster.protocol_name,
        seats=tuple(_seat(turn.state, classic, holding, epoch) for holding in seats),
        newcomers=tuple(_seat(turn.state, classic, holding, epoch) for holding in newcomers),
    )
    rebalances = _rebalances(turn.state, classic, holdings)
    turn.write(GroupDeleted(group_id))
    turn.forget(group_id)
    turn.write(GroupCreated(group_id, epoch))
    for holding in seats:
        _write_member(turn, group_id, holding, epoch)
    turn.write(TargetEpochReached(group_id, epoch, ""))
    if seats and rebalances:
        turn.move_epoch(turn.state.groups[group_id])
    turn.notices.append(notice)


def rebalances_with(state: Shard, classic: ClassicGroup) -> bool:
    """Whether somebody's assignment has to change with the conversion: a rebalance runs, or something subscribed to
    lacks an owner that wants it.
    """
    return _rebalances(state, classic, _holdings(state, classic))


def _rebalances(state: Shard, classic: ClassicGroup, holdings: tuple[Holding, ...]) -> bool:
    """O(what members hold): no partition has two holders, so that counting tells whether all have one."""
    if classic.phase is not Phase.STABLE:
        return bool(classic.members)
    wishes: dict[tuple[TopicName, ...], frozenset[TopicId]] = {}
    owned = 0
    for holding in holdings:
        if holding.using != holding.synced:
            return True
        topics = holding.wants.topics
        if topics not in wishes:
            wishes[topics] = topic_ids_of(state, frozenset(topics))
        held = to_ids(state, holding.using)
        if any(one.topic_id not in wishes[topics] for one in held):
            return True
        owned += len(held)
    wanted = frozenset[TopicId]().union(*wishes.values())
    return owned != sum(state.partition_counts[topic_id] for topic_id in wanted)


def _holdings(state: Shard, classic: ClassicGroup) -> tuple[Holding, ...]:
    """Everybody's holding, less what the group has not handed out yet for the sake of a commit on its way."""
    flights = [state.flights[commit_id] for commit_id in classic.draining if commit_id in state.flights]
    flying = frozenset[TopicIdPartition]().union(*(flight.partitions for flight in flights))
    held_up = {
        TopicPartition(state.topics[one.topic_id].name, one.partition) for one in flying if one.topic_id in state.topics
    }
    return read_holdings(classic, frozenset(held_up))


def _write_member(turn: Turn, group_id: GroupId, holding: Holding, epoch: int) -> None:
    member_id = holding.member.member_id
    held = to_ids(turn.state, holding.using)
    current = Current(
        epoch=epoch, previous_epoch=epoch, state=MemberState.STABLE, assigned=dict.fromkeys(sorted(held), epoch)
    )
    turn.write(
        MemberSubscribed(group_id, _subscription(holding)),
        TargetAssigned(group_id, member_id, to_ids(turn.state, holding.synced)),
        CurrentAssigned(group_id, member_id, current),
    )


def to_ids(state: Shard, partitions: Named) -> Partitions:
    """Partitions by topic id, without those that don't exist."""
    return frozenset(
        TopicIdPartition(topic_id, index)
        for name, index in partitions
        if (topic_id := state.topic_ids.get(name)) is not None and 0 <= index < state.partition_counts[topic_id]
    )


def _subscription(holding: Holding) -> Subscription:
    member, wants = holding.member, holding.wants
    timeout_ms = member.rebalance_timeout_ms
    return Subscription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=wants.rack_id or None,
        rebalance_timeout_ms=timeout_ms if timeout_ms > 0 else member.session_timeout_ms,
        identity=member.identity,
        speaks=Speaks.CLASSIC,
        names=frozenset(wants.topics),
    )


def _seat(state: Shard, classic: ClassicGroup, holding: Holding, epoch: int) -> TranslatedSeat:
    member_id = holding.member.member_id
    joining, syncing = classic.joining.get(member_id), classic.syncing.get(member_id)
    is_parked = joining is not None or syncing is not None
    return TranslatedSeat(
        member=holding.member,
        epoch=epoch,
        generation=classic.generation_of(member_id),
        handed=holding.handed,
        using=holding.using,
        is_completing=holding.is_completing,
        session_deadline_ms=None if is_parked else state.deadlines.due.get(session_key(classic.group_id, member_id)),
        joining=joining,
        syncing=syncing,
    )
