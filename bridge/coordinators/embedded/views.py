"""What admins and fetching clients ask about groups: answered or forwarded, and merged in the order asked."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.classic_view import ClassicView
from bridge.coordinators.embedded.view_pieces import Look, ViewPieces, drawn
from bridge.coordinators.embedded.view_rights import (
    Seen,
    ask_what_is_seen,
    ask_which_may_not_be_read,
    ask_who_may_delete,
    ask_who_may_see_assignments,
    assigned_topics,
    hidden,
    is_known,
)
from bridge.coordinators.offset_requests import (
    allowed_groups,
    merge_delete,
    merge_fetch,
    name_missing,
    nothing_there,
    split_delete,
    to_memberless_fetch,
)
from bridge.engine.commands import GroupType
from bridge.engine.describe import ClassicSketch, describe_classic_view, describe_consumer_group, filter_of, list_groups
from bridge.engine.queries import group_type, judge_deletion, judge_offset_deletion, subscribed_topics
from bridge.engine.state import Shard
from bridge.session.contracts import BrokerAccess
from bridge.wire.apis import ApiKey
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
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
DescribedT = TypeVar("DescribedT", DescribedGroup, DescribedConsumerGroup)
MemberT = TypeVar("MemberT", DescribedMember, DescribedConsumerMember)
_UNDESCRIBED = "The group has described topic(s) that the client is not authorized to describe."
"""Kafka's own words."""
WITNESSES_MAX = 100
"""So many of the groups that the broker lists are asked about, to learn whether the client may DESCRIBE the cluster."""
ANSWER_BYTES_MAX = 33_554_432
"""How long an answer becomes before it names groups that are to be asked for again."""
MEMBER_BYTES, PARTITION_BYTES = 100, 4
VIEW_VERSION = 1
"""The version of the consumer protocol in the classic view: the first that says what a member has."""
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
        self.pieces = ViewPieces()
        self.coordinator_of: Callable[[GroupId], int | None] = lambda _: None
        """Says which broker stands for a group; None: unknown."""
        self._blobs = _Blobs()

    def submit(self, ref: RequestRef, via: BrokerAccess, request: ViewRequest, answer: Answer) -> None:
        """Answer one request, now or when the broker has answered its part."""
        match request:
            case DescribeGroups():
                self._describe(ref, via, request, answer)
            case ConsumerGroupDescribe():
                self._describe_consumer(ref, via, request, answer)
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

    def _describe(self, ref: RequestRef, via: BrokerAccess, request: DescribeGroups, answer: Answer) -> None:
        ours = tuple(filter(self._is_ours, dict.fromkeys(request.group_ids)))
        others = _without(request.group_ids, ours)
        knows = via.highest_version(ApiKey.DESCRIBE_GROUPS) is not None
        lacks = not knows and is_known(via)

        def show(group_id: GroupId, seen: Seen, sights: Mapping[GroupId, ErrorCode]) -> DescribedGroup:
            sight = sights[group_id]
            is_hidden = sight is ErrorCode.TOPIC_AUTHORIZATION_FAILED
            if sight is not ErrorCode.NONE and not is_hidden:
                return DescribedGroup(error=sight, group_id=group_id)
            # Kafka shows a group of KIP-848 members to nobody who asks like this.
            shown = _missing(group_id, request) if is_hidden else sketched.groups[group_id]
            return seen.with_operations(shown) if request.include_authorized_operations else shown

        def lost(group_id: GroupId) -> DescribedGroup:
            # A broker that can't describe groups has none: what it never heard of is dead (K6.1).
            if lacks:
                return _missing(group_id, request)
            return DescribedGroup(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, group_id=group_id)

        def merge(seen: Seen, sights: Mapping[GroupId, ErrorCode], reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, DescribeGroupsReply) else ()
            said = {group.group_id: group for group in found} | {one: show(one, seen, sights) for one in ours}
            groups = (said.get(one) or lost(one) for one in request.group_ids)
            answer(DescribeGroupsReply(groups=within_room(groups, sketched.sizes)))

        def go_on(seen: Seen, sights: Mapping[GroupId, ErrorCode]) -> None:
            if others and knows:
                via.ask(ref, replace(request, group_ids=others), partial(merge, seen, sights))
            else:
                merge(seen, sights, None)

        sketched = _Sketched[DescribedGroup]()

        def look() -> Look:
            for group_id in ours:
                yield from self._sketch_view(group_id, request, sketched)
            self._ask_what_may_be_shown(ref, via, sketched.topics, go_on)

        self.pieces.begin(via.connection, look(), request, answer)

    def _sketch_view(self, group_id: GroupId, request: DescribeGroups, sketched: "_Sketched[DescribedGroup]") -> Look:
        """Both at the same moment: what is shown is what it is asked about whether it may be."""
        sketched.begin(group_id)
        _, named = describe_consumer_group(self._shard, group_id)
        view, members = self._view(group_id, request)
        yield from drawn(named, partial(sketched.name, group_id))
        shown = list[DescribedMember]()
        yield from drawn(sketched.weighed(group_id, members), shown.append)
        sketched.groups[group_id] = replace(view, members=tuple(shown))

    def _ask_what_may_be_shown(
        self,
        ref: RequestRef,
        via: BrokerAccess,
        topics: Mapping[GroupId, Collection[TopicName]],
        take: Callable[[Seen, Mapping[GroupId, ErrorCode]], None],
    ) -> None:
        """Ask the broker of which groups, given with the topics that are assigned there, the client may see all, and
        hand on the code that refuses to show each.
        """
        ours = tuple(topics)

        def go_on(seen: Seen) -> None:
            refusals = {group_id: seen.refusal(group_id) for group_id in ours}
            shown = {one: tuple(topics[one]) for one in ours if refusals[one] is ErrorCode.NONE}
            ask_who_may_see_assignments(ref, via, shown, lambda sights: take(seen, refusals | dict(sights)))

        ask_what_is_seen(ref, via, ours, go_on)

    def _view(self, group_id: GroupId, request: DescribeGroups) -> ClassicSketch:
        if self._classic_view.is_one(group_id):
            return self._classic_view.described(describe_classic_view(self._shard, group_id, self._blobs))
        if request.errors_when_missing and group_type(self._shard, group_id) is GroupType.CONSUMER:
            return _missing(group_id, request), iter(())
        return describe_classic_view(self._shard, group_id, self._blobs)

    def _describe_consumer(
        self, ref: RequestRef, via: BrokerAccess, request: ConsumerGroupDescribe, answer: Answer
    ) -> None:
        ours = tuple(filter(self._is_ours, dict.fromkeys(request.group_ids)))
        others = _without(request.group_ids, ours)
        knows = via.highest_version(ApiKey.CONSUMER_GROUP_DESCRIBE) is not None
        # A broker without KIP-848 has no such groups: the tools then ask for a classic one (K6.5).
        lacks = not knows and is_known(via)
        missing = ErrorCode.GROUP_ID_NOT_FOUND if lacks else ErrorCode.COORDINATOR_NOT_AVAILABLE

        def show(group_id: GroupId, seen: Seen, sights: Mapping[GroupId, ErrorCode]) -> DescribedConsumerGroup:
            sight = sights[group_id]
            if sight is not ErrorCode.NONE:
                why = _UNDESCRIBED if sight is ErrorCode.TOPIC_AUTHORIZATION_FAILED else None
                return DescribedConsumerGroup(error=sight, group_id=group_id, error_message=why)
            shown = sketched.groups[group_id]
            return seen.with_operations(shown) if request.include_authorized_operations else shown

        def merge(seen: Seen, sights: Mapping[GroupId, ErrorCode], reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, ConsumerGroupDescribeReply) else ()
            said = {group.group_id: group for group in found} | {one: show(one, seen, sights) for one in ours}
            groups = (said.get(one) or DescribedConsumerGroup(error=missing, group_id=one) for one in request.group_ids)
            answer(ConsumerGroupDescribeReply(within_room(groups, sketched.sizes)))

        def go_on(seen: Seen, sights: Mapping[GroupId, ErrorCode]) -> None:
            if others and knows:
                via.ask(ref, replace(request, group_ids=others), partial(merge, seen, sights))
            else:
                merge(seen, sights, None)

        sketched = _Sketched[DescribedConsumerGroup]()

        def look() -> Look:
            for group_id in ours:
                yield from self._sketch_consumers(group_id, sketched)
            self._ask_what_may_be_shown(ref, via, sketched.topics, go_on)

        self.pieces.begin(via.connection, look(), request, answer)

    def _sketch_consumers(self, group_id: GroupId, sketched: "_Sketched[DescribedConsumerGroup]") -> Look:
        sketched.begin(group_id)
        described, members = describe_consumer_group(self._shard, group_id)
        shown = list[DescribedConsumerMember]()

        def take(member: DescribedConsumerMember) -> None:
            shown.append(member)
            sketched.name(group_id, member)

        yield from drawn(sketched.weighed(group_id, members), take)
        sketched.groups[group_id] = replace(described, members=tuple(shown))

    def _list(self, ref: RequestRef, via: BrokerAccess, request: ListGroups, answer: Answer) -> None:
        def merge(reply: GroupReply | None) -> None:
            if not isinstance(reply, ListGroupsReply):
                answer(ListGroupsReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, groups=()))
                return
            if reply.error is not ErrorCode.NONE:
                # A list without the broker's part would pass for a whole one.
                answer(reply)
                return
            self.pieces.begin(via.connection, self._find_listed(via, request, reply, take), request, answer)

        def take(reply: ListGroupsReply, theirs: tuple[ListedGroup, ...], ours: tuple[ListedGroup, ...]) -> None:
            witnesses = theirs[:WITNESSES_MAX] if ours else ()
            names = tuple(dict.fromkeys(group.group_id for group in (*ours, *witnesses)))
            ask_what_is_seen(ref, via, names, partial(show, reply, theirs, ours))

        def show(
            reply: ListGroupsReply, theirs: tuple[ListedGroup, ...], ours: tuple[ListedGroup, ...], seen: Seen
        ) -> None:
            if seen.shows_more_than(group.group_id for group in theirs[:WITNESSES_MAX]):
                answer(replace(reply, groups=theirs + ours))
                return
            refusals = {group.group_id: seen.refusal(group.group_id) for group in ours}
            if ErrorCode.COORDINATOR_NOT_AVAILABLE in refusals.values():
                answer(ListGroupsReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, groups=()))
                return
            shown = tuple(group for group in ours if refusals[group.group_id] is ErrorCode.NONE)
            answer(replace(reply, groups=theirs + shown))

        via.ask(ref, ListGroups(), merge)

    def _find_listed(
        self,
        via: BrokerAccess,
        request: ListGroups,
        reply: ListGroupsReply,
        take: Callable[[ListGroupsReply, tuple[ListedGroup, ...], tuple[ListedGroup, ...]], None],
    ) -> Look:
        """The broker's groups and ours that pass the client's filters, which were not sent on (decision 22)."""
        passes = filter_of(request)
        theirs, ours = list[ListedGroup](), list[ListedGroup]()

        def take_theirs(group: ListedGroup) -> None:
            if not self._is_ours(group.group_id) and passes(group):
                theirs.append(group)

        def take_ours(group: ListedGroup) -> None:
            # Which broker answers on the bootstrap listener is not known: nobody else may list them then.
            is_here = via.broker_id is None or self.coordinator_of(group.group_id) in (None, via.broker_id)
            if is_here and passes(shown := self._classic_view.listed(group)):
                ours.append(shown)

        yield from drawn(reply.groups, take_theirs)
        yield from drawn(list_groups(self._shard), take_ours)
        take(reply, tuple(theirs), tuple(ours))

    def _delete_groups(self, ref: RequestRef, via: BrokerAccess, request: DeleteGroups, answer: Answer) -> None:
        """The broker judges first, by deleting what it has of groups that may go; only then they are forgotten here."""
        if via.highest_version(ApiKey.DELETE_GROUPS) is None:
            # Their offsets would stay in the broker: half a deletion is none.
            missing = ErrorCode.UNSUPPORTED_VERSION if is_known(via) else ErrorCode.COORDINATOR_NOT_AVAILABLE
            codes = tuple(DeletedGroup(group_id, missing) for group_id in request.group_ids)
            answer(DeleteGroupsReply(groups=codes))
            return
        named = tuple(dict.fromkeys(request.group_ids))
        kept = {
            group_id: code
            for group_id in filter(self._is_ours, named)
            if (code := judge_deletion(self._shard, group_id)) is not ErrorCode.NONE
        }
        forwarded = tuple(group_id for group_id in named if group_id not in kept)

        def merge(refusals: Mapping[GroupId, ErrorCode], reply: GroupReply | None) -> None:
            found = reply.groups if isinstance(reply, DeleteGroupsReply) else ()
            theirs = {group.group_id: group.error for group in found}
            codes = {one: refusals[one] if refusals[one] is not ErrorCode.NONE else kept[one] for one in kept}
            groups = tuple(
                DeletedGroup(one, codes[one] if one in codes else self._delete_here(one, theirs)) for one in named
            )
            answer(DeleteGroupsReply(groups=groups))

        def go_on(refusals: Mapping[GroupId, ErrorCode]) -> None:
            if forwarded:
                via.ask(ref, DeleteGroups(forwarded), partial(merge, refusals))
            else:
                merge(refusals, None)

        ask_who_may_delete(ref, via, tuple(kept), go_on)

    def _delete_here(self, group_id: GroupId, theirs: Mapping[GroupId, ErrorCode]) -> ErrorCode:
        """Forget a group of which the broker has deleted what it had, and say what became of it."""
        at_broker = theirs.get(group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not self._is_ours(group_id) or at_broker not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            return at_broker
        # A group that never committed is unknown to the broker: there was nothing to delete there.
        here = self._delete(group_id)
        return here if at_broker is ErrorCode.GROUP_ID_NOT_FOUND else ErrorCode.NONE

    def _fetch(self, ref: RequestRef, via: BrokerAccess, request: OffsetFetch, answer: Answer) -> None:
        judged = tuple(self._check_fetch(group) for group in request.groups)
        refused = [
            group.group_id for group, code in zip(request.groups, judged, strict=True) if code is not ErrorCode.NONE
        ]

        def fetch(seen: Seen) -> None:
            # Who may not DESCRIBE a group is not told how it is with a member of it.
            codes = tuple(
                code
                if code is ErrorCode.NONE or seen.refusal(group.group_id) is ErrorCode.NONE
                else seen.refusal(group.group_id)
                for group, code in zip(request.groups, judged, strict=True)
            )
            allowed = to_memberless_fetch(allowed_groups(request, codes), self._catalog)

            def merge(reply: GroupReply | None) -> None:
                found = reply if isinstance(reply, OffsetFetchReply) else OffsetFetchReply(groups=())
                answer(merge_fetch(request, found, codes, self._catalog))

            if allowed.groups:
                via.ask(ref, allowed, merge)
            else:
                merge(OffsetFetchReply(groups=()))

        ask_what_is_seen(ref, via, tuple(dict.fromkeys(refused)), fetch)

    def _delete_offsets(self, ref: RequestRef, via: BrokerAccess, request: OffsetDelete, answer: Answer) -> None:
        code = judge_offset_deletion(self._shard, request.group_id)
        # What is answered here the broker is asked about first: whether the client may.
        asked = (request.group_id,) if self._is_ours(request.group_id) else ()

        def go_on(refusals: Mapping[GroupId, ErrorCode]) -> None:
            refusal = refusals.get(request.group_id, ErrorCode.NONE)
            if refusal is not ErrorCode.NONE:
                answer(OffsetDeleteReply(error=refusal))
            elif code is not ErrorCode.NONE and asked:
                answer(OffsetDeleteReply(error=code))
            else:
                self._delete_allowed_offsets(ref, via, request, answer)

        ask_who_may_delete(ref, via, asked, go_on)

    def _delete_allowed_offsets(
        self, ref: RequestRef, via: BrokerAccess, request: OffsetDelete, answer: Answer
    ) -> None:
        # Whether there is a group that nobody here has heard of, its broker knows, whatever is to be deleted of it.
        subscribed = subscribed_topics(self._shard, request.group_id) or frozenset()
        allowed, refused = split_delete(request, subscribed)

        def merge(unread: frozenset[TopicName], reply: GroupReply | None) -> None:
            if not isinstance(reply, OffsetDeleteReply):
                reply = OffsetDeleteReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
            elif reply.error is ErrorCode.GROUP_ID_NOT_FOUND and self._is_ours(request.group_id):
                # The group lives, but never committed: the broker has not heard of it.
                reply = nothing_there(allowed, self._catalog)
            answer(merge_delete(request, reply, hidden(name_missing(refused, self._catalog, by_id=False), unread)))

        def go_on(unread: frozenset[TopicName] | ErrorCode) -> None:
            if isinstance(unread, ErrorCode):
                answer(OffsetDeleteReply(error=unread))
            elif allowed.topics or not self._is_ours(request.group_id):
                via.ask(ref, allowed, partial(merge, unread))
            else:
                merge(unread, OffsetDeleteReply(error=ErrorCode.NONE))

        # Whoever may not READ a topic is not told whether a member of the group subscribes to it.
        ask_which_may_not_be_read(ref, via, request.group_id, tuple(dict.fromkeys(one.name for one in refused)), go_on)


def _without(group_ids: Iterable[GroupId], ours: Collection[GroupId]) -> tuple[GroupId, ...]:
    known = frozenset(ours)
    return tuple(group_id for group_id in group_ids if group_id not in known)


class _Sketched(Generic[DescribedT]):
    """Groups as they are shown, whatever becomes of them meanwhile; their topics, and how long they make an answer."""

    def __init__(self) -> None:
        self.groups: dict[GroupId, DescribedT] = {}
        self.topics: dict[GroupId, dict[TopicName, None]] = {}
        self.sizes: dict[GroupId, int] = {}

    def begin(self, group_id: GroupId) -> None:
        """Its members are drawn next."""
        self.topics[group_id] = {}
        self.sizes[group_id] = MEMBER_BYTES

    def name(self, group_id: GroupId, member: DescribedConsumerMember) -> None:
        """A member's topics are among those that whoever asks has to be allowed to see."""
        self.topics[group_id].update(dict.fromkeys(assigned_topics(member)))

    def weighed(self, group_id: GroupId, members: Iterator[MemberT]) -> Iterator[MemberT]:
        """The members of a group, each counted as it is drawn."""
        for member in members:
            self.sizes[group_id] += _size(member)
            yield member


def within_room(groups: Iterable[DescribedT], known_sizes: Mapping[GroupId, int]) -> tuple[DescribedT, ...]:
    """As many groups as one answer may have, one at least; the others are to be asked for again.

    Kafka answers a name as often as it is given: a group of one member with a megabyte of metadata, named 10,000 times,
    was an answer of 10 GB.
    """
    sizes: dict[GroupId, int] = {}
    shown, room = list[DescribedT](), ANSWER_BYTES_MAX
    for group in groups:
        size = sizes.get(group.group_id)
        if size is None:
            # One that may not be shown has no members here.
            known = known_sizes.get(group.group_id) if group.members else MEMBER_BYTES
            size = sizes[group.group_id] = known or MEMBER_BYTES + sum(map(_size, group.members))
        if room < size and shown:
            shown.append(_to_be_asked_again(group))
        else:
            shown.append(group)
            room -= size
    return tuple(shown)


def _to_be_asked_again(group: DescribedT) -> DescribedT:
    return replace(group, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, members=())


def _size(member: DescribedMember | DescribedConsumerMember) -> int:
    """How long a member makes an answer, more or less."""
    names = len(member.member_id) + len(member.client_id)
    if isinstance(member, DescribedMember):
        return MEMBER_BYTES + names + len(member.metadata) + len(member.assignment)
    topics = (*member.assignment, *member.target_assignment)
    parts = sum(len(topic.topic_name) + PARTITION_BYTES * len(topic.partitions) for topic in topics)
    said = len(member.subscribed_topic_regex or "") + len(member.rack_id or "")
    return MEMBER_BYTES + names + said + sum(map(len, member.subscribed_topic_names)) + parts


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
