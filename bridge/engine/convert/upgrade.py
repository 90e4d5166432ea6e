"""A classic group becomes a consumer group: ids, generations and assignments stay, and nobody moves who need not.

It must not know machines, or who made the group change.
"""

from bridge.engine.classic.group import ClassicGroup
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
from bridge.engine.state import Group, Partitions, Shard
from bridge.engine.turn import Turn
from translators.dialects.ids import GroupId, TopicIdPartition


def upgrade(turn: Turn, group_id: GroupId, cause: ConversionCause) -> None:
    """Write the conversion of a group that `find_upgrade_fault` has nothing against (K3.4 to K3.9, decisions 7, 8).

    The consumer group's epoch is the last generation that was given out, everybody's target what it holds. Only a group
    that was in a rebalance, or whose members don't hold exactly what they subscribe to, moves its epoch at once.
    """
    classic = turn.state.classic_groups[group_id]
    seats = [holding for holding in read_holdings(classic) if not holding.is_newcomer]
    newcomers = [holding for holding in read_holdings(classic) if holding.is_newcomer]
    epoch = max(classic.last_generation, FIRST_GROUP_EPOCH)
    notice = GroupUpgraded(
        group_id=group_id,
        cause=cause,
        seats=tuple(_seat(classic, holding, epoch) for holding in seats),
        newcomers=tuple(_seat(classic, holding, epoch) for holding in newcomers),
    )
    rebalances = classic.phase is not Phase.STABLE
    turn.write(GroupDeleted(group_id))
    turn.forget(group_id)
    turn.write(GroupCreated(group_id, epoch))
    for holding in seats:
        _write_member(turn, group_id, holding, epoch)
    turn.write(TargetEpochReached(group_id, epoch, ""))
    group = turn.state.groups[group_id]
    if seats and (rebalances or not holds_all(turn.state, group)):
        turn.move_epoch(group)
    turn.notices.append(notice)


def holds_all(state: Shard, group: Group) -> bool:
    """Whether everything subscribed to has an owner that wants it."""
    wanted = {
        TopicIdPartition(topic_id, index)
        for name in group.names
        if (topic_id := state.topic_ids.get(name)) is not None
        for index in range(state.partition_counts[topic_id])
    }
    return group.owners.keys() == wanted and all(
        _wants(state, group.members[owner].subscription, partition) for partition, owner in group.owners.items()
    )


def _wants(state: Shard, subscription: Subscription, partition: TopicIdPartition) -> bool:
    return state.topics[partition.topic_id].name in subscription.names


def _write_member(turn: Turn, group_id: GroupId, holding: Holding, epoch: int) -> None:
    member_id = holding.member.member_id
    held = to_ids(turn.state, holding.using)
    current = Current(
        epoch=epoch, previous_epoch=epoch, state=MemberState.STABLE, assigned=dict.fromkeys(sorted(held), epoch)
    )
    turn.write(
        MemberSubscribed(group_id, _subscription(holding)),
        TargetAssigned(group_id, member_id, held),
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


def _seat(classic: ClassicGroup, holding: Holding, epoch: int) -> TranslatedSeat:
    member_id = holding.member.member_id
    return TranslatedSeat(
        member=holding.member,
        epoch=epoch,
        generation=classic.generation_of(member_id),
        handed=holding.handed,
        using=holding.using,
        is_completing=holding.is_completing,
        joining=classic.joining.get(member_id),
        syncing=classic.syncing.get(member_id),
    )
