"""The producer process: its pace, and a whole run against librdkafka's mock cluster. It must not know consumers."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import confluent_kafka
import pytest

from bridge.demo.events import Ended, Partition, Produced, Started, decode_event
from bridge.demo.producer import BURST_MAX, due_records, parse_producer_options

SECOND_NS = 1_000_000_000


def test_due_records_catch_up_with_the_rate_in_bursts() -> None:
    """After a pause the rate is regained, but never at once."""
    assert due_records(SECOND_NS, 50.0, 0) == 50
    assert due_records(SECOND_NS // 2, 50.0, 20) == 5
    assert due_records(SECOND_NS, 50.0, 60) == 0
    assert due_records(100 * SECOND_NS, 1000.0, 0) == BURST_MAX


def test_options_without_partitions_are_a_usage_error() -> None:
    """The producer writes to partitions by number and must know how many there are."""
    with pytest.raises(SystemExit):
        parse_producer_options(("--bootstrap", "h:1", "--topic", "t"))


@pytest.fixture
def mock_bootstrap() -> Iterator[str]:
    """librdkafka's mock cluster, alive as long as its producer is; it creates topics of four partitions unasked."""
    host = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    brokers = host.list_topics(timeout=60).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    host.flush(1)


def test_producer_stopped_has_told_every_acknowledged_offset(mock_bootstrap: str) -> None:
    """SIGTERM: flush, report, `ended`; each partition's spans follow each other without a gap."""
    command = [sys.executable, "-m", "bridge.demo.producer", "--bootstrap", mock_bootstrap, "--topic", "t"]
    with subprocess.Popen([*command, "--partitions", "4", "--rate", "400"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        events = [decode_event(child.stdout.readline()) for _ in range(6)]
        child.send_signal(signal.SIGTERM)
        events += [decode_event(line) for line in child.stdout]
        assert child.wait(90) == 0
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Ended)
    ends = dict.fromkeys((Partition("t", index) for index in range(4)), 0)
    for event in events[1:-1]:
        assert isinstance(event, Produced)
        assert event.first == ends[event.partition]
        ends[event.partition] = event.last + 1
    assert max(ends.values()) - min(ends.values()) <= 1
