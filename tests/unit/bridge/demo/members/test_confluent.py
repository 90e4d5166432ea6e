"""The confluent-kafka member's settings. It must not know the fleet; the member itself is run end to end."""

from bridge.demo.members.confluent import consumer_settings
from bridge.demo.members.process import parse_member_options

NEEDED = ("--bootstrap", "h:1", "--group", "g", "--topic", "t", "--name", "n")
TIMEOUTS = ("--session-timeout-ms", "6000", "--heartbeat-interval-ms", "400")


def test_classic_settings_carry_assignor_timeouts_and_instance() -> None:
    """What the command line names reaches librdkafka, and commits are the member's own affair."""
    options = parse_member_options((*NEEDED, *TIMEOUTS, "--assignor", "cooperative-sticky", "--instance-id", "i"))
    assert consumer_settings(options) == {
        "bootstrap.servers": "h:1",
        "group.id": "g",
        "client.id": "n",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "topic.metadata.refresh.interval.ms": 5000,
        "group.protocol": "classic",
        "group.instance.id": "i",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 400,
    }


def test_consumer_protocol_settings_leave_out_what_the_broker_decides() -> None:
    """librdkafka refuses session, heartbeat and strategy with group.protocol=consumer (KIP-848)."""
    settings = consumer_settings(parse_member_options((*NEEDED, *TIMEOUTS, "--protocol", "consumer")))
    assert settings["group.protocol"] == "consumer"
    assert not {"partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"} & settings.keys()
