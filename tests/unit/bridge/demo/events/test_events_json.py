"""The event log's line format. It must not know any client."""

import json

import pytest

from bridge.demo.events import (
    Assigned,
    Committed,
    Consumed,
    Ended,
    Event,
    EventError,
    Failed,
    Lost,
    Mode,
    Partition,
    Produced,
    Protocol,
    Revoked,
    Started,
    decode_event,
    encode_event,
)

P0, P1 = Partition("orders", 0), Partition("orders", 1)
STARTED = Started(
    at_ns=1,
    seat="c1",
    client_id="c1",
    library="confluent-kafka",
    library_version="2",
    protocol=Protocol.CONSUMER,
    assignor="",
    instance_id=None,
    pid=7,
)
EVENTS: tuple[Event, ...] = (
    STARTED,
    Assigned(at_ns=2, partitions=(P0, P1), mode=Mode.INCREMENTAL),
    Revoked(at_ns=3, partitions=(P0,), mode=Mode.EAGER),
    Lost(at_ns=4, partitions=(), mode=Mode.INCREMENTAL),
    Consumed(at_ns=5, partition=P0, first=3, last=9),
    Produced(at_ns=5, partition=P1, first=0, last=0),
    Committed(at_ns=6, offsets=((P0, 10), (P1, 4))),
    Failed(at_ns=7, reason='"quoted"\nand broken'),
    Ended(at_ns=8),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_event_encoded_decodes_to_itself(event: Event) -> None:
    """decode(encode(event)) == event, on one line."""
    line = encode_event(event)
    assert "\n" not in line
    assert decode_event(line) == event


def test_consumed_encoded_names_partition_offsets_and_count() -> None:
    """The line format that clients in other languages write."""
    assert json.loads(encode_event(Consumed(at_ns=5, partition=P0, first=3, last=9))) == {
        "event": "consumed",
        "at_ns": 5,
        "partition": ["orders", 0],
        "first": 3,
        "last": 9,
        "count": 7,
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Exception in thread main", "Expecting value"),
        ("[1]", "no JSON object"),
        ('{"event": "danced", "at_ns": 1}', "unknown event 'danced'"),
        ('{"event": "ended"}', "at_ns"),
        ('{"event": "ended", "at_ns": "now"}', "not a whole number"),
        ('{"event": "failed", "at_ns": 1, "reason": 5}', "not text"),
        ('{"event": "assigned", "at_ns": 1, "partitions": [["a"]], "mode": "eager"}', "not a list of lists of 2"),
        ('{"event": "assigned", "at_ns": 1, "partitions": [], "mode": "odd"}', "odd"),
        ('{"event": "consumed", "at_ns": 1, "partition": ["a", 0], "first": 2, "last": 4, "count": 2}', "count 2"),
        ('{"event": "consumed", "at_ns": 1, "partition": ["a", 0], "first": 4, "last": 2, "count": -1}', "last 2"),
    ],
)
def test_line_malformed_is_refused_with_reason(line: str, why: str) -> None:
    """A line that is no event is an error with a stable code, the line and what is wrong with it."""
    with pytest.raises(EventError, match="EB-EVENT-001") as refused:
        decode_event(line)
    assert why in str(refused.value)
    assert line[:40] in str(refused.value)
