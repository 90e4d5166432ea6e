"""The partitions of Fetch requests, against kafka-python for every version that is read."""

from functools import partial

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

from bridge.wire.fetch import (
    FIRST_VERSION,
    FIRST_WITH_SESSION,
    FIRST_WITH_TOPIC_ID,
    HIGHEST_VERSION,
    NamedPartitions,
    read_fetch,
)
from bridge.wire.frames import read_request_header
from tests.support.oracle_frames import cut_short, is_malformed, request_bytes
from translators.dialects.ids import TopicId, TopicIdPartition, TopicName, TopicPartition

UUID = "12345678-1234-1234-1234-123456789012"
TOPIC_ID = TopicId(bytes.fromhex(UUID.replace("-", "")))
VERSIONS = range(FIRST_VERSION, min(FetchRequest.max_version, HIGHEST_VERSION) + 1)
FRAME_BYTES_MAX = 1_000_000


def _frame(version: int, session: tuple[int, int] = (0, -1)) -> bytes:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition
    name = {"topic_id": UUID} if version >= FIRST_WITH_TOPIC_ID else {"topic": "orders"}
    partitions = [
        partition(version=version, partition=number, fetch_offset=7, partition_max_bytes=9) for number in (0, 3)
    ]
    request = FetchRequest(
        version=version,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1_000,
        isolation_level=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[topic(version=version, partitions=partitions, **name)],
        rack_id="rack",
    )
    return request_bytes(request)


def _read(frame: bytes, version: int) -> NamedPartitions | None:
    header = read_request_header(frame, FRAME_BYTES_MAX)
    assert header is not None
    assert header.api_version == version
    return read_fetch(version, frame, header.body_offset)


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_are_found_by_name_or_id(version: int) -> None:
    """Version 13 and later name topics by id (KIP-516)."""
    by_name = frozenset(TopicPartition(TopicName("orders"), number) for number in (0, 3))
    by_id = frozenset(TopicIdPartition(TOPIC_ID, number) for number in (0, 3))
    is_by_id = version >= FIRST_WITH_TOPIC_ID
    expected = NamedPartitions(frozenset() if is_by_id else by_name, by_id if is_by_id else frozenset(), False)
    assert _read(_frame(version), version) == expected


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= FIRST_WITH_SESSION])
def test_only_a_running_session_asks_for_more_than_it_names(version: int) -> None:
    """KIP-227: epoch 0 begins a session, -1 ends it, and without a session id there is none."""
    sessions = {(5, 2): True, (5, 0): False, (5, -1): False, (0, 0): False}
    found = {session: _read(_frame(version, session), version) for session in sessions}
    assert {session: named is not None and named.is_incremental for session, named in found.items()} == sessions


@pytest.mark.parametrize("version", [FIRST_VERSION, FIRST_WITH_SESSION, FIRST_WITH_TOPIC_ID])
def test_request_cut_short_is_malformed_or_lacks_only_its_end(version: int) -> None:
    """A frame that ends before its topics do is never read as one with fewer."""
    frame = _frame(version)
    whole = _read(frame, version)
    header = read_request_header(frame, FRAME_BYTES_MAX)
    assert header is not None
    cuts = [cut for cut in cut_short(frame) if len(cut) > header.body_offset]
    assert all(is_malformed(partial(_read, cut, version)) or _read(cut, version) == whole for cut in cuts)


def test_versions_without_known_form_are_not_read() -> None:
    """Older and newer ones pass unread."""
    assert read_fetch(FIRST_VERSION - 1, b"", 0) is None
    assert read_fetch(HIGHEST_VERSION + 1, b"", 0) is None
