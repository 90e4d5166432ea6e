"""The members of classic groups, run by their own leaders, in the words of the admin room."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from bridge.admin.contracts import MemberView, TopicPartitions
from bridge.engine.describe import ClassicGroupSnapshot
from bridge.engine.model import ClassicMember, Phase
from bridge.engine.queries import CONSUMER_PROTOCOL_TYPE
from translators.dialects.consumer_protocol import MalformedBlob, decode_assignment
from translators.dialects.ids import TopicPartition


def member_views(group: ClassicGroupSnapshot) -> tuple[MemberView, ...]:
    """Everybody in a group; what is assigned can be shown only where it is written as consumers write it."""
    return tuple(_view(group, member) for member in group.members)


def by_topic(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Partitions under their topics, all in order."""
    return tuple(
        TopicPartitions(topic, tuple(each.partition for each in group))
        for topic, group in groupby(sorted(partitions), key=attrgetter("topic"))
    )


def _view(group: ClassicGroupSnapshot, member: ClassicMember) -> MemberView:
    assigned = by_topic(_assigned(group, member))
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.identity.client_id,
        client_host=member.identity.client_host,
        library=member.identity.software_name,
        library_version=member.identity.software_version,
        protocol="classic",
        state=_state(group, member),
        generation=group.generation,
        member_epoch=None,
        assigned=assigned,
        target=assigned,
        pending_revocation=(),
    )


def _state(group: ClassicGroupSnapshot, member: ClassicMember) -> str:
    """What the member waits for, in the words for translated ones; else how the group stands."""
    if member.member_id in group.joining:
        return Phase.PREPARING_REBALANCE.value
    return Phase.COMPLETING_REBALANCE.value if member.member_id in group.syncing else group.state


def _assigned(group: ClassicGroupSnapshot, member: ClassicMember) -> frozenset[TopicPartition]:
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or not member.assignment:
        return frozenset()
    try:
        return decode_assignment(member.assignment).partitions
    except MalformedBlob:
        return frozenset()
