"""Partitions that the cluster does not have, in commits and in refusals (K5.1)."""

from dataclasses import replace

import pytest

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.offset_requests import (
    find_missing,
    known_part,
    name_missing,
    nothing_there,
    refuse_commit,
    refuse_judged,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, Topic, TopicId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetDelete,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
)

SEEN = Topic(topic_id=TopicId(b"s" * 16), name=TopicName("seen"), partition_count=2)
NEVER = TopicName("never")


def catalog() -> Catalog:
    """One topic of two partitions."""
    known = Catalog()
    known.begin_with([SEEN])
    return known


def commit_of(*places: tuple[str, int]) -> OffsetCommit:
    """A commit of these partitions."""
    return OffsetCommit(
        group_id=GroupId("g"),
        generation=1,
        member_id=MemberId("m"),
        instance_id=None,
        topics=tuple(
            TopicCommit(name=TopicName(name), partitions=(PartitionCommit(partition=number, offset=1),))
            for name, number in places
        ),
    )


def test_partition_that_was_seen_is_not_missing() -> None:
    """By name or by id."""
    assert find_missing(catalog(), SEEN.name, NO_TOPIC_ID, 1, by_id=False) is None
    assert find_missing(catalog(), TopicName(""), SEEN.topic_id, 0, by_id=True) is None


def test_partition_that_was_not_seen_has_the_code_of_what_is_unknown() -> None:
    """3 for a name or a number, 100 for an id."""
    assert find_missing(catalog(), SEEN.name, NO_TOPIC_ID, 2, by_id=False) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert find_missing(catalog(), SEEN.name, NO_TOPIC_ID, -1, by_id=False) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert find_missing(catalog(), NEVER, NO_TOPIC_ID, 0, by_id=False) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert find_missing(catalog(), TopicName(""), TopicId(b"n" * 16), 0, by_id=True) is ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("by_id", [False, True])
def test_who_names_topics_by_name_never_hears_of_ids(by_id: bool) -> None:
    """Whatever stands for the name, nothing too; and whoever names ids hears of them, of the id zero too."""
    expected = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for name, topic_id in ((NEVER, NO_TOPIC_ID), (TopicName(""), NO_TOPIC_ID), (TopicName(""), TopicId(b"n" * 16))):
        assert find_missing(catalog(), name, topic_id, 0, by_id=by_id) is expected
        refusal = (CommittedTopic(name=name, topic_id=topic_id, partitions=(CommittedPartition(0, ErrorCode.NONE),)),)
        (named,) = name_missing(refusal, catalog(), by_id=by_id)
        assert named.partitions == (CommittedPartition(0, expected),)


def test_nothing_is_missing_before_the_first_look() -> None:
    """A bridge that has just started knows no topic."""
    assert find_missing(Catalog(), NEVER, NO_TOPIC_ID, 0, by_id=False) is None
    assert known_part(commit_of((NEVER, 0)), Catalog()) == commit_of((NEVER, 0))


def test_group_judges_what_was_seen() -> None:
    """KafkaApis leaves out the rest before the coordinator is asked."""
    assert known_part(commit_of(("seen", 0), ("seen", 2), (NEVER, 0)), catalog()) == commit_of(("seen", 0))


def test_group_judges_all_when_nothing_was_seen() -> None:
    """The look may be older than the topic: nothing goes to the broker unjudged."""
    request = commit_of((NEVER, 0))
    assert known_part(request, catalog()) == request


def test_refusal_calls_missing_partitions_missing_and_first() -> None:
    """The group's code is for partitions that exist; Kafka turns the others away before it asks the group (4.3.1)."""
    refusal = refuse_commit(commit_of(("seen", 0), ("seen", 2), (NEVER, 1)), ErrorCode.UNKNOWN_MEMBER_ID)
    named = name_missing(refusal.topics, catalog(), by_id=False)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [(topic.name, [(item.partition, item.error) for item in topic.partitions]) for topic in named] == [
        ("seen", [(2, missing), (0, ErrorCode.UNKNOWN_MEMBER_ID)]),
        (NEVER, [(1, missing)]),
    ]


def test_unknown_topic_is_named_where_none_of_its_partitions_is() -> None:
    """And one that there is left out (4.3.1, K5.1)."""
    bare = tuple(TopicCommit(name=name, partitions=()) for name in (SEEN.name, NEVER))
    asked = replace(commit_of(("seen", 0)), topics=(*commit_of(("seen", 0)).topics, *bare))
    told = refuse_judged(asked, ErrorCode.UNKNOWN_MEMBER_ID, catalog())
    assert [(topic.name, len(topic.partitions)) for topic in told.topics] == [(NEVER, 0), ("seen", 1)]


def test_refusal_in_which_nothing_is_missing_is_told_as_it_was_asked() -> None:
    """A topic that is named twice is answered twice then, as by Kafka."""
    refusal = refuse_commit(commit_of(("seen", 1), ("seen", 0)), ErrorCode.UNKNOWN_MEMBER_ID)
    assert name_missing(refusal.topics, catalog(), by_id=False) == refusal.topics


def test_deletion_where_nothing_is_names_what_is_not_there() -> None:
    """An unknown topic also where none of its partitions is named, as on 4.3.1 (K5.22)."""
    asked = OffsetDelete(
        group_id=GroupId("g"),
        topics=(
            TopicOffsets(name=SEEN.name, partitions=(0, 2)),
            TopicOffsets(name=SEEN.name, partitions=()),
            TopicOffsets(name=NEVER, partitions=()),
        ),
    )
    told = nothing_there(asked, catalog())
    assert [(one.name, [(item.partition, item.error) for item in one.partitions]) for one in told.topics] == [
        (SEEN.name, [(2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (0, ErrorCode.NONE)]),
        (NEVER, []),
    ]
