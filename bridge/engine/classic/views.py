"""Classic groups as admins see them: DescribeGroups, ListGroups, what they subscribe to, and our own snapshot.

It must not know API versions.
"""

from dataclasses import dataclass

from bridge.engine.classic.group import ClassicGroup
from bridge.engine.classic.model import ClassicMember, Phase, metadata_of
from translators.dialects.admin import DescribedGroup, DescribedMember
from translators.dialects.consumer_protocol import MalformedBlob, decode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of those whose metadata says which topics they subscribe to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupSnapshot:
    """One classic group as our own API shows it: everybody, who waits, and who is waited for."""

    group_id: GroupId
    state: str
    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: MemberId | None
    members: tuple[ClassicMember, ...]
    joining: frozenset[MemberId]
    syncing: frozenset[MemberId]
    pending: frozenset[MemberId]
    is_draining: bool


def describe_classic_group(group: ClassicGroup) -> DescribedGroup:
    """One group for DescribeGroups: protocol and metadata only while Stable, the last assignments always (K6.2 with
    11.4).
    """
    protocol_name = group.roster.protocol_name if group.phase is Phase.STABLE else None
    return DescribedGroup(
        error=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.phase.value,
        protocol_type=group.roster.protocol_type,
        protocol_data=protocol_name or "",
        members=tuple(_describe_member(member, protocol_name) for member in group.members.values()),
    )


def subscribed_by(group: ClassicGroup) -> frozenset[TopicName] | None:
    """The topics that members of a consumer-type group wanted when its generation began; empty for other types.

    None if nobody can tell: no generation has begun, or a subscription can't be read (K1.39, K5.22).
    """
    if group.roster.protocol_type != CONSUMER_PROTOCOL_TYPE or not group.members:
        return frozenset()
    if group.subscriptions is None:
        return None
    topics: set[TopicName] = set()
    for subscription in group.subscriptions:
        try:
            topics.update(decode_subscription(subscription).topics)
        except MalformedBlob:
            return None
    return frozenset(topics)


def classic_snapshot(group: ClassicGroup) -> ClassicGroupSnapshot:
    """One group for our own API."""
    return ClassicGroupSnapshot(
        group_id=group.group_id,
        state=group.phase.value,
        generation=group.roster.generation,
        protocol_type=group.roster.protocol_type,
        protocol_name=group.roster.protocol_name,
        leader=group.roster.leader,
        members=tuple(group.members.values()),
        joining=frozenset(group.joining),
        syncing=frozenset(group.syncing),
        pending=frozenset(group.pending),
        is_draining=bool(group.draining),
    )


def _describe_member(member: ClassicMember, protocol_name: str | None) -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.identity.client_id,
        client_host=member.identity.shown_host,
        metadata=metadata_of(member, protocol_name),
        assignment=member.assignment,
    )
