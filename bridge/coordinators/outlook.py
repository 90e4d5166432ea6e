"""What a conversion would mean to each member of a group, found out by doing it to a copy.

It must not change the group itself, nor know who wants to see it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bridge.coordinators.catalog import Catalog
from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.commands import ConvertGroup, GroupType
from bridge.engine.condensing import condense
from bridge.engine.outcome import GroupUpgraded, Outcome
from bridge.engine.state import NO_PARTITIONS, Shard
from translators.dialects.ids import (
    NO_MEMBER_ID,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    TopicPartition,
)

NOTHING: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOutlook:
    """One member: what it would lose and gain; it has to join again exactly if it would do either."""

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    loses: frozenset[TopicPartition] = field(default=NOTHING)
    gains: frozenset[TopicPartition] = field(default=NOTHING)


def look_ahead(copied: Shard, catalog: Catalog, group_id: GroupId, now_ms: int) -> tuple[MemberOutlook, ...]:
    """What it would mean to the members of a classic group that it becomes a consumer group; nothing if it can't.

    It converts the copy, which may take long and touches nothing else: any thread may do it.
    """
    order = ConvertGroup(ref=MemberRef(group_id, NO_MEMBER_ID), group_id=group_id, to=GroupType.CONSUMER)
    outcome = advance(copied, [order], now_ms)
    return tuple(_outlooks(copied, catalog, group_id, outcome))


def list_members(shard: Shard, group_id: GroupId) -> tuple[MemberOutlook, ...]:
    """The members of a consumer group, to whom turning classic means nothing by itself."""
    group = shard.groups.get(group_id)
    if group is None:
        return ()
    subscriptions = (member.subscription for member in group.members.values())
    return tuple(
        MemberOutlook(member_id=one.member_id, instance_id=one.instance_id, identity=one.identity)
        for one in subscriptions
    )


def copy_group(shard: Shard, group_id: GroupId) -> Shard:
    """A shard with this group and all topics, and nothing that a copy could share with the original.

    A group in a rebalance is copied as it was before.
    """
    group = shard.classic_groups.get(group_id)
    part = Shard(
        settings=shard.settings,
        assignors=shard.assignors,
        topics=shard.topics,
        classic_groups={} if group is None else {group_id: group},
    )
    copied = Shard(settings=shard.settings, assignors=shard.assignors)
    for record in condense(part):
        apply(copied, record)
    return copied


def _outlooks(copied: Shard, catalog: Catalog, group_id: GroupId, outcome: Outcome) -> Iterator[MemberOutlook]:
    for notice in outcome.notices:
        if not isinstance(notice, GroupUpgraded):
            continue
        target = copied.groups[group_id].target
        for seat in notice.seats:
            member = seat.member
            wanted = catalog.to_names(target.get(member.member_id, NO_PARTITIONS))
            yield MemberOutlook(
                member_id=member.member_id,
                instance_id=member.instance_id,
                identity=member.identity,
                loses=seat.handed - wanted,
                gains=wanted - seat.handed,
            )
