"""What an operator may have done to a group: members removed, and its kind changed."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial

import trio

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.commands import ConvertGroup, GroupType
from bridge.engine.outcome import Converted, GroupUpgraded, Outcome
from bridge.engine.queries import group_type
from bridge.engine.recovery import condense
from bridge.engine.state import NO_PARTITIONS, Shard
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember
from translators.dialects.ids import (
    NO_MEMBER_ID,
    NOWHERE,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    TopicPartition,
)

NOTHING: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPreview:
    """One member: what it would lose and gain; it has to join again exactly if it would do either."""

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    loses: frozenset[TopicPartition] = field(default=NOTHING)
    gains: frozenset[TopicPartition] = field(default=NOTHING)


def preview_upgrade(copied: Shard, catalog: Catalog, group_id: GroupId, now_ms: int) -> tuple[MemberPreview, ...]:
    """What it would mean to the members of a classic group that it becomes a consumer group; nothing if it can't.

    It converts the copy, which may take long and touches nothing else: any thread may do it.
    """
    order = ConvertGroup(ref=MemberRef(group_id, NO_MEMBER_ID), group_id=group_id, to=GroupType.CONSUMER)
    outcome = advance(copied, [order], now_ms)
    return tuple(_previews(copied, catalog, group_id, outcome))


def list_members(shard: Shard, group_id: GroupId) -> tuple[MemberPreview, ...]:
    """The members of a consumer group, to whom turning classic means nothing by itself."""
    group = shard.groups.get(group_id)
    if group is None:
        return ()
    subscriptions = (member.subscription for member in group.members.values())
    return tuple(
        MemberPreview(member_id=one.member_id, instance_id=one.instance_id, identity=one.identity)
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


def _previews(copied: Shard, catalog: Catalog, group_id: GroupId, outcome: Outcome) -> Iterator[MemberPreview]:
    for notice in outcome.notices:
        if not isinstance(notice, GroupUpgraded):
            continue
        target = copied.groups[group_id].target
        for seat in notice.seats:
            member = seat.member
            wanted = catalog.to_names(target.get(member.member_id, NO_PARTITIONS))
            yield MemberPreview(
                member_id=member.member_id,
                instance_id=member.instance_id,
                identity=member.identity,
                loses=seat.handed - wanted,
                gains=wanted - seat.handed,
            )


OPERATOR = ClientIdentity(client_id="epochbridge-operator", client_host="")
_UNAVAILABLE = "the bridge can't do it at the moment: it is starting, or its journal can't be written; try again soon"
REASON = "removed by an operator"
AT_ONCE_MAX = 500
"""Members for whom looking ahead is shorter than a thread is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConversion:
    """What became of a group, or would: `refusal` says why it stays what it is, "" if it does not.

    With `disturbs_all` everybody has to join again, and their leader says who gets what.
    """

    refusal: str
    members: tuple[MemberPreview, ...] = ()
    disturbs_all: bool = False


class Operators:
    """Carries out what operators want; every method answers when it is done and durable."""

    def __init__(self, groups: EmbeddedGroups) -> None:
        self._groups = groups

    async def remove_members(
        self, group_id: GroupId, member_ids: Collection[MemberId], instance_ids: Collection[InstanceId]
    ) -> LeaveGroupReply | None:
        """Let members leave by their ids or by their seats (KIP-345); None if there is no such group.

        A client that still runs hears that it is no member any more, and joins again.
        """
        entries = [LeavingMember(member_id=member_id, reason=REASON) for member_id in member_ids]
        entries += [LeavingMember(member_id=NO_MEMBER_ID, instance_id=name, reason=REASON) for name in instance_ids]
        return await self._remove(group_id, tuple(entries))

    async def remove_all_members(self, group_id: GroupId) -> LeaveGroupReply | None:
        """Let everybody leave who is in the group at this moment; None if there is no such group."""
        return await self._remove(group_id, everybody(self._groups.owner.shard, group_id))

    async def convert(self, group_id: GroupId, to: GroupType, *, is_dry_run: bool) -> GroupConversion | None:
        """Make a group one of the other kind, or only say what would happen; None if there is no such group."""
        owner = self._groups.owner
        if group_type(owner.shard, group_id) is None:
            return None
        if to is GroupType.CONSUMER:
            copied = copy_group(owner.shard, group_id)
            look = partial(preview_upgrade, copied, owner.catalog, group_id, self._groups.now_ms())
            count = sum(len(group.members) for group in copied.classic_groups.values())
            members = await trio.to_thread.run_sync(look) if count > AT_ONCE_MAX else look()
        else:
            members = list_members(owner.shard, group_id)
        verdict = await self._groups.convert(group_id, to, is_dry_run=is_dry_run)
        if isinstance(verdict, Converted):
            return GroupConversion(
                refusal="", members=members, disturbs_all=to is GroupType.CLASSIC and verdict.rebalances
            )
        return GroupConversion(refusal=_UNAVAILABLE if verdict is None else verdict.text)

    async def _remove(self, group_id: GroupId, entries: tuple[LeavingMember, ...]) -> LeaveGroupReply | None:
        if group_type(self._groups.owner.shard, group_id) is None:
            return None
        request = LeaveGroup(group_id=group_id, members=entries)
        reply = await self._groups.own.ask(lambda ref: self._groups.submit(ref, OPERATOR, NOWHERE, request))
        assert isinstance(reply, LeaveGroupReply), reply
        return reply


def everybody(shard: Shard, group_id: GroupId) -> tuple[LeavingMember, ...]:
    """Every seat of a group by its member id, also that of a static member that is away for a moment."""
    classic, consumer = shard.classic_groups.get(group_id), shard.groups.get(group_id)
    seats: list[tuple[MemberId, InstanceId | None]] = []
    if classic is not None:
        seats = [(member.member_id, member.instance_id) for member in classic.members.values()]
    elif consumer is not None:
        seats = [(member_id, member.subscription.instance_id) for member_id, member in consumer.members.items()]
    return tuple(
        LeavingMember(member_id=member_id, instance_id=instance_id, reason=REASON) for member_id, instance_id in seats
    )
