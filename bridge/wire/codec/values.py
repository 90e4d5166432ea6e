"""Small values that many APIs have on the wire: error codes, instance ids, topics of a commit, topic ids."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from bridge.wire.codec.record import Fields, Record
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, InstanceId, TopicId, TopicIdPartition, TopicName
from translators.dialects.offsets import CommittedPartition, CommittedTopic

_CODES: dict[int, ErrorCode] = {int(code): code for code in ErrorCode}


def error_code(record: Record) -> ErrorCode:
    """The error of a struct; a code that the dialects don't know reads as UNKNOWN_SERVER_ERROR."""
    return _CODES.get(record.number("error_code"), ErrorCode.UNKNOWN_SERVER_ERROR)


def instance_id(record: Record, name: str = "group_instance_id") -> InstanceId | None:
    """The static seat of a struct, None where there is none."""
    value = record.nullable_text(name)
    return None if value is None else InstanceId(value)


def topic_id_partitions(records: Sequence[Record]) -> frozenset[TopicIdPartition]:
    """Partitions by topic id, from their form on the wire."""
    return frozenset(
        TopicIdPartition(TopicId(each.blob("topic_id")), partition)
        for each in records
        for partition in each.numbers("partitions")
    )


def topic_id_fields(partitions: Iterable[TopicIdPartition]) -> list[Fields]:
    """Partitions by topic id, sorted, so that equal sets are equal bytes."""
    return [
        {"topic_id": topic_id, "partitions": [each.partition for each in group]}
        for topic_id, group in groupby(sorted(partitions), key=attrgetter("topic_id"))
    ]


def committed_topics(records: Sequence[Record]) -> tuple[CommittedTopic, ...]:
    """What became of topics, from their form in answers."""
    return tuple(
        CommittedTopic(
            name=TopicName(topic.text("name")),
            partitions=tuple(
                CommittedPartition(partition.number("partition_index"), error_code(partition))
                for partition in topic.records("partitions")
            ),
            topic_id=TopicId(topic.blob("topic_id")) if "topic_id" in topic else NO_TOPIC_ID,
        )
        for topic in records
    )


def committed_topic_fields(topics: Iterable[CommittedTopic]) -> list[Fields]:
    """What became of topics, as answers have it."""
    return [
        {
            "name": topic.name,
            "topic_id": topic.topic_id,
            "partitions": [
                {"partition_index": partition.partition, "error_code": partition.error}
                for partition in topic.partitions
            ],
        }
        for topic in topics
    ]
