"""The watcher's own Metadata, against kafka-python for every version."""

import uuid
from functools import partial

import pytest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from bridge.wire.apis import ApiKey
from bridge.wire.metadata import (
    ClusterMetadata,
    all_topics_request,
    metadata_version,
    read_metadata,
)
from bridge.wire.versions import VersionRange
from tests.support.oracle_frames import cut_short, is_malformed, reframed, request_bytes, response_bytes
from translators.dialects.ids import NO_TOPIC_ID, Topic, TopicId, TopicName

VERSIONS = range(14)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
MANY_REPLICAS = list(range(130))
MOCK_V11 = bytes.fromhex(
    "0000006500000005000000000004000000010a3132372e302e302e310000a5390000000000020a3132372e302e302e310000920f"
    "0000000000030a3132372e302e302e310000a09b0000186d6f636b436c7573746572313538353563373762343334000000000100"
    "00"
)
"""An answer of librdkafka 2.16's mock cluster, one byte too long."""


def _frame(version: int, partitions_by_topic: dict[str | None, list[list[int]]], error_code: int = 0) -> bytes:
    """An answer with these topics; each partition is given by its replicas."""
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    extra = {"topic_id": str(ID)} if version >= 10 else {}
    topics = [
        topic(
            version=version,
            error_code=error_code,
            name=name,
            partitions=[
                partition(version=version, partition_index=i, leader_id=1, replica_nodes=nodes, isr_nodes=nodes[:1])
                for i, nodes in enumerate(replicas)
            ],
            **extra,
        )
        for name, replicas in partitions_by_topic.items()
    ]
    broker = MetadataResponse.MetadataResponseBroker(version=version, node_id=1, host="b", port=9092)
    return response_bytes(
        MetadataResponse(version=version, brokers=[broker], cluster_id="c-1", controller_id=4, topics=topics)
    )


def _topic(version: int, name: str, partition_count: int) -> Topic:
    return Topic(TopicId(ID.bytes) if version >= 10 else NO_TOPIC_ID, TopicName(name), partition_count)


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_are_read_in_every_version(version: int) -> None:
    """Id from version 10 on, cluster id from 2, controller from 1; any number of replicas."""
    frame = _frame(version, {"orders": [[1, 2], MANY_REPLICAS, []], "empty": [], "sälja": [[1]] * 200})
    expected = ClusterMetadata(
        cluster_id="c-1" if version >= 2 else None,
        controller_id=4 if version >= 1 else -1,
        topics=(_topic(version, "orders", 3), _topic(version, "empty", 0), _topic(version, "sälja", 200)),
    )
    assert read_metadata(version, frame) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_with_errors_or_without_names_are_left_out(version: int) -> None:
    """A deleted topic, or one asked for by an id that is gone (version 12 on)."""
    assert read_metadata(version, _frame(version, {"orders": [[1]]}, error_code=5)).topics == ()
    if version >= 12:
        assert read_metadata(version, _frame(version, {None: [[1]], "orders": []})).topics == (
            _topic(version, "orders", 0),
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_cut_inside_the_topics_is_refused(version: int) -> None:
    """Never fewer topics or partitions than the broker has."""
    frame = _frame(version, {"orders": [[1, 2]] * 3, "b": [[1]]})
    for short in cut_short(frame):
        if not is_malformed(partial(read_metadata, version, short)):
            assert read_metadata(version, short).topics == read_metadata(version, frame).topics
    assert is_malformed(partial(read_metadata, version, reframed(frame[4:-13])))
    assert is_malformed(partial(read_metadata, version, frame[:-1]))


def test_byte_too_many_behind_the_topics_is_passed_over() -> None:
    """The mock cluster's answers from version 9 on end with one."""
    assert read_metadata(11, MOCK_V11) == ClusterMetadata(
        cluster_id="mockCluster15855c77b434", controller_id=0, topics=()
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_request_for_all_topics_is_as_kafka_python_writes_it(version: int) -> None:
    """Null for all topics, but an empty array in version 0; no topic is created by asking."""
    extra = {"allow_auto_topic_creation": False} if version >= 4 else {}
    message = MetadataRequest(version=version, topics=[] if version == 0 else None, **extra)
    assert all_topics_request(version, 7, "bridge") == request_bytes(message, client_id="bridge")


def test_version_asked_is_the_brokers_up_to_12() -> None:
    """A broker that doesn't say is asked with version 0."""
    assert metadata_version({ApiKey.METADATA: VersionRange(0, 13)}) == 12
    assert metadata_version({ApiKey.METADATA: VersionRange(0, 5)}) == 5
    assert metadata_version({}) == 0
