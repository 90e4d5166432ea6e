"""Addresses in Metadata, FindCoordinator and DescribeCluster answers, against kafka-python for every version."""

from functools import partial

import pytest
from kafka.protocol.admin.cluster import DescribeClusterResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from bridge.wire.apis import ApiKey
from bridge.wire.endpoints import Endpoint, UnknownNode, brokers_in, carries_addresses, rewrite
from tests.support.oracle_frames import Message, cut_short, is_malformed, reframed, response_bytes

OLD = {1: ("broker-1.internal", 9092), 40: ("10.0.0.40", 9093), 7: ("b", 65_535)}
NEW = {1: ("bridge", 9101), 40: ("a-much-longer-name.bridge.example.com", 9140), 7: ("bücher.example", 1)}
LONG = {node: ("h" * 200, port) for node, (_, port) in OLD.items()}
ENDPOINTS = tuple(Endpoint(node, host, port) for node, (host, port) in OLD.items())

Addresses = dict[int, tuple[str, int]]


def _metadata(version: int, addresses: Addresses) -> Message:
    broker, topic = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    racks = {"rack": "r1"} if version >= 1 else {}
    partitions = [
        partition(version=version, partition_index=i, leader_id=1, replica_nodes=[1, 7], isr_nodes=[1])
        for i in range(3)
    ]
    message: Message = MetadataResponse(
        version=version,
        throttle_time_ms=3,
        brokers=[broker(version=version, node_id=n, host=h, port=p, **racks) for n, (h, p) in addresses.items()],
        cluster_id="c-1",
        controller_id=40,
        topics=[topic(version=version, name="orders", partitions=partitions)],
    )
    return message


def _find_coordinator(version: int, addresses: Addresses) -> Message:
    node, (host, port) = next(iter(addresses.items()))
    message: Message
    if version < 4:
        message = FindCoordinatorResponse(version=version, node_id=node, host=host, port=port)
        return message
    coordinator = FindCoordinatorResponse.Coordinator
    coordinators = [
        coordinator(version=version, key=f"g{n}", node_id=n, host=h, port=p) for n, (h, p) in addresses.items()
    ]
    lost = coordinator(version=version, key="lost", node_id=-1, host="", port=-1, error_code=15, error_message="no")
    message = FindCoordinatorResponse(version=version, coordinators=[*coordinators, lost])
    return message


def _describe_cluster(version: int, addresses: Addresses) -> Message:
    broker = DescribeClusterResponse.DescribeClusterBroker
    brokers = [broker(version=version, broker_id=n, host=h, port=p, rack=None) for n, (h, p) in addresses.items()]
    message: Message = DescribeClusterResponse(
        version=version, error_message=None, cluster_id="c-1", controller_id=40, brokers=brokers
    )
    return message


CASES = [
    *((ApiKey.METADATA, version) for version in range(14)),
    *((ApiKey.FIND_COORDINATOR, version) for version in range(7)),
    *((ApiKey.DESCRIBE_CLUSTER, version) for version in range(3)),
]
WRITERS = {
    ApiKey.METADATA: _metadata,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.DESCRIBE_CLUSTER: _describe_cluster,
}


def _frame(api_key: ApiKey, version: int, addresses: Addresses) -> bytes:
    return response_bytes(WRITERS[api_key](version, addresses))


def _named(api_key: ApiKey, version: int) -> tuple[Endpoint, ...]:
    return ENDPOINTS[:1] if api_key == ApiKey.FIND_COORDINATOR and version < 4 else ENDPOINTS


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_brokers_are_read_and_replaced_in_every_version(api_key: ApiKey, version: int) -> None:
    """The result is what kafka-python writes with the new addresses, byte for byte."""
    frame = _frame(api_key, version, OLD)
    assert brokers_in(api_key, version, frame) == _named(api_key, version)
    assert rewrite(api_key, version, frame, lambda _: NEW) == _frame(api_key, version, NEW)
    assert rewrite(api_key, version, frame, lambda _: LONG) == _frame(api_key, version, LONG)
    assert rewrite(api_key, version, memoryview(frame), lambda _: OLD) == frame


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_node_without_address_is_named(api_key: ApiKey, version: int) -> None:
    """A broker that appears later is learned, never thrown away."""
    with pytest.raises(UnknownNode) as caught:
        rewrite(api_key, version, _frame(api_key, version, OLD), lambda _: {40: ("x", 1)})
    assert caught.value.node_ids == ((1,) if len(_named(api_key, version)) == 1 else (1, 7))


@pytest.mark.parametrize("version", range(4))
def test_coordinator_that_was_not_found_stays_as_it_is(version: int) -> None:
    """Node -1, empty host, port -1."""
    frame = response_bytes(FindCoordinatorResponse(version=version, error_code=15, node_id=-1, host="", port=-1))
    assert brokers_in(ApiKey.FIND_COORDINATOR, version, frame) == ()
    assert rewrite(ApiKey.FIND_COORDINATOR, version, frame, lambda _: {}) == frame


def test_what_follows_the_brokers_is_not_read() -> None:
    """Unknown tags and newer fields survive, and cost does not grow with topics."""
    frame = _frame(ApiKey.METADATA, 12, OLD)
    odd = reframed(frame[4:] + b"\xff\xff\xff")
    assert rewrite(ApiKey.METADATA, 12, odd, lambda _: NEW) == reframed(
        _frame(ApiKey.METADATA, 12, NEW)[4:] + b"\xff\xff\xff"
    )


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_answer_cut_inside_the_brokers_is_refused(api_key: ApiKey, version: int) -> None:
    """Every cut either leaves all brokers readable or is malformed; never fewer brokers."""
    frame = _frame(api_key, version, OLD)
    verdicts = []
    for short in cut_short(frame):
        verdicts.append(is_malformed(partial(brokers_in, api_key, version, short)))
        if not verdicts[-1]:
            assert brokers_in(api_key, version, short) == _named(api_key, version)
    assert verdicts == sorted(verdicts, reverse=True)
    assert verdicts[:30] == [True] * 30 or api_key == ApiKey.FIND_COORDINATOR


def test_frame_that_is_not_as_long_as_it_says_is_refused() -> None:
    """Two frames at once, or a part of one."""
    frame = _frame(ApiKey.METADATA, 9, OLD)
    assert is_malformed(partial(brokers_in, ApiKey.METADATA, 9, frame[:-1]))
    assert is_malformed(partial(brokers_in, ApiKey.METADATA, 9, frame + b"\x00"))
    assert is_malformed(partial(brokers_in, ApiKey.METADATA, 9, b"\x00\x00"))


def test_only_answers_with_addresses_need_rewriting() -> None:
    """Everything else is relayed."""
    assert [carries_addresses(key, 0) for key, _ in CASES] == [True] * len(CASES)
    assert carries_addresses(ApiKey.FETCH, 16)
    assert not carries_addresses(ApiKey.FETCH, 15)
    assert not carries_addresses(ApiKey.LIST_OFFSETS, 7)
    frame = response_bytes(MetadataResponse(version=0))
    assert brokers_in(ApiKey.LIST_OFFSETS, 0, frame) == ()
