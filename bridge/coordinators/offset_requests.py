"""Offset requests of embedded groups as the broker may see them: simple commits, memberless fetches, merged answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bridge.coordinators.catalog import Catalog
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicId, TopicName, TopicPartition
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
    TxnOffsetCommit,
)

Commit = OffsetCommit | TxnOffsetCommit
Refusals = Mapping[tuple[TopicName, TopicId, int], ErrorCode]
"""Codes of single partitions, by name and id of their topic."""
FOREIGN_MEMBER_CODES = frozenset(
    {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH}
)
"""What a broker says to a simple commit when it knows members of the group itself (decision 5)."""


def to_simple_commit(request: Commit, catalog: Catalog) -> Commit:
    """The commit without a member: generation -1, empty member id; topics carry both name and id where known.

    The broker's group has no members, so it accepts exactly this (K5.4, K5.9); with both names the message can be
    encoded at any version (decision 4).
    """
    complete = with_names_and_ids(request, catalog)
    return replace(complete, generation=-1, member_id=NO_MEMBER_ID, instance_id=None)


def with_names_and_ids(request: Commit, catalog: Catalog) -> Commit:
    """The commit with both names of each topic where they are known, so that it can be encoded at any version."""
    return replace(request, topics=tuple(_complete_commit(topic, catalog) for topic in request.topics))


def committed_partitions(request: Commit, catalog: Catalog) -> frozenset[TopicPartition]:
    """Every partition that the request commits, by name; topics of unknown ids are left out."""
    return frozenset(
        TopicPartition(name, item.partition)
        for topic in request.topics
        if (name := catalog.name_for(topic.name, topic.topic_id))
        for item in topic.partitions
    )


def refuse_commit(request: Commit, code: ErrorCode) -> OffsetCommitReply:
    """The same code for every partition of the request (K5.2); a topic of which none is named is left out, as by
    Kafka before it looks at anything else (K5.1).
    """
    return OffsetCommitReply(topics=tuple(topic for topic in _refused_topics(request, code) if topic.partitions))


def refuse_judged(request: Commit, code: ErrorCode, catalog: Catalog) -> OffsetCommitReply:
    """The same where the group has judged what there is of it: of the rest it is said that it is not there."""
    named = name_missing(_refused_topics(request, code), catalog, by_id=names_ids(request))
    return OffsetCommitReply(topics=named)


def _refused_topics(request: Commit, code: ErrorCode) -> Iterator[CommittedTopic]:
    for topic in request.topics:
        partitions = tuple(CommittedPartition(item.partition, code) for item in topic.partitions)
        yield CommittedTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def split_commit(simple: Commit, metadata_max: int) -> tuple[Commit, Refusals]:
    """What the broker is to be asked of a simple commit, and codes for texts that are longer than is kept (K5.1)."""
    refused = {
        (topic.name, topic.topic_id, item.partition): ErrorCode.OFFSET_METADATA_TOO_LARGE
        for topic in simple.topics
        for item in topic.partitions
        if _is_too_long(item, metadata_max)
    }
    if not refused:
        return simple, refused
    return without_long_texts(simple, metadata_max), refused


def without_long_texts(request: Commit, metadata_max: int) -> Commit:
    """What of a commit is not refused for its text alone: Kafka asks for the rest whether its member may commit it."""
    if not any(_is_too_long(item, metadata_max) for topic in request.topics for item in topic.partitions):
        return request
    kept = (
        replace(topic, partitions=tuple(item for item in topic.partitions if not _is_too_long(item, metadata_max)))
        for topic in request.topics
    )
    # Of a topic without partitions the broker says whether it is there.
    pairs = zip(request.topics, kept, strict=True)
    return replace(request, topics=tuple(topic for asked, topic in pairs if topic.partitions or not asked.partitions))


def merge_commit(simple: Commit, reply: OffsetCommitReply, refused: Refusals, metadata_max: int) -> OffsetCommitReply:
    """One answer to the simple commit in Kafka's order; `reply` is complete. What the broker left out is to come again.

    A partition that is named twice is answered twice, each entry for itself: of two texts one may be too long. Of a
    topic that the client may not see it hears that alone.
    """
    if not refused:
        return reply
    codes = {
        (topic.name, topic.topic_id, item.partition): item.error for topic in reply.topics for item in topic.partitions
    }
    closed = {place[:2] for place, code in codes.items() if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED}

    def code_of(topic: TopicCommit, item: PartitionCommit) -> ErrorCode:
        if (topic.name, topic.topic_id) in closed:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        place = (topic.name, topic.topic_id, item.partition)
        found = refused if _is_too_long(item, metadata_max) else codes
        return found.get(place, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    topics = (
        CommittedTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(CommittedPartition(item.partition, code_of(topic, item)) for item in topic.partitions),
        )
        for topic in simple.topics
    )
    return replace(reply, topics=front_door_first(topics, reply.topics))


_FRONT_DOOR_CODES = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED}
)
"""What Kafka says of a partition before it asks the group."""


def front_door_first(asked: Iterable[CommittedTopic], told: Iterable[CommittedTopic]) -> tuple[CommittedTopic, ...]:
    """The topics that were asked for, in the order of Kafka 4.3.1: what was turned away before the group was asked
    comes first, and each topic once then.

    One without partitions is left out, unless it was turned away itself: then `told`, the broker's answer, names it.
    """
    bare = {(topic.name, topic.topic_id) for topic in told if not topic.partitions}
    turned_away: list[CommittedTopic] = []
    judged: list[CommittedTopic] = []
    for topic in asked:
        first = tuple(item for item in topic.partitions if item.error in _FRONT_DOOR_CODES)
        others = tuple(item for item in topic.partitions if item.error not in _FRONT_DOOR_CODES)
        is_bare = not topic.partitions and (topic.name, topic.topic_id) in bare
        turned_away += [replace(topic, partitions=first)] if first or is_bare else []
        judged += [replace(topic, partitions=others)] if others else []
    return _each_once((*turned_away, *judged)) if turned_away else tuple(judged)


def _each_once(topics: Iterable[CommittedTopic]) -> tuple[CommittedTopic, ...]:
    merged: dict[tuple[TopicName, TopicId], tuple[CommittedTopic, list[CommittedPartition]]] = {}
    for topic in topics:
        merged.setdefault((topic.name, topic.topic_id), (topic, []))[1].extend(topic.partitions)
    return tuple(replace(first, partitions=tuple(partitions)) for first, partitions in merged.values())


def _is_too_long(item: PartitionCommit, metadata_max: int) -> bool:
    """Kafka counts characters as Java does, whatever the name of the setting says."""
    text = item.metadata or ""
    # No text has more of them than bytes in UTF-8, nor more than two a character.
    return 2 * len(text) > metadata_max and len(text.encode("utf-16-le")) // 2 > metadata_max


def complete_commit_reply(reply: OffsetCommitReply, catalog: Catalog) -> OffsetCommitReply:
    """The broker's answer with every topic's name and id, so that it can be encoded at any version."""
    topics = tuple(
        replace(
            topic,
            name=catalog.name_for(topic.name, topic.topic_id),
            topic_id=catalog.id_for(topic.name, topic.topic_id),
        )
        for topic in reply.topics
    )
    return replace(reply, topics=topics)


def has_foreign_members(reply: OffsetCommitReply) -> bool:
    """Whether the broker refused a simple commit because the group has members at the broker (decision 5)."""
    return any(item.error in FOREIGN_MEMBER_CODES for topic in reply.topics for item in topic.partitions)


def to_memberless_fetch(request: OffsetFetch, catalog: Catalog) -> OffsetFetch:
    """The fetch with null member id and epoch -1: the broker knows embedded groups as simple ones (decision 4)."""
    return replace(request, groups=tuple(_memberless(group, catalog) for group in request.groups))


def allowed_groups(request: OffsetFetch, judged: Sequence[ErrorCode]) -> OffsetFetch:
    """The fetch for the entries that were not refused; `judged` has a code for each, in order.

    A group may be there twice, asked for by members of different epochs: each entry stands for itself.
    """
    kept = zip(request.groups, judged, strict=True)
    return replace(request, groups=tuple(group for group, code in kept if code is ErrorCode.NONE))


def merge_fetch(
    request: OffsetFetch, reply: OffsetFetchReply, judged: Sequence[ErrorCode], catalog: Catalog
) -> OffsetFetchReply:
    """One answer in the order asked: the broker's groups, and the refused ones with their codes.

    Before version 8 the broker answers for the one group asked and does not name it. A group that it left out is to
    be asked again.
    """
    asked = allowed_groups(request, judged).groups
    answers: dict[GroupId, list[FetchedGroup]] = {}
    for group in reply.groups:
        named = group if len(asked) != 1 else replace(group, group_id=asked[0].group_id)
        answers.setdefault(named.group_id, []).append(_complete_fetched(named, catalog))
    waiting: dict[GroupId, Iterator[FetchedGroup]] = {name: iter(found) for name, found in answers.items()}

    def answer(group: GroupOffsets, code: ErrorCode) -> FetchedGroup:
        if code is not ErrorCode.NONE:
            return refuse_fetch(group, code)
        found = next(waiting.get(group.group_id, iter(())), None)
        return found or refuse_fetch(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    return replace(reply, groups=tuple(map(answer, request.groups, judged)))


def refuse_fetch(group: GroupOffsets, code: ErrorCode) -> FetchedGroup:
    """The code for one group, which version 1 can tell at its partitions only."""
    topics = tuple(
        FetchedTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(FetchedPartition(partition=number, offset=-1, error=code) for number in topic.partitions),
        )
        for topic in group.topics or ()
    )
    return FetchedGroup(group_id=group.group_id, topics=topics, error=code)


def split_delete(
    request: OffsetDelete, subscribed: frozenset[TopicName]
) -> tuple[OffsetDelete, tuple[CommittedTopic, ...]]:
    """What may be deleted, and the answers for topics that somebody is subscribed to (K5.22)."""
    allowed = tuple(topic for topic in request.topics if topic.name not in subscribed)
    refused = tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC) for partition in topic.partitions
            ),
        )
        for topic in request.topics
        if topic.name in subscribed
    )
    return replace(request, topics=allowed), refused


def merge_delete(
    request: OffsetDelete, reply: OffsetDeleteReply, refused: Iterable[CommittedTopic]
) -> OffsetDeleteReply:
    """One answer for the broker's topics and the refused ones; an error of the group stands alone."""
    if reply.error is not ErrorCode.NONE:
        return reply
    codes = {
        (topic.name, item.partition): item.error for topic in (*reply.topics, *refused) for item in topic.partitions
    }
    topics = (
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition, codes[topic.name, partition])
                for partition in topic.partitions
                if (topic.name, partition) in codes
            ),
        )
        for topic in request.topics
    )
    return replace(reply, topics=front_door_first(topics, reply.topics))


def nothing_there(request: OffsetDelete, catalog: Catalog) -> OffsetDeleteReply:
    """The answer where there was nothing to delete, which is no error (K5.22), as Kafka says it that has the group: a
    partition that is not there is called so, and so is a topic of which none is named.
    """
    topics = (
        CommittedTopic(
            name=topic.name,
            partitions=tuple(CommittedPartition(partition, ErrorCode.NONE) for partition in topic.partitions),
        )
        for topic in request.topics
    )
    return OffsetDeleteReply(error=ErrorCode.NONE, topics=name_missing(topics, catalog, by_id=False))


def _complete_commit(topic: TopicCommit, catalog: Catalog) -> TopicCommit:
    return replace(
        topic, name=catalog.name_for(topic.name, topic.topic_id), topic_id=catalog.id_for(topic.name, topic.topic_id)
    )


def _memberless(group: GroupOffsets, catalog: Catalog) -> GroupOffsets:
    topics = None if group.topics is None else tuple(_complete_wanted(topic, catalog) for topic in group.topics)
    return replace(group, member_id=None, member_epoch=-1, topics=topics)


def _complete_wanted(topic: TopicOffsets, catalog: Catalog) -> TopicOffsets:
    return replace(
        topic, name=catalog.name_for(topic.name, topic.topic_id), topic_id=catalog.id_for(topic.name, topic.topic_id)
    )


def _complete_fetched(group: FetchedGroup, catalog: Catalog) -> FetchedGroup:
    topics = tuple(
        replace(
            topic,
            name=catalog.name_for(topic.name, topic.topic_id),
            topic_id=catalog.id_for(topic.name, topic.topic_id),
        )
        for topic in group.topics
    )
    return replace(group, topics=topics)


def find_missing(
    catalog: Catalog, name: TopicName, topic_id: TopicId, partition: int, *, by_id: bool
) -> ErrorCode | None:
    """None for a partition that the last look saw, else the code for one that it did not see; None before any look.

    Who names topics by name never hears of ids, whatever it took for a name.
    """
    if not any(True for _ in catalog.names()):
        return None
    topic = catalog.topic(catalog.id_for(name, topic_id))
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    is_there = 0 <= partition < topic.partition_count
    return None if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def known_part(request: Commit, catalog: Catalog) -> Commit:
    """What of a commit is for its group to judge; all of it if the last look saw none of it, for that may be old."""
    by_id = names_ids(request)

    def is_known(topic: TopicCommit, item: PartitionCommit) -> bool:
        return find_missing(catalog, topic.name, topic.topic_id, item.partition, by_id=by_id) is None

    topics = (
        replace(topic, partitions=tuple(item for item in topic.partitions if is_known(topic, item)))
        for topic in request.topics
    )
    kept = tuple(topic for topic in topics if topic.partitions)
    return replace(request, topics=kept) if kept else request


def name_missing(topics: Iterable[CommittedTopic], catalog: Catalog, *, by_id: bool) -> tuple[CommittedTopic, ...]:
    """Refusals of our own, where a partition that was not seen is called so instead: those first, and each topic once
    then, as Kafka 4.3.1 does that turns them away at the front door. A topic without partitions is left out, unless it
    is turned away itself.
    """
    turned_away: list[CommittedTopic] = []
    judged: list[CommittedTopic] = []
    for topic in topics:
        items = [
            (item, find_missing(catalog, topic.name, topic.topic_id, item.partition, by_id=by_id))
            for item in topic.partitions
        ]
        missing = tuple(replace(item, error=code) for item, code in items if code is not None)
        there = tuple(item for item, code in items if code is None)
        is_unknown = not items and find_missing(catalog, topic.name, topic.topic_id, 0, by_id=by_id) is not None
        turned_away += [replace(topic, partitions=missing)] if missing or is_unknown else []
        judged += [replace(topic, partitions=there)] if there else []
    return _each_once((*turned_away, *judged)) if turned_away else tuple(judged)


def names_ids(request: Commit) -> bool:
    """Whether a commit names its topics by id."""
    return isinstance(request, OffsetCommit) and request.names_ids
