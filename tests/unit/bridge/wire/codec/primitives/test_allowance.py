"""How much may be read of few bytes."""

import tracemalloc

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.primitives import (
    FREE_STRUCTS,
    STRUCT_BYTES,
    Allowance,
    AllowedBytes,
    TooMany,
    allow,
    compact_size_bytes,
    part_of,
)
from bridge.wire.codec.registry import decode_request
from bridge.wire.errors import TooManyElements
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.offsets import OffsetCommit, OffsetFetch

MIB = 1024 * 1024
FACTOR, FREE_BYTES = 48, 64 * 1024
"""What is promised: decoded, a body takes at most its size times the one, and the other."""
ALL_OF_IT = 10 * MIB
NAME, NO_TAGS = b"\x02g", b"\x00"
JOIN_START = NAME + bytes(8) + NAME + b"\x00" + NAME


def join(structs: int, padding: int = 0) -> bytes:
    """A JoinGroup v9 body with so many protocols of the least size, and as many bytes in its member id's metadata."""
    big = b"\x01" + compact_size_bytes(padding) + bytes(padding) + NO_TAGS
    return JOIN_START + compact_size_bytes(structs + 1) + b"\x01\x01\x00" * structs + big + b"\x00" + NO_TAGS


def heartbeat(partitions: int) -> bytes:
    """A ConsumerGroupHeartbeat v0 body that owns so many partitions of one topic."""
    owned = compact_size_bytes(partitions) + b"".join(number.to_bytes(4) for number in range(partitions)) + NO_TAGS
    start = NAME + NAME + bytes(4) + b"\x00\x00" + bytes(4) + b"\x00\x00"
    return start + compact_size_bytes(1) + bytes(16) + owned + NO_TAGS


def commit(partitions: int) -> bytes:
    """An OffsetCommit v9 body of one topic, partitions of the least size."""
    topic = b"\x02t" + compact_size_bytes(partitions) + (bytes(16) + b"\x01\x00") * partitions + NO_TAGS
    return NAME + bytes(4) + NAME + b"\x00" + compact_size_bytes(1) + topic + NO_TAGS


def topics(count: int, padding: int) -> bytes:
    """An OffsetFetch v8 body: empty topics, and one of a long list of partitions."""
    numbers = padding // 4
    long = b"\x02t" + compact_size_bytes(numbers) + bytes(4 * numbers) + NO_TAGS
    named = compact_size_bytes(count + 1) + b"\x01\x01\x00" * count + long
    return compact_size_bytes(1) + NAME + named + NO_TAGS + b"\x00" + NO_TAGS


MOST = MIB // STRUCT_BYTES
WORST = {
    "few tiny structs": (ApiKey.JOIN_GROUP, 9, join(FREE_STRUCTS - 1)),
    "tiny structs, padded": (ApiKey.JOIN_GROUP, 9, join(MOST - 1_000, MIB - 3 * MOST)),
    "owned partitions": (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, heartbeat(MIB // 4)),
    "committed partitions": (ApiKey.OFFSET_COMMIT, 9, commit(MIB // 18)),
    "tiny topics and many numbers": (ApiKey.OFFSET_FETCH, 8, topics(MOST - 1_000, MIB - 3 * MOST)),
}


@pytest.mark.parametrize("name", WORST)
def test_worst_bodies_take_no_more_memory_than_is_promised(name: str) -> None:
    """What bad input gets: bytes received, 64 KiB, and a factor that the documents state."""
    api_key, version, body = WORST[name]
    decode_request(api_key, version, body, elements_max=ALL_OF_IT)
    tracemalloc.start()
    decoded = decode_request(api_key, version, body, elements_max=ALL_OF_IT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(decoded, JoinGroup | ConsumerGroupHeartbeat | OffsetCommit | OffsetFetch)
    assert peak <= FACTOR * len(body) + FREE_BYTES


@pytest.mark.parametrize(
    ("api_key", "version", "body", "field"),
    [
        (ApiKey.JOIN_GROUP, 9, join(300_000), "protocols"),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, heartbeat(100_000), "topic_partitions[0].partitions"),
        (ApiKey.OFFSET_COMMIT, 9, commit(100_000), "topics[0].partitions"),
    ],
)
def test_request_with_more_elements_is_refused_before_they_are_read(
    api_key: int, version: int, body: bytes, field: str
) -> None:
    """One element too many for the limit, or structs too small for their number; nothing of them takes memory."""
    tracemalloc.start()
    with pytest.raises(TooManyElements) as caught:
        decode_request(api_key, version, body, elements_max=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.field == field
    assert peak <= len(body) + FREE_BYTES


def test_request_at_the_limit_is_read() -> None:
    """The limit itself is allowed: one topic and all but one of the elements."""
    decoded = decode_request(ApiKey.OFFSET_COMMIT, 9, commit(99_999), elements_max=100_000)
    assert isinstance(decoded, OffsetCommit)
    assert len(decoded.topics[0].partitions) == 99_999


def test_without_a_limit_all_is_read() -> None:
    """Answers of the broker, and tests."""
    decoded = decode_request(ApiKey.JOIN_GROUP, 9, join(3_000))
    assert isinstance(decoded, JoinGroup)
    assert len(decoded.protocols) == 3_001


def test_allowance_is_shared_by_all_arrays_of_a_body_and_its_parts() -> None:
    """What a tag holds counts too."""
    body = allow(bytes(80), 100)
    assert body.allowance == Allowance(elements=100, structs=FREE_STRUCTS + 10)
    part = part_of(body, 0, 40)
    assert isinstance(part, AllowedBytes)
    part.allowance.take(60, 0, are_structs=False)
    with pytest.raises(TooMany):
        body.allowance.take(41, 7, are_structs=False)
    assert type(part_of(b"plain", 0, 2)) is bytes
