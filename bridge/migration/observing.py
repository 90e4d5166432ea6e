"""Makes observed groups of what a coordinator describes, and of what was heard of the same members here.

What a coordinator says of its members counts; what only a client says (library, timeouts, all its assignors) is added.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, UserData
from bridge.migration.route import Road
from translators.dialects.admin import DescribedGroup, DescribedMember, ListedGroup
from translators.dialects.classic import Protocol
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember
from translators.dialects.consumer_protocol import (
    CONSUMER,
    MalformedBlob,
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

CLASSIC_MEMBER = 0
"""What ConsumerGroupDescribe calls a member of the classic protocol; -1 where it does not say."""
_KINDS = {kind.value: kind for kind in GroupKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardGroup:
    """What was heard of one group here: its road, its members by id, and whether all would have been heard by now.

    Of a group that the bridge coordinates itself it is all there is to know, and `state` is told.
    """

    road: Road = Road.PASS
    protocol_type: str = CONSUMER
    state: str = ""
    assignor: str = ""
    members: Mapping[MemberId, ObservedMember] = field(default_factory=dict)
    is_long_enough: bool = False
    has_foreign_commits: bool = False


NOTHING_HEARD = HeardGroup()


def observe_heard(group_id: GroupId, heard: HeardGroup) -> ObservedGroup:
    """A group that nobody described: what was heard of it is all there is."""
    protocols = {member.protocol for member in heard.members.values()}
    kind = GroupKind.UNKNOWN
    if MemberProtocol.CONSUMER in protocols:
        kind = GroupKind.CONSUMER
    elif protocols:
        kind = GroupKind.CLASSIC
    members = (replace(member, is_behind_bridge=True) for member in heard.members.values())
    return ObservedGroup(
        group_id=group_id,
        road=heard.road,
        kind=kind,
        protocol_type=heard.protocol_type,
        state=heard.state,
        assignor=heard.assignor,
        members=_ordered(members),
        is_complete=heard.road is Road.EMBEDDED,
        has_foreign_commits=heard.has_foreign_commits,
    )


def observe_listed(listed: ListedGroup, heard: HeardGroup = NOTHING_HEARD) -> ObservedGroup:
    """A group that its coordinator lists and does not describe: a share or streams group, or one it keeps to itself."""
    seen = observe_heard(listed.group_id, heard)
    kind = _KINDS.get(listed.group_type.lower(), seen.kind)
    return replace(seen, kind=kind, protocol_type=listed.protocol_type, state=listed.group_state)


def observe_classic(listed: ListedGroup, found: DescribedGroup, heard: HeardGroup = NOTHING_HEARD) -> ObservedGroup:
    """A group as DescribeGroups has it; only what is listed where the answer is an error."""
    if found.error is not ErrorCode.NONE:
        return observe_listed(listed, heard)
    is_of_consumers = found.protocol_type == CONSUMER
    members = (
        _classic_member(member, found.protocol_data, heard, is_of_consumers=is_of_consumers) for member in found.members
    )
    return ObservedGroup(
        group_id=found.group_id,
        road=heard.road,
        kind=_KINDS.get(listed.group_type.lower(), GroupKind.CLASSIC),
        protocol_type=found.protocol_type or listed.protocol_type,
        state=found.group_state,
        assignor=found.protocol_data,
        members=_ordered(members),
        is_complete=True,
        has_foreign_commits=heard.has_foreign_commits,
    )


def observe_consumer(
    listed: ListedGroup, found: DescribedConsumerGroup, heard: HeardGroup = NOTHING_HEARD
) -> ObservedGroup:
    """A group as ConsumerGroupDescribe has it; only what is listed where the answer is an error."""
    if found.error is not ErrorCode.NONE:
        return observe_listed(listed, heard)
    return ObservedGroup(
        group_id=found.group_id,
        road=heard.road,
        kind=GroupKind.CONSUMER,
        state=found.group_state,
        assignor=found.assignor_name,
        members=_ordered(_consumer_member(member, heard) for member in found.members),
        is_complete=True,
        has_foreign_commits=heard.has_foreign_commits,
    )


def user_data_of(blob: bytes | None) -> UserData:
    """What an assignor put beside a subscription or assignment, as far as it can be read."""
    if not blob:
        return UserData.NONE
    return UserData.OPAQUE if decode_sticky_user_data(blob) is None else UserData.STICKY


def subscription_data_of(protocols: Iterable[Protocol], name: str) -> UserData:
    """What is beside the subscription that a client offers under a protocol, if it does."""
    for protocol in protocols:
        if protocol.name == name:
            try:
                return user_data_of(decode_subscription(protocol.metadata).user_data)
            except MalformedBlob:
                break
    return UserData.UNKNOWN


def _classic_member(
    found: DescribedMember, assignor: str, heard: HeardGroup, *, is_of_consumers: bool
) -> ObservedMember:
    known = heard.members.get(found.member_id)
    named = replace(
        known or ObservedMember(member_id=found.member_id, assignors=(assignor,) if assignor else ()),
        client_id=found.client_id,
        client_host=found.client_host.removeprefix("/"),
        instance_id=found.instance_id,
        protocol=MemberProtocol.CLASSIC,
        is_behind_bridge=_is_behind(known, heard),
    )
    if not is_of_consumers:
        return named
    try:
        subscription = _read_subscription(found.metadata)
        assignment = decode_assignment(found.assignment)
    except MalformedBlob:
        return replace(named, is_readable=False)
    if subscription is not None:
        named = replace(
            named,
            topics=tuple(sorted(subscription.topics)),
            subscription_data=user_data_of(subscription.user_data),
        )
    return replace(
        named,
        assignment_data=user_data_of(assignment.user_data),
        partition_count=len(assignment.partitions),
    )


def _read_subscription(blob: bytes) -> Subscription | None:
    """A coordinator shows no subscriptions while members join: then they are not known."""
    return decode_subscription(blob) if blob else None


def _consumer_member(found: DescribedConsumerMember, heard: HeardGroup) -> ObservedMember:
    known = heard.members.get(found.member_id)
    protocol = MemberProtocol.CLASSIC if found.member_type == CLASSIC_MEMBER else MemberProtocol.CONSUMER
    if known is not None and heard.road is Road.UPSTREAM:
        # To its broker the bridge speaks for it; what its client speaks was heard.
        protocol = known.protocol
    return replace(
        known or ObservedMember(member_id=found.member_id),
        client_id=found.client_id,
        client_host=found.client_host.removeprefix("/"),
        instance_id=found.instance_id,
        protocol=protocol,
        topics=tuple(sorted(found.subscribed_topic_names)),
        pattern=found.subscribed_topic_regex or None,
        is_behind_bridge=_is_behind(known, heard),
        partition_count=sum(len(topic.partitions) for topic in found.assignment),
    )


def _is_behind(known: ObservedMember | None, heard: HeardGroup) -> bool | None:
    """Who was heard is here; who was not, after everybody must have been, is not."""
    if known is not None:
        return True
    return False if heard.is_long_enough else None


def _ordered(members: Iterable[ObservedMember]) -> tuple[ObservedMember, ...]:
    return tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))
