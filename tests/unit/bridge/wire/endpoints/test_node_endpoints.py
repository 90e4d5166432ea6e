"""NodeEndpoints in answers to Produce and Fetch (KIP-951), against kafka-python for every version that has them.

Those to ShareFetch and ShareAcknowledge (KIP-932) are compared with kio's, because kafka-python has none.
"""

from functools import partial

import pytest
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.producer.produce import ProduceResponse

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import Endpoint, brokers_in, carries_node_endpoints, locate_node_endpoints, rewrite
from tests.support.oracle_frames import Message, cut_short, is_malformed, reframed, response_bytes
from tests.support.share_answers import share_answer

OLD = {2: ("broker-2.internal", 9092), 300: ("b", 1)}
NEW = {2: ("bridge", 9102), 300: ("h" * 150, 9400)}
ENDPOINTS = tuple(Endpoint(node, host, port) for node, (host, port) in OLD.items())
TAGGED = [
    *((ApiKey.PRODUCE, version) for version in range(10, 14)),
    *((ApiKey.FETCH, version) for version in range(16, 19)),
]
PLAIN = [(api_key, version) for api_key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE) for version in (1, 2)]
CASES = [*TAGGED, *PLAIN]

Addresses = dict[int, tuple[str, int]]


def _produce(version: int, addresses: Addresses) -> Message:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    error = partition.BatchIndexAndErrorMessage
    leader = partition.LeaderIdAndEpoch
    partitions = [
        partition(version=version, index=0, error_code=0, base_offset=5),
        partition(
            version=version,
            index=1,
            error_code=6,
            record_errors=[error(version=version, batch_index=3, batch_index_error_message="bad")],
            error_message="moved",
            current_leader=leader(version=version, leader_id=2, leader_epoch=9),
        ),
    ]
    names = {"topic_id": "12345678-1234-1234-1234-123456789012"} if version >= 13 else {"name": "orders"}
    endpoint = ProduceResponse.NodeEndpoint
    message: Message = ProduceResponse(
        version=version,
        responses=[topic(version=version, partition_responses=partitions, **names)],
        throttle_time_ms=4,
        node_endpoints=[
            endpoint(version=version, node_id=n, host=h, port=p, rack="r") for n, (h, p) in addresses.items()
        ],
    )
    return message


def _fetch(version: int, addresses: Addresses) -> Message:
    topic = FetchResponse.FetchableTopicResponse
    partition = topic.PartitionData
    aborted = partition.AbortedTransaction
    leader = partition.LeaderIdAndEpoch
    partitions = [
        partition(version=version, partition_index=0, high_watermark=9, records=b"\x00\xff" * 500),
        partition(
            version=version,
            partition_index=1,
            error_code=6,
            high_watermark=-1,
            aborted_transactions=[aborted(version=version, producer_id=4, first_offset=8)],
            current_leader=leader(version=version, leader_id=2, leader_epoch=9),
            records=None,
        ),
        partition(version=version, partition_index=2, high_watermark=0, aborted_transactions=None, records=b""),
    ]
    endpoint = FetchResponse.NodeEndpoint
    message: Message = FetchResponse(
        version=version,
        session_id=11,
        responses=[topic(version=version, topic_id="12345678-1234-1234-1234-123456789012", partitions=partitions)],
        node_endpoints=[
            endpoint(version=version, node_id=n, host=h, port=p, rack=None) for n, (h, p) in addresses.items()
        ],
    )
    return message


def _frame(api_key: ApiKey, version: int, addresses: Addresses) -> bytes:
    if (api_key, version) in PLAIN:
        return share_answer(api_key, version, addresses)
    return response_bytes((_produce if api_key == ApiKey.PRODUCE else _fetch)(version, addresses))


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_endpoints_are_replaced_and_leader_ids_stay(api_key: ApiKey, version: int) -> None:
    """The result is what kafka-python writes with the new addresses, so ids and endpoints agree."""
    frame = _frame(api_key, version, OLD)
    assert brokers_in(api_key, version, frame) == ENDPOINTS
    assert rewrite(api_key, version, frame, lambda _: NEW) == _frame(api_key, version, NEW)


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_answer_without_endpoints_is_not_copied(api_key: ApiKey, version: int) -> None:
    """The usual answer."""
    frame = _frame(api_key, version, {})
    assert brokers_in(api_key, version, frame) == ()
    assert rewrite(api_key, version, frame, lambda _: {}) is frame


@pytest.mark.parametrize(("api_key", "version"), TAGGED)
def test_unknown_tags_beside_the_endpoints_survive(api_key: ApiKey, version: int) -> None:
    """A newer broker may add tags behind tag 0."""
    old, new = _frame(api_key, version, OLD), _frame(api_key, version, NEW)
    bare = len(_frame(api_key, version, {})) - 1
    more = [reframed(frame[4:bare] + b"\x02" + frame[bare + 1 :] + b"\x09\x03abc") for frame in (old, new)]
    assert old[bare] == new[bare] == 1
    assert rewrite(api_key, version, more[0], lambda _: NEW) == more[1]


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_answer_cut_short_is_refused(api_key: ApiKey, version: int) -> None:
    """Every cut: what can't be walked to its end may hide an address."""
    for short in cut_short(_frame(api_key, version, OLD)):
        assert is_malformed(partial(brokers_in, api_key, version, short))


def test_tag_of_another_size_than_its_content_is_refused() -> None:
    """The size would be rewritten from the content; it has to be right before."""
    body = b"\x01" + b"\x00\x00\x00\x00" + b"\x01\x00\x03\x01\x00\x00"
    assert is_malformed(partial(locate_node_endpoints, ApiKey.PRODUCE, Cursor(body, 0, "x", 10, flexible=True)))


def test_first_versions_are_those_of_kip_951_and_932() -> None:
    """Produce 10, Fetch 16 and every version about share groups that Kafka 4.1 and later speak; nothing else."""
    assert all(carries_node_endpoints(api_key, version) for api_key, version in PLAIN)
    assert [carries_node_endpoints(ApiKey.PRODUCE, v) for v in (9, 10, 13)] == [False, True, True]
    assert [carries_node_endpoints(ApiKey.FETCH, v) for v in (15, 16, 18)] == [False, True, True]
    assert not carries_node_endpoints(ApiKey.METADATA, 13)
