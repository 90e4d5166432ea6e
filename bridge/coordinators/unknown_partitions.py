"""Partitions that the cluster does not have: Kafka's front door names them before any group is asked (K5.1).

It must not know who may commit or delete, nor how a broker is asked.
"""

from collections.abc import Iterable
from dataclasses import replace

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.offset_requests import Commit
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicId, TopicName
from translators.dialects.offsets import CommittedPartition, CommittedTopic, TopicCommit


def find_missing(catalog: Catalog, name: TopicName, topic_id: TopicId, partition: int) -> ErrorCode | None:
    """None for a partition that the last look saw, else the code for one that it did not see; None before any look."""
    if not any(True for _ in catalog.names()):
        return None
    topic = catalog.topic(catalog.id_for(name, topic_id))
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name else ErrorCode.UNKNOWN_TOPIC_ID
    is_there = 0 <= partition < topic.partition_count
    return None if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def known_part(request: Commit, catalog: Catalog) -> Commit:
    """What of a commit is for its group to judge; all of it if the last look saw none of it, for that may be old."""
    kept = tuple(topic for one in request.topics if (topic := _known_topic(one, catalog)).partitions)
    return replace(request, topics=kept) if kept else request


def _known_topic(topic: TopicCommit, catalog: Catalog) -> TopicCommit:
    items = tuple(
        item for item in topic.partitions if find_missing(catalog, topic.name, topic.topic_id, item.partition) is None
    )
    return replace(topic, partitions=items)


def name_missing(topics: Iterable[CommittedTopic], catalog: Catalog) -> tuple[CommittedTopic, ...]:
    """Refusals of our own, where a partition that was not seen is called so instead."""
    return tuple(
        replace(topic, partitions=tuple(_named(topic, item, catalog) for item in topic.partitions)) for topic in topics
    )


def _named(topic: CommittedTopic, item: CommittedPartition, catalog: Catalog) -> CommittedPartition:
    code = find_missing(catalog, topic.name, topic.topic_id, item.partition)
    return item if code is None else replace(item, error=code)
