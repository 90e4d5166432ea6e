"""Offset requests of embedded groups, as the broker sees them and as its answers come back.

It must not know how messages are encoded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.offset_requests import (
    allowed_groups,
    merge_commit,
    merge_delete,
    merge_fetch,
    refuse_commit,
    split_commit,
    split_delete,
)
from tests.support.work_done import growth_faults
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicName
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
)

ORDERS = GroupId("orders")
BILLS = GroupId("bills")
UNNAMED = GroupId("")
FETCHED = (FetchedTopic(name=TopicName("t"), partitions=(FetchedPartition(partition=0, offset=7),)),)


def asked(*group_ids: GroupId) -> OffsetFetch:
    """A fetch of all offsets of some groups."""
    return OffsetFetch(groups=tuple(GroupOffsets(group_id=group_id, topics=None) for group_id in group_ids))


def fetched(group_id: GroupId) -> FetchedGroup:
    """What the broker knows of a group."""
    return FetchedGroup(group_id=group_id, topics=FETCHED)


def test_answer_without_group_name_belongs_to_the_one_group_asked() -> None:
    """OffsetFetch before version 8 does not name the group in its answer (aiokafka sends version 3)."""
    reply = OffsetFetchReply(groups=(fetched(UNNAMED),))
    assert merge_fetch(asked(ORDERS), reply, (ErrorCode.NONE,), Catalog()).groups == (fetched(ORDERS),)


def test_batch_comes_back_in_the_order_asked_with_refused_groups_in_place() -> None:
    """A refused group is not asked for upstream, and still answered at its place (decision 22)."""
    reply = OffsetFetchReply(groups=(fetched(BILLS),))
    judged = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE)
    assert merge_fetch(asked(ORDERS, BILLS), reply, judged, Catalog()).groups == (
        FetchedGroup(group_id=ORDERS, topics=(), error=ErrorCode.STALE_MEMBER_EPOCH),
        fetched(BILLS),
    )


def test_group_without_a_name_takes_nobody_elses_answer() -> None:
    """From version 8 on every answer is named; a name may be empty and still is one."""
    reply = OffsetFetchReply(groups=(fetched(ORDERS), FetchedGroup(group_id=UNNAMED, topics=())))
    judged = (ErrorCode.NONE, ErrorCode.NONE)
    assert merge_fetch(asked(ORDERS, UNNAMED), reply, judged, Catalog()).groups == reply.groups


def test_group_that_is_asked_for_twice_is_judged_and_answered_twice() -> None:
    """Kafka 4.3.1: the entry with the stale epoch gets 113 and no offsets, the other one its own topics."""
    request = asked(ORDERS, BILLS, ORDERS, ORDERS)
    judged = (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE)
    assert [group.group_id for group in allowed_groups(request, judged).groups] == [ORDERS, BILLS, ORDERS]
    second = FetchedGroup(group_id=ORDERS, topics=())
    reply = OffsetFetchReply(groups=(fetched(ORDERS), fetched(BILLS), second))
    assert merge_fetch(request, reply, judged, Catalog()).groups == (
        fetched(ORDERS),
        fetched(BILLS),
        FetchedGroup(group_id=ORDERS, topics=(), error=ErrorCode.STALE_MEMBER_EPOCH),
        second,
    )


def commit_of(*texts: str | None) -> OffsetCommit:
    """A simple commit of one partition with each text, in two topics by turns."""
    items = [PartitionCommit(partition=number, offset=1, metadata=text) for number, text in enumerate(texts)]
    return OffsetCommit(
        group_id=ORDERS,
        generation=-1,
        member_id=MemberId(""),
        instance_id=None,
        topics=tuple(
            TopicCommit(name=TopicName(name), partitions=tuple(items[first::2]))
            for first, name in enumerate(("a", "b"))
        ),
    )


def codes_of(reply: OffsetCommitReply) -> list[tuple[str, int, ErrorCode]]:
    """Topic, partition and code, in the order answered."""
    return [(topic.name, item.partition, item.error) for topic in reply.topics for item in topic.partitions]


def test_commit_with_a_text_that_is_too_long_goes_without_it_and_is_answered_in_order() -> None:
    """12 for that partition alone; Java counts a character beyond the basic plane as two (K5.1)."""
    commit = commit_of("abcd", "abcde", "\U0001f600\U0001f600", "\U0001f600\U0001f600\U0001f600", None)
    asked_for, refused = split_commit(commit, 4)
    assert [(topic.name, [item.partition for item in topic.partitions]) for topic in asked_for.topics] == [
        ("a", [0, 2, 4])
    ]
    reply = refuse_commit(asked_for, ErrorCode.NONE)
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert codes_of(merge_commit(commit, reply, refused, 4)) == [
        *(("a", number, ErrorCode.NONE) for number in (0, 2, 4)),
        *(("b", number, too_large) for number in (1, 3)),
    ]
    lost = merge_commit(commit, OffsetCommitReply(topics=()), refused, 4)
    assert codes_of(lost)[0] == ("a", 0, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_commit_with_short_texts_is_left_as_it_is() -> None:
    """The usual one costs a look at each partition and no copy."""
    commit = commit_of("abcd", "")
    asked_for, refused = split_commit(commit, 4)
    reply = refuse_commit(commit, ErrorCode.NONE)
    assert asked_for is commit
    assert merge_commit(commit, reply, refused, 4) is reply


def test_partition_that_is_committed_twice_is_answered_twice() -> None:
    """Kafka 4.3.1: of two texts for one partition one may be too long, and the other offset lands."""
    items = (PartitionCommit(partition=0, offset=1, metadata="abcde"), PartitionCommit(partition=0, offset=2))
    commit = replace(commit_of(), topics=(TopicCommit(name=TopicName("a"), partitions=items),))
    asked_for, refused = split_commit(commit, 4)
    assert asked_for.topics[0].partitions == items[1:]
    reply = refuse_commit(asked_for, ErrorCode.NONE)
    assert codes_of(merge_commit(commit, reply, refused, 4)) == [
        ("a", 0, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("a", 0, ErrorCode.NONE),
    ]


def test_refused_commit_says_nothing_of_a_topic_without_partitions() -> None:
    """Kafka 4.3.1 leaves it out before it looks at who commits."""
    commit = commit_of("", "")
    bare = replace(commit.topics[1], partitions=())
    assert codes_of(refuse_commit(commit, ErrorCode.UNKNOWN_MEMBER_ID))[-1][0] == "b"
    told = refuse_commit(replace(commit, topics=(commit.topics[0], bare)), ErrorCode.UNKNOWN_MEMBER_ID)
    assert [topic.name for topic in told.topics] == ["a"]


def deleted(request: OffsetDelete) -> OffsetDeleteReply:
    """The broker deletes all of it."""
    topics = (
        CommittedTopic(
            name=topic.name,
            partitions=tuple(CommittedPartition(partition, ErrorCode.NONE) for partition in topic.partitions),
        )
        for topic in request.topics
        if topic.partitions
    )
    return OffsetDeleteReply(error=ErrorCode.NONE, topics=tuple(topics))


def deletion(*topics: tuple[str, tuple[int, ...]]) -> OffsetDelete:
    """An OffsetDelete of these partitions."""
    return OffsetDelete(
        group_id=ORDERS,
        topics=tuple(TopicOffsets(name=TopicName(name), partitions=partitions) for name, partitions in topics),
    )


def rows(topics: Iterable[CommittedTopic]) -> list[tuple[str, list[tuple[int, ErrorCode]]]]:
    """Topics with their partitions and codes, in order."""
    return [(topic.name, [(item.partition, item.error) for item in topic.partitions]) for topic in topics]


def test_deletion_of_a_topic_named_twice_is_answered_as_by_kafka() -> None:
    """Kafka 4.3.1: each entry for itself, without those that name no partition."""
    request = deletion(("a", (0, 0)), ("a", (1,)), ("b", ()), ("b", (0,)))
    allowed, refused = split_delete(request, frozenset({TopicName("a")}))
    none, subscribed = ErrorCode.NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert rows(merge_delete(request, deleted(allowed), refused).topics) == [
        ("a", [(0, subscribed), (0, subscribed)]),
        ("a", [(1, subscribed)]),
        ("b", [(0, none)]),
    ]


def test_deletion_with_a_partition_that_is_not_there_names_it_first_and_each_topic_once() -> None:
    """Kafka 4.3.1: its front door begins the answer, and the group's part is merged into it."""
    request = deletion(("a", (0,)), ("a", (9, 1)), ("b", (0,)))
    missing, none = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE
    found = (
        CommittedTopic(name=TopicName("a"), partitions=(CommittedPartition(9, missing),)),
        *deleted(deletion(("a", (0, 1)), ("b", (0,)))).topics,
    )
    assert rows(merge_delete(request, OffsetDeleteReply(error=none, topics=found), ()).topics) == [
        ("a", [(9, missing), (0, none), (1, none)]),
        ("b", [(0, none)]),
    ]


def test_deletion_of_nothing_in_a_topic_that_is_not_there_is_answered_with_its_name() -> None:
    """Kafka 4.3.1 adds the topic at its front door; of one that is there, nothing is said."""
    request = deletion(("a", (0,)), ("none", ()), ("b", ()))
    found = (CommittedTopic(name=TopicName("none"), partitions=()), *deleted(deletion(("a", (0,)))).topics)
    merged = merge_delete(request, OffsetDeleteReply(error=ErrorCode.NONE, topics=found), ())
    assert rows(merged.topics) == [("none", []), ("a", [(0, ErrorCode.NONE)])]


def test_a_topic_that_is_named_many_times_costs_what_is_named() -> None:
    """12,500 times one partition each: what came before was copied for each."""

    def merging(count: int) -> Callable[[], object]:
        request = deletion(*(("a", (number,)) for number in range(count)))
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        found = tuple(
            CommittedTopic(name=topic.name, partitions=tuple(CommittedPartition(one, code) for one in topic.partitions))
            for topic in request.topics
        )
        return partial(merge_delete, request, OffsetDeleteReply(error=ErrorCode.NONE, topics=found), ())

    assert not growth_faults([merging(count) for count in (200, 400, 800, 1_600)])


WORDY = "abcde"
MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE
CLOSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def asking(*topics: tuple[str, Mapping[int, str]]) -> OffsetCommit:
    """A commit of these topics, in this order, by the texts of their partitions."""
    return replace(
        commit_of(),
        topics=tuple(
            TopicCommit(
                name=TopicName(name),
                partitions=tuple(PartitionCommit(partition=number, offset=1, metadata=said[number]) for number in said),
            )
            for name, said in topics
        ),
    )


def front_door(asked_for: OffsetCommit, found: Mapping[tuple[str, int], ErrorCode]) -> OffsetCommitReply:
    """What a broker says that lets all others land: by topic, what it turns away first."""
    topics = refuse_commit(asked_for, ErrorCode.NONE).topics
    told = [
        (topic.name, replace(item, error=found.get((topic.name, item.partition), ErrorCode.NONE)))
        for topic in topics
        for item in topic.partitions
    ]
    told.sort(key=lambda one: one[1].error is ErrorCode.NONE)
    return OffsetCommitReply(topics=tuple(CommittedTopic(name=name, partitions=(item,)) for name, item in told))


def test_what_is_turned_away_at_the_front_door_comes_first_beside_a_text_that_is_too_long() -> None:
    """As in an answer that is the broker's alone: Kafka 4.3.1 gathers what does not exist, or is not to be seen, before
    it asks the group, and its word on the others comes behind, each topic once. A text is the group's to judge (K5.1).
    """
    commit = asking(
        ("a", {0: "", 9: "", 1: WORDY, 8: WORDY}),
        ("b", {0: "", 1: WORDY}),
        *(("c", {0: WORDY}), ("a", {2: ""})),
    )
    asked_for, refused = split_commit(commit, 4)
    assert isinstance(asked_for, OffsetCommit)
    refused = {**refused, (TopicName("a"), NO_TOPIC_ID, 8): MISSING}
    reply = front_door(asked_for, {("a", 9): MISSING, ("b", 0): CLOSED})
    merged = merge_commit(commit, reply, refused, 4)
    assert codes_of(merged) == [
        *(("a", 9, MISSING), ("a", 8, MISSING)),
        *(("a", 0, ErrorCode.NONE), ("a", 1, TOO_LARGE), ("a", 2, ErrorCode.NONE)),
        # A client that may not see a topic hears nothing else of it, however long its text is.
        *(("b", 0, CLOSED), ("b", 1, CLOSED)),
        ("c", 0, TOO_LARGE),
    ]
    assert [topic.name for topic in merged.topics] == ["a", "b", "c"]


def test_where_nothing_is_turned_away_a_topic_that_is_named_twice_is_answered_twice() -> None:
    """The group's word alone is handed on as it is (4.3.1)."""
    commit = asking(("a", {0: ""}), ("b", {0: WORDY}), ("a", {1: WORDY}))
    asked_for, refused = split_commit(commit, 4)
    assert isinstance(asked_for, OffsetCommit)
    merged = merge_commit(commit, front_door(asked_for, {}), refused, 4)
    assert codes_of(merged) == [("a", 0, ErrorCode.NONE), ("b", 0, TOO_LARGE), ("a", 1, TOO_LARGE)]
    assert [topic.name for topic in merged.topics] == ["a", "b", "a"]


def test_topic_of_which_nothing_is_committed_is_the_brokers_beside_a_text_that_is_too_long() -> None:
    """It is left out, or told of if it does not exist, as without that text (4.3.1)."""
    commit = asking(("there", {}), ("never", {}), ("b", {0: WORDY}))
    asked_for, refused = split_commit(commit, 4)
    assert [topic.name for topic in asked_for.topics] == ["there", "never"]
    reply = OffsetCommitReply(topics=(CommittedTopic(name=TopicName("never"), partitions=()),))
    assert [topic.name for topic in merge_commit(commit, reply, refused, 4).topics] == ["never", "b"]
