"""Error codes, seats and topics as many APIs have them."""

import pytest

from bridge.wire.codec.api import (
    Record,
    committed_topic_fields,
    committed_topics,
    error_code,
    instance_id,
    topic_id_fields,
    topic_id_partitions,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, InstanceId, TopicId, TopicIdPartition, TopicName
from translators.dialects.offsets import CommittedPartition, CommittedTopic

ONE, TWO = TopicId(bytes([1] * 16)), TopicId(bytes([2] * 16))


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (0, ErrorCode.NONE),
        (27, ErrorCode.REBALANCE_IN_PROGRESS),
        (-1, ErrorCode.UNKNOWN_SERVER_ERROR),
        (32000, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_error_code_is_known_or_unknown_server_error(number: int, code: ErrorCode) -> None:
    """A newer broker's code must not break a reply."""
    assert error_code(Record({"error_code": number})) is code


def test_seat_may_be_empty_or_none() -> None:
    """Both are kept as they are."""
    assert instance_id(Record({"group_instance_id": ""})) == InstanceId("")
    assert instance_id(Record({"instance_id": None}), "instance_id") is None


def test_partitions_by_id_go_out_sorted_and_come_back() -> None:
    """Equal sets are equal bytes."""
    owned = frozenset({TopicIdPartition(TWO, 0), TopicIdPartition(ONE, 9), TopicIdPartition(ONE, 2)})
    fields = topic_id_fields(owned)
    assert fields == [{"topic_id": ONE, "partitions": [2, 9]}, {"topic_id": TWO, "partitions": [0]}]
    assert topic_id_partitions([Record(each) for each in fields]) == owned


def test_committed_topics_come_back() -> None:
    """An api without topic ids has none."""
    topic = CommittedTopic(name=TopicName("t"), partitions=(CommittedPartition(1, ErrorCode.NONE),))
    (fields,) = committed_topic_fields([topic])
    partition = Record({"partition_index": 1, "error_code": 0})
    assert fields == {"name": "t", "topic_id": NO_TOPIC_ID, "partitions": [partition]}
    assert committed_topics([Record({"name": "t", "partitions": [partition]})]) == (topic,)
