"""What the two brokers that everything is compared with offer, as their clients see it."""

from bridge.demo.kafka_broker import ask_api_versions
from tests.support.kafka import KafkaUnderTest

JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 11, 68, 69


def offered(kafka: KafkaUnderTest) -> dict[int, tuple[int, int]]:
    """Ask the broker itself; a cluster that somebody else runs may be of any version."""
    host, _, port = kafka.own_broker().bootstrap.partition(":")
    return ask_api_versions(host, int(port))


def test_kafka_4_offers_both_protocols(kafka_43: KafkaUnderTest) -> None:
    """KIP-848 is on by default since 4.0, beside the classic protocol."""
    apis = offered(kafka_43)
    assert (apis[JOIN_GROUP], apis[CONSUMER_GROUP_HEARTBEAT], apis[CONSUMER_GROUP_DESCRIBE]) == ((0, 9), (0, 1), (0, 1))


def test_kafka_39_lists_the_new_apis_while_they_are_off(kafka_39: KafkaUnderTest) -> None:
    """Key 68 in ApiVersions doesn't say that the protocol is on: 3.9 lists it with its new protocol off."""
    apis = offered(kafka_39)
    assert (apis[JOIN_GROUP], apis[CONSUMER_GROUP_HEARTBEAT]) == ((0, 9), (0, 0))
