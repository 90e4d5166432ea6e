"""Command lines of client processes. It must not start any."""

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import (
    CONFLUENT,
    KAFKA_PYTHON,
    PRODUCER,
    MemberSpec,
    ProducerSpec,
    Target,
    member_command,
    producer_command,
)
from bridge.demo.members.process import MemberOptions, parse_member_options
from bridge.demo.producer import ProducerOptions, parse_producer_options

TARGET = Target(bootstrap="127.0.0.1:9092", group="g", topics=("a", "b"))


def test_member_command_is_read_back_by_the_member() -> None:
    """The fleet and the member processes agree on every option."""
    spec = MemberSpec(
        seat="s", program=KAFKA_PYTHON, assignor="sticky", instance_id="i", more=("--commit-interval-ms", "9")
    )
    command = member_command(spec, TARGET)
    assert tuple(command[: len(KAFKA_PYTHON)]) == KAFKA_PYTHON
    assert parse_member_options(command[len(KAFKA_PYTHON) :]) == MemberOptions(
        bootstrap="127.0.0.1:9092",
        group="g",
        topics=("a", "b"),
        name="s",
        client_id="s",
        instance_id="i",
        assignor="sticky",
        protocol=Protocol.CLASSIC,
        session_timeout_ms=6000,
        heartbeat_interval_ms=400,
        auto_offset_reset="earliest",
        max_poll_interval_ms=None,
        metadata_max_age_ms=5000,
        commit_interval_ms=9,
    )


def test_member_command_without_optional_values_leaves_them_out() -> None:
    """None leaves the library's default."""
    spec = MemberSpec(seat="s", protocol=Protocol.CONSUMER, session_timeout_ms=None, heartbeat_interval_ms=None)
    options = parse_member_options(member_command(spec, TARGET)[len(CONFLUENT) :])
    assert (options.instance_id, options.session_timeout_ms, options.heartbeat_interval_ms) == (None, None, None)
    assert options.protocol is Protocol.CONSUMER


def test_producer_command_is_read_back_by_the_producer() -> None:
    """The fleet and the producer process agree on every option."""
    command = producer_command(ProducerSpec(seat="p", partitions=6, rate=12.5), TARGET)
    assert parse_producer_options(command[len(PRODUCER) :]) == ProducerOptions(
        bootstrap="127.0.0.1:9092", topics=("a", "b"), partitions=6, rate=12.5, name="p"
    )
