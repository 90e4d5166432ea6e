"""A classic group becomes a consumer group, by a joiner or an operator's order; nobody moves who need not."""

from dataclasses import dataclass

from bridge.engine.commands import ConvertGroup, GroupType, Speaks
from bridge.engine.convert.readiness import Holding, Named, find_departure_fault, read_holdings, read_upgrade
from bridge.engine.model import FIRST_GROUP_EPOCH, Current, MemberState, Phase, Subscription
from bridge.engine.outcome import ConversionCause, Converted, DowngradeDue, GroupUpgraded, NotConverted, TranslatedSeat
from bridge.engine.records import (
    CurrentAssigned,
    GroupCreated,
    GroupDeleted,
    MemberSubscribed,
    TargetAssigned,
    TargetEpochReached,
)
from bridge.engine.state import ClassicGroup, Partitions, Shard, session_key, topic_ids_of
from bridge.engine.turn import Turn
from translators.dialects.ids import GroupId, TopicId, TopicIdPartition, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class Share:
    """A member's holding with the ids of what it is to have and of what it has."""

    holding: Holding
    target: Partitions
    held: Partitions


@dataclass(frozen=True, slots=True)
class Plan:
    """What an upgrade makes of a group's members, and whether it moves the epoch at once."""

    group: ClassicGroup
    shares: tuple[Share, ...]
    rebalances: bool


def plan_upgrade(state: Shard, group_id: GroupId, newcomers: int = 0) -> Plan | NotConverted:
    """What converting a group would bring, changing nothing; or why it can't be, see `read_upgrade`.

    The group rebalances if a rebalance runs, or if something subscribed to lacks an owner that wants it.
    """
    reading = read_upgrade(state, group_id, newcomers)
    if isinstance(reading, NotConverted):
        return reading
    group = state.classic_groups[group_id]
    holdings = read_holdings(group, reading, _held_up(state, group))
    shares = tuple(_share(state, holding) for holding in holdings)
    return Plan(group, shares, _rebalances(state, group, shares))


def upgrade(turn: Turn, plan: Plan, cause: ConversionCause) -> None:
    """Write the conversion of a group (K3.4 to K3.9, decisions 7, 8).

    The consumer group's epoch is the last generation that was given out, everybody's target its last synced
    assignment. Only a group that was in a rebalance, or whose members don't hold exactly what they subscribe to, moves
    its epoch at once.
    """
    group, group_id = plan.group, plan.group.group_id
    epoch = max(group.last_generation, FIRST_GROUP_EPOCH)
    seats = tuple(share for share in plan.shares if not share.holding.is_newcomer)
    notice = GroupUpgraded(
        group_id=group_id,
        cause=cause,
        protocol_name=group.roster.protocol_name,
        seats=tuple(_seat(turn.state, group, share.holding, epoch) for share in seats),
        newcomers=tuple(
            _seat(turn.state, group, share.holding, epoch) for share in plan.shares if share.holding.is_newcomer
        ),
    )
    turn.write(GroupDeleted(group_id))
    turn.forget(group_id)
    turn.write(GroupCreated(group_id, epoch))
    for share in seats:
        _write_member(turn, group_id, share, epoch)
    turn.write(TargetEpochReached(group_id, epoch, ""))
    if seats and plan.rebalances:
        turn.move_epoch(turn.state.groups[group_id])
    turn.notices.append(notice)


def _share(state: Shard, holding: Holding) -> Share:
    target = to_ids(state, holding.synced)
    return Share(holding, target, target if holding.using == holding.synced else to_ids(state, holding.using))


def _rebalances(state: Shard, group: ClassicGroup, shares: tuple[Share, ...]) -> bool:
    """O(what members hold): no partition has two holders, so that counting tells whether all have one."""
    if group.phase is not Phase.STABLE:
        return bool(group.members)
    wanted_topics: dict[tuple[TopicName, ...], frozenset[TopicId]] = {}
    owned = 0
    for share in shares:
        if share.held is not share.target:
            return True
        topics = share.holding.words.wants.topics
        topic_ids = wanted_topics.get(topics)
        if topic_ids is None:
            topic_ids = wanted_topics[topics] = topic_ids_of(state, frozenset(topics))
        if not {topic_id for topic_id, _ in share.held} <= topic_ids:
            return True
        owned += len(share.held)
    wanted = frozenset[TopicId]().union(*wanted_topics.values())
    return owned != sum(state.partition_counts[topic_id] for topic_id in wanted)


def _held_up(state: Shard, group: ClassicGroup) -> Named:
    """What the group has not handed out yet for the sake of a commit on its way."""
    flights = [state.flights[commit_id] for commit_id in group.draining if commit_id in state.flights]
    flying = frozenset[TopicIdPartition]().union(*(flight.partitions for flight in flights))
    return frozenset(
        TopicPartition(state.topics[one.topic_id].name, one.partition) for one in flying if one.topic_id in state.topics
    )


def _write_member(turn: Turn, group_id: GroupId, share: Share, epoch: int) -> None:
    member_id = share.holding.member.member_id
    current = Current(
        epoch=epoch, previous_epoch=epoch, state=MemberState.STABLE, assigned=dict.fromkeys(sorted(share.held), epoch)
    )
    # What it has before what it is to have: nothing of it was ever to be granted.
    turn.write(
        MemberSubscribed(group_id, _subscription(share.holding)),
        CurrentAssigned(group_id, member_id, current),
        TargetAssigned(group_id, member_id, share.target),
    )


def to_ids(state: Shard, partitions: Named) -> Partitions:
    """Partitions by topic id, without those that don't exist."""
    ids, counts = state.topic_ids, state.partition_counts
    return frozenset(
        [
            TopicIdPartition(topic_id, index)
            for name, index in partitions
            if (topic_id := ids.get(name)) is not None and 0 <= index < counts[topic_id]
        ]
    )


def _subscription(holding: Holding) -> Subscription:
    member, wants = holding.member, holding.words.wants
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
        protocol_name=holding.words.protocol_name,
        wants=holding.words.wants,
        epoch=epoch,
        generation=classic.generation_of(member_id),
        handed=holding.handed,
        using=holding.using,
        is_completing=holding.is_completing,
        session_deadline_ms=None if is_parked else state.deadlines.due.get(session_key(classic.group_id, member_id)),
        joining=joining,
        syncing=syncing,
    )


def take_order(turn: Turn, command: ConvertGroup) -> None:
    """Convert to consumer at once; to classic the seats of the translated members are needed first."""
    if command.to is GroupType.CONSUMER:
        _order_upgrade(turn, command)
        return
    fault = find_departure_fault(turn.state, command.group_id)
    if fault is not None:
        turn.reply(command.ref, fault)
    else:
        turn.notices.append(DowngradeDue(command.group_id, command.ref, command.is_dry_run))


def _order_upgrade(turn: Turn, command: ConvertGroup) -> None:
    plan = plan_upgrade(turn.state, command.group_id)
    if isinstance(plan, NotConverted):
        turn.reply(command.ref, plan)
        return
    if not command.is_dry_run:
        upgrade(turn, plan, ConversionCause.OPERATOR)
    converted = Converted(command.group_id, GroupType.CONSUMER, len(plan.group.members), plan.rebalances)
    turn.reply(command.ref, converted)
