"""What the broker says of whoever asks about groups: which it may see, and what it may do with them.

It is asked with every such request, in its place and on the client's own connection: nobody asks often.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from bridge.session.contracts import BrokerAccess
from bridge.session.rights import NO_PARTITION, OPERATIONS_SINCE, OPERATIONS_UNTIL
from bridge.wire.apis import ApiKey
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef, TopicName
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import (
    CommittedTopic,
    FetchedGroup,
    GroupOffsets,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TopicOffsets,
)

DescribedT = TypeVar("DescribedT", DescribedGroup, DescribedConsumerGroup)
_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_UNDESCRIBED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OFFSET_DELETE_VERSION = 0
OFFSET_FETCH_UNTIL = 7
"""The last version that asks for one group; all of them name topics."""
_NOT_HEARD = ErrorCode.COORDINATOR_NOT_AVAILABLE


class Seen:
    """What the broker said of groups to the client that asks about them."""

    def __init__(self, groups: Mapping[GroupId, DescribedGroup] | None) -> None:
        self._groups = groups

    def refusal(self, group_id: GroupId) -> ErrorCode:
        """Why this client is not shown a group; NONE: it is. A broker without the API has nobody to hide one from."""
        if self._groups is None:
            return ErrorCode.NONE
        group = self._groups.get(group_id)
        if group is None:
            return _NOT_HEARD
        # Whatever else it says of a group, it says after it found that the client may DESCRIBE it.
        return _DENIED if group.error is _DENIED else ErrorCode.NONE

    def shows_more_than(self, listed: Iterable[GroupId]) -> bool:
        """Whether a broker lists a group that this client may not DESCRIBE: then it may DESCRIBE the cluster, and is
        shown all.
        """
        return any(self.refusal(group_id) is _DENIED for group_id in listed)

    def with_operations(self, shown: DescribedT) -> DescribedT:
        """A description with what the client may do with its group; one that is not shown has none, as in Kafka."""
        said = None if self._groups is None else self._groups.get(shown.group_id)
        if said is None or shown.error is not ErrorCode.NONE or said.error is not ErrorCode.NONE:
            return shown
        return replace(shown, authorized_operations=said.authorized_operations)


def ask_what_is_seen(
    ref: RequestRef, via: BrokerAccess, groups: Sequence[GroupId], take: Callable[[Seen], None]
) -> None:
    """Ask the broker which of these groups the client may DESCRIBE, and what it may do with them."""
    highest = via.highest_version(ApiKey.DESCRIBE_GROUPS)
    if highest is None or not groups:
        take(Seen(None if highest is None and is_known(via) else {}))
        return
    version = min(highest, OPERATIONS_UNTIL)
    asked = DescribeGroups(group_ids=tuple(groups), include_authorized_operations=version >= OPERATIONS_SINCE)

    def hear(reply: GroupReply | None) -> None:
        found = reply.groups if isinstance(reply, DescribeGroupsReply) else ()
        take(Seen({group.group_id: group for group in found}))

    via.ask(ref, asked, hear, version)


def ask_who_may_delete(
    ref: RequestRef, via: BrokerAccess, groups: Sequence[GroupId], take: Callable[[Mapping[GroupId, ErrorCode]], None]
) -> None:
    """Ask the broker of which of these groups the client may DELETE, by deleting no offsets of theirs: the code that
    refuses it for each, NONE where it may.
    """
    names = tuple(dict.fromkeys(groups))
    if not names or via.highest_version(ApiKey.OFFSET_DELETE) is None:
        take(dict.fromkeys(names, ErrorCode.NONE if is_known(via) else _NOT_HEARD))
        return
    codes: dict[GroupId, ErrorCode] = {}

    def hear(group_id: GroupId, reply: GroupReply | None) -> None:
        codes[group_id] = _refusal_in(reply) if isinstance(reply, OffsetDeleteReply) else _NOT_HEARD
        if len(codes) == len(names):
            take(codes)

    for name in names:
        via.ask(ref, OffsetDelete(group_id=name, topics=()), partial(hear, name), OFFSET_DELETE_VERSION)


def ask_which_may_not_be_read(
    ref: RequestRef,
    via: BrokerAccess,
    group_id: GroupId,
    topics: Sequence[TopicName],
    take: Callable[[frozenset[TopicName] | ErrorCode], None],
) -> None:
    """Ask the broker which of these topics the client may not READ, by deleting an offset of a partition that no topic
    has; a code where it does not say.
    """
    if not topics or via.highest_version(ApiKey.OFFSET_DELETE) is None:
        take(frozenset() if not topics or is_known(via) else _NOT_HEARD)
        return
    asked = tuple(TopicOffsets(name=name, partitions=(NO_PARTITION,)) for name in topics)

    def hear(reply: GroupReply | None) -> None:
        take(_unread_in(reply, frozenset(topics)) if isinstance(reply, OffsetDeleteReply) else _NOT_HEARD)

    via.ask(ref, OffsetDelete(group_id=group_id, topics=asked), hear, OFFSET_DELETE_VERSION)


def _unread_in(reply: OffsetDeleteReply, asked: frozenset[TopicName]) -> frozenset[TopicName] | ErrorCode:
    if reply.error is ErrorCode.GROUP_ID_NOT_FOUND:
        # The group never committed: of that the broker speaks before it says anything of topics.
        return frozenset()
    if reply.error is not ErrorCode.NONE:
        return reply.error
    if not asked <= {one.name for one in reply.topics}:
        return _NOT_HEARD
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return frozenset(one.name for one in reply.topics if any(item.error is denied for item in one.partitions))


def ask_who_may_see_assignments(
    ref: RequestRef,
    via: BrokerAccess,
    groups: Mapping[GroupId, Sequence[TopicName]],
    take: Callable[[Mapping[GroupId, ErrorCode]], None],
) -> None:
    """Ask the broker which of these groups have a topic that the client may not DESCRIBE, by fetching their offsets:
    the code that refuses to show each, NONE where all may be seen.
    """
    asked = {group_id: tuple(topics) for group_id, topics in groups.items() if topics}
    highest = via.highest_version(ApiKey.OFFSET_FETCH)
    if not asked or highest is None:
        take(dict.fromkeys(groups, ErrorCode.NONE if not asked or is_known(via) else _NOT_HEARD))
        return
    codes: dict[GroupId, ErrorCode] = {}

    def hear(group_id: GroupId, reply: GroupReply | None) -> None:
        found = reply.groups[0] if isinstance(reply, OffsetFetchReply) and reply.groups else None
        codes[group_id] = _NOT_HEARD if found is None else _sight_in(found, frozenset(asked[group_id]))
        if len(codes) == len(asked):
            take({one: codes.get(one, ErrorCode.NONE) for one in groups})

    for group_id, topics in asked.items():
        wanted = tuple(TopicOffsets(name=name, partitions=(0,)) for name in topics)
        question = OffsetFetch(groups=(GroupOffsets(group_id=group_id, topics=wanted),))
        via.ask(ref, question, partial(hear, group_id), min(highest, OFFSET_FETCH_UNTIL))


def _sight_in(found: FetchedGroup, asked: frozenset[TopicName]) -> ErrorCode:
    if found.error is not ErrorCode.NONE:
        return found.error
    if not asked <= {one.name for one in found.topics}:
        return _NOT_HEARD
    errors = {item.error for one in found.topics for item in one.partitions}
    return _UNDESCRIBED if _UNDESCRIBED in errors else ErrorCode.NONE


def assigned_topics(member: DescribedConsumerMember) -> Iterator[TopicName]:
    """The topics that a member has, or is to have: whoever may not DESCRIBE one is not shown its group."""
    return (part.topic_name for part in (*member.assignment, *member.target_assignment))


def is_known(via: BrokerAccess) -> bool:
    """Whether it is known what the broker speaks: an API that it seems to lack may only be not known of just now."""
    return via.highest_version(ApiKey.METADATA) is not None


def _refusal_in(reply: OffsetDeleteReply) -> ErrorCode:
    """Whatever else a broker says of a group, it says after it found that the client may DELETE it."""
    return _DENIED if reply.error is _DENIED else ErrorCode.NONE


def hidden(refused: Iterable[CommittedTopic], unread: Collection[TopicName]) -> tuple[CommittedTopic, ...]:
    """Refusals of ours, where those of topics that the client may not READ say just that."""
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return tuple(
        replace(one, partitions=tuple(replace(item, error=denied) for item in one.partitions))
        if one.name in unread
        else one
        for one in refused
    )
