"""What admins and fetching clients ask about groups: answered or forwarded, and merged in the order asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.classic_view import ClassicView
from bridge.coordinators.offset_requests import (
    allowed_groups,
    deleted_nothing,
    merge_delete,
    merge_fetch,
    name_missing,
    split_delete,
    to_memberless_fetch,
)
from bridge.engine.commands import GroupType
from bridge.engine.describe import describe_classic_view, describe_consumer_group, list_groups
from bridge.engine.queries import group_type, judge_offset_deletion, subscribed_topics
from bridge.engine.state import Shard
from bridge.session.contracts import BrokerAccess
from bridge.wire.apis import ApiKey
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, RequestRef, TopicName, TopicPartition
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import (
    GroupOffsets,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
)

Answer = Callable[[GroupReply], None]
Described = TypeVar("Described", DescribedGroup, DescribedConsumerGroup)
VIEW_VERSION = 1
"""The version of the consumer protocol in the classic view: the first that says what a member has."""
OPERATIONS_SINCE, OPERATIONS_UNTIL = 3, 5
"""The versions of DescribeGroups in which a broker says of every group, known to it or not, what one may do with it."""
ViewRequest = DescribeGroups | ListGroups | DeleteGroups | ConsumerGroupDescribe | OffsetFetch | OffsetDelete


class _Blobs:
    """Writes the blobs of the classic view."""

    def subscription(self, topics: tuple[TopicName, ...], owned: tuple[TopicPartition, ...]) -> bytes:
        shown = Subscription(version=VIEW_VERSION, topics=topics, owned=frozenset(owned), user_data=None)
        return encode_subscription(shown)

    def assignment(self, partitions: tuple[TopicPartition, ...]) -> bytes:
        return encode_assignment(frozenset(partitions), VIEW_VERSION)


class GroupViews:
    """The answers to everything but membership and commits.

    `delete` forgets a group that is empty, `check_fetch` judges who asks for offsets.
    """

    def __init__(
        self,
        shard: Shard,
        classic_view: ClassicView,
        catalog: Catalog,
        check_fetch: Callable[[GroupOffsets], ErrorCode],
        delete: Callable[[GroupId], ErrorCode],
    ) -> None:
        self._shard = shard
        self._classic_view = classic_view
        self._catalog = catalog
        self._check_fetch = check_fetch
        self._delete = delete
        self.coordinator_of: Callable[[GroupId], int | None] = lambda _: None
        """Says which broker stands for a group; None: unknown."""
        self._blobs = _Blobs()

    def submit(self, ref: RequestRef, via: BrokerAccess, request: ViewRequest, answer: Answer) -> None:
        """Answer one request, now or when the broker has answered its part."""
        match request:
            case DescribeGroups():
                self._describe(ref, via, request, self._with_operations(ref, via, request, answer))
            case ConsumerGroupDescribe():
                self._describe_consumer(ref, via, request, self._with_operations(ref, via, request, answer))
            case ListGroups():
                self._list(ref, via, request, answer)
            case DeleteGroups():
                self._delete_groups(ref, via, request, answer)
            case OffsetFetch():
                self._fetch(ref, via, request, answer)
            case OffsetDelete():
                self._delete_offsets(ref, via, request, answer)

    def _is_ours(self, group_id: GroupId) -> bool:
        return group_type(self._shard, group_id) is not None

    def _with_operations(
        self, ref: RequestRef, via: BrokerAccess, request: DescribeGroups | ConsumerGroupDescribe, answer: Answer
    ) -> Answer:
        """Answers what is said of our groups with what the client may do with them, if it wants to know.

        The broker says that, as it knows who asks and what that one was granted; what it does not say stays open.
        """
        ours = tuple(filter(self._is_ours, dict.fromkeys(request.group_ids)))
        version = min(via.highest_version(ApiKey.DESCRIBE_GROUPS) or 0, OPERATIONS_UNTIL)
        if not ours or not request.include_authorized_operations or version < OPERATIONS_SINCE:
            return answer

        def ask(reply: GroupReply) -> None:
            asked = DescribeGroups(group_ids=ours, include_authorized_operations=True)
            via.ask(ref, asked, lambda said: answer(_allowed(reply, said)), version)

        return ask

    def _describe(self, ref: RequestRef, via: BrokerAccess, request: DescribeGroups, answer: Answer) -> None:
        ours = {group_id: self._view(group_id, request) for group_id in request.group_ids if self._is_ours(group_id)}
        others = tuple(group_id for group_id in request.group_ids if group_id not in ours)

        def merge(reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, DescribeGroupsReply) else ()
            theirs = {group.group_id: group for group in found}
            groups = tuple(
                ours.get(group_id) or theirs.get(group_id) or lost(group_id) for group_id in request.group_ids
            )
            answer(DescribeGroupsReply(groups=groups))

        def lost(group_id: GroupId) -> DescribedGroup:
            # A broker that can't describe groups has none: what it never heard of is dead (K6.1).
            if not knows:
                return _missing(group_id, request)
            return DescribedGroup(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, group_id=group_id)

        knows = via.highest_version(ApiKey.DESCRIBE_GROUPS) is not None
        if others and knows:
            via.ask(ref, replace(request, group_ids=others), merge)
        else:
            merge(None)

    def _view(self, group_id: GroupId, request: DescribeGroups) -> DescribedGroup:
        if self._classic_view.is_one(group_id):
            return self._classic_view.described(describe_classic_view(self._shard, group_id, self._blobs))
        if request.errors_when_missing and group_type(self._shard, group_id) is GroupType.CONSUMER:
            return _missing(group_id, request)
        return describe_classic_view(self._shard, group_id, self._blobs)

    def _describe_consumer(
        self, ref: RequestRef, via: BrokerAccess, request: ConsumerGroupDescribe, answer: Answer
    ) -> None:
        ours = {
            group_id: describe_consumer_group(self._shard, group_id)
            for group_id in request.group_ids
            if self._is_ours(group_id)
        }
        others = tuple(group_id for group_id in request.group_ids if group_id not in ours)

        def merge(reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, ConsumerGroupDescribeReply) else ()
            theirs = {group.group_id: group for group in found}
            # A broker without KIP-848 has no such groups: the tools then ask for a classic one (K6.5).
            missing = ErrorCode.COORDINATOR_NOT_AVAILABLE if knows else ErrorCode.GROUP_ID_NOT_FOUND
            groups = tuple(
                ours.get(group_id) or theirs.get(group_id) or DescribedConsumerGroup(error=missing, group_id=group_id)
                for group_id in request.group_ids
            )
            answer(ConsumerGroupDescribeReply(groups))

        knows = via.highest_version(ApiKey.CONSUMER_GROUP_DESCRIBE) is not None
        if others and knows:
            via.ask(ref, replace(request, group_ids=others), merge)
        else:
            merge(None)

    def _list(self, ref: RequestRef, via: BrokerAccess, request: ListGroups, answer: Answer) -> None:
        def merge(reply: GroupReply | None) -> None:
            if not isinstance(reply, ListGroupsReply):
                answer(ListGroupsReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, groups=()))
                return
            theirs = tuple(
                group for group in reply.groups if not self._is_ours(group.group_id) and _passes(group, request)
            )
            ours = tuple(
                group
                for group in list_groups(self._shard, request, self._classic_view.listed)
                # Which broker answers on the bootstrap listener is not known: nobody else may list them then.
                if via.broker_id is None or self.coordinator_of(group.group_id) in (None, via.broker_id)
            )
            answer(replace(reply, groups=theirs + ours))

        via.ask(ref, ListGroups(), merge)

    def _delete_groups(self, ref: RequestRef, via: BrokerAccess, request: DeleteGroups, answer: Answer) -> None:
        if via.highest_version(ApiKey.DELETE_GROUPS) is None:
            # Their offsets would stay in the broker: half a deletion is none.
            codes = tuple(DeletedGroup(group_id, ErrorCode.UNSUPPORTED_VERSION) for group_id in request.group_ids)
            answer(DeleteGroupsReply(groups=codes))
            return
        named = dict.fromkeys(request.group_ids)
        ours = {group_id: self._delete(group_id) for group_id in named if self._is_ours(group_id)}
        forwarded = tuple(group_id for group_id in named if ours.get(group_id, ErrorCode.NONE) is ErrorCode.NONE)

        def merge(reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, DeleteGroupsReply) else ()
            theirs = {group.group_id: group.error for group in found}
            groups = tuple(DeletedGroup(group_id, _deleted(group_id, ours, theirs)) for group_id in named)
            answer(DeleteGroupsReply(groups=groups))

        if forwarded:
            via.ask(ref, DeleteGroups(forwarded), merge)
        else:
            merge(None)

    def _fetch(self, ref: RequestRef, via: BrokerAccess, request: OffsetFetch, answer: Answer) -> None:
        judged = tuple(self._check_fetch(group) for group in request.groups)
        allowed = to_memberless_fetch(allowed_groups(request, judged), self._catalog)

        def merge(reply: GroupReply | None) -> None:
            found = reply if isinstance(reply, OffsetFetchReply) else OffsetFetchReply(groups=())
            answer(merge_fetch(request, found, judged, self._catalog))

        if allowed.groups:
            via.ask(ref, allowed, merge)
        else:
            merge(OffsetFetchReply(groups=()))

    def _delete_offsets(self, ref: RequestRef, via: BrokerAccess, request: OffsetDelete, answer: Answer) -> None:
        code = judge_offset_deletion(self._shard, request.group_id)
        if code is not ErrorCode.NONE and self._is_ours(request.group_id):
            answer(OffsetDeleteReply(error=code))
            return
        # Whether there is a group that nobody here has heard of, its broker knows, whatever is to be deleted of it.
        subscribed = subscribed_topics(self._shard, request.group_id) or frozenset()
        allowed, refused = split_delete(request, subscribed)

        def merge(reply: GroupReply | None) -> None:
            if not isinstance(reply, OffsetDeleteReply):
                reply = OffsetDeleteReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
            elif reply.error is ErrorCode.GROUP_ID_NOT_FOUND and self._is_ours(request.group_id):
                # The group lives, but never committed: the broker has not heard of it.
                nothing = deleted_nothing(allowed)
                reply = replace(nothing, topics=name_missing(nothing.topics, self._catalog))
            answer(merge_delete(request, reply, name_missing(refused, self._catalog)))

        if allowed.topics or not self._is_ours(request.group_id):
            via.ask(ref, allowed, merge)
        else:
            merge(OffsetDeleteReply(error=ErrorCode.NONE))


def _allowed(reply: GroupReply, said: GroupReply | None) -> GroupReply:
    """The descriptions with the operations that the broker named; a group that is not shown has none, as in Kafka."""
    found = said.groups if isinstance(said, DescribeGroupsReply) else ()
    known = {group.group_id: group.authorized_operations for group in found if group.error is ErrorCode.NONE}
    match reply:
        case DescribeGroupsReply(groups=described):
            return replace(reply, groups=tuple(_with_known(group, known) for group in described))
        case ConsumerGroupDescribeReply(groups=shown):
            return replace(reply, groups=tuple(_with_known(group, known) for group in shown))
    return reply


def _with_known(group: Described, known: Mapping[GroupId, int]) -> Described:
    if group.error is not ErrorCode.NONE:
        return group
    return replace(group, authorized_operations=known.get(group.group_id, group.authorized_operations))


def _missing(group_id: GroupId, request: DescribeGroups) -> DescribedGroup:
    """No classic group, as the version asked has it (K6.1 with 11.4)."""
    if not request.errors_when_missing:
        return DescribedGroup(error=ErrorCode.NONE, group_id=group_id, group_state="Dead")
    return DescribedGroup(
        error=ErrorCode.GROUP_ID_NOT_FOUND,
        group_id=group_id,
        group_state="Dead",
        error_message=f"Group {quote(group_id)} is not a classic group.",
    )


def _passes(group: ListedGroup, request: ListGroups) -> bool:
    """Whether a group of the broker passes the client's filters, which were not sent on (decision 22)."""
    states = {state.strip().lower() for state in request.states}
    # Kafka trims the states that it is asked for, and takes the types as they come.
    types = {wanted.lower() for wanted in request.types}
    # Before version 5 brokers had one type of group and did not name it.
    group_type = group.group_type.lower() or "classic"
    return (not states or group.group_state.lower() in states) and (not types or group_type in types)


def _deleted(group_id: GroupId, ours: dict[GroupId, ErrorCode], theirs: dict[GroupId, ErrorCode]) -> ErrorCode:
    if group_id not in ours:
        return theirs.get(group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if ours[group_id] is not ErrorCode.NONE:
        return ours[group_id]
    at_broker = theirs.get(group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    # A group that never committed is unknown to the broker: there was nothing to delete there.
    return ErrorCode.NONE if at_broker is ErrorCode.GROUP_ID_NOT_FOUND else at_broker
