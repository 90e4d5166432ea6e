"""The bridge's own DescribeQuorum: requests and answers written by hand, as kafka-python does not know it."""

import struct
from functools import partial

from bridge.wire.apis import ApiKey
from bridge.wire.frames import response_frame
from bridge.wire.own_questions import DESCRIBE_QUORUM_VERSION, quorum_request, read_controller_time
from tests.support.oracle_frames import cut_short, is_malformed

TAGS = b"\x00"


def replica(node_id: int, fetched_ms: int) -> bytes:
    """One replica's state."""
    return struct.pack(">iqqq", node_id, 10, fetched_ms, fetched_ms) + TAGS


def answer(leader_id: int = 3, error: int = 0) -> bytes:
    """Leader 3 of two voters, an observer, and the time that each was last heard."""
    partition = struct.pack(">ihiiq", 0, 0, leader_id, 5, 10)
    partition += b"\x03" + replica(2, 900) + replica(3, 1_000) + b"\x02" + replica(9, 800) + TAGS
    topic = b"\x13__cluster_metadata"[:1] + b"__cluster_metadata" + b"\x02" + partition + TAGS
    body = struct.pack(">h", error) + (b"\x01" if error else b"\x02" + topic) + TAGS
    return response_frame(ApiKey.DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, 0, body)


def test_request_asks_for_the_metadata_quorum() -> None:
    """One topic with one partition, in the compact form of flexible versions."""
    assert quorum_request("c").endswith(b"\x02\x13__cluster_metadata\x02\x00\x00\x00\x00\x00\x00\x00")


def test_leader_tells_the_time() -> None:
    """Others tell when they were heard last."""
    assert read_controller_time(answer()) == 1_000


def test_nobody_tells_where_there_is_no_leader_or_an_error() -> None:
    """An older broker, or one that asks for rights."""
    assert [read_controller_time(answer(leader_id=7)), read_controller_time(answer(error=31))] == [None, None]


def test_answer_that_is_cut_short_is_malformed() -> None:
    """At every byte that matters: what follows the last replica is passed over."""
    shorts = [short for short in cut_short(answer()) if len(short) < len(answer()) - 4]
    assert [len(short) for short in shorts if not is_malformed(partial(read_controller_time, short))] == []
