"""The bridge's own ListOffsets, against kafka-python."""

from functools import partial

from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from bridge.wire.own_questions import LIST_OFFSETS_VERSION, end_offsets_request, read_end_offsets
from tests.support.oracle_frames import cut_short, is_malformed, request_bytes, response_bytes
from translators.dialects.ids import TopicName, TopicPartition

TOPIC = ListOffsetsRequest.ListOffsetsTopic
FOUND = ListOffsetsResponse.ListOffsetsTopicResponse


def at(topic: str, partition: int) -> TopicPartition:
    """A partition."""
    return TopicPartition(TopicName(topic), partition)


def answer() -> bytes:
    """Two partitions, one of them with an error."""
    partition = FOUND.ListOffsetsPartitionResponse
    version = LIST_OFFSETS_VERSION
    partitions = [
        partition(version=version, partition_index=0, error_code=0, timestamp=-1, offset=41),
        partition(version=version, partition_index=1, error_code=6, timestamp=-1, offset=-1),
    ]
    return response_bytes(
        ListOffsetsResponse(version=version, topics=[FOUND(version=version, name="a", partitions=partitions)])
    )


def test_request_asks_for_the_ends_in_order() -> None:
    """By topic, each once."""
    version = LIST_OFFSETS_VERSION
    partition = TOPIC.ListOffsetsPartition
    topics = [
        TOPIC(
            version=version,
            name=name,
            partitions=[partition(version=version, partition_index=one, timestamp=-1) for one in numbers],
        )
        for name, numbers in (("a", (0, 2)), ("b", (1,)))
    ]
    oracle = ListOffsetsRequest(version=version, replica_id=-1, topics=topics)
    made = end_offsets_request([at("b", 1), at("a", 2), at("a", 0)], "c")
    assert made == request_bytes(oracle, correlation_id=0, client_id="c")


def test_ends_are_read_and_errors_left_out() -> None:
    """A partition whose leader moved is asked for next time."""
    assert read_end_offsets(answer()) == {at("a", 0): 41}


def test_answer_that_is_cut_short_is_malformed() -> None:
    """At every byte."""
    assert [len(short) for short in cut_short(answer()) if not is_malformed(partial(read_end_offsets, short))] == []
