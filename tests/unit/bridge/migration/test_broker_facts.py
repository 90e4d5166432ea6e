"""What brokers tell of themselves, and what that makes of their abilities."""

from dataclasses import replace

import pytest

from bridge.migration.abilities import BrokerAbilities, Known, Login, TakeOverWay
from bridge.migration.broker_facts import BrokerFacts, read_abilities
from translators.dialects.configs import MigrationPolicy

KAFKA_43 = BrokerFacts(
    node_id=1,
    offers_consumer_heartbeat=True,
    features={"group.version": 1},
    supported={"metadata.version": 30},
    settings={
        "group.consumer.migration.policy": "bidirectional",
        "group.min.session.timeout.ms": "6000",
        "group.max.session.timeout.ms": "1800000",
        "group.max.size": "2147483647",
        "group.consumer.max.size": "100",
        "group.consumer.session.timeout.ms": "45000",
    },
)


def test_one_broker_is_read_as_it_says() -> None:
    """Numbers as numbers, the policy as a word that is known."""
    assert read_abilities((KAFKA_43,), Login.OPEN) == BrokerAbilities(
        takeover=TakeOverWay.IN_PLACE,
        known=Known.READ,
        policy=MigrationPolicy.BIDIRECTIONAL,
        session_min_ms=6_000,
        session_max_ms=1_800_000,
        classic_size_max=2_147_483_647,
        consumer_size_max=100,
        consumer_session_ms=45_000,
        login=Login.OPEN,
    )


@pytest.mark.parametrize(
    ("told", "first"), [((2, 2), 2), ((0, 2), 2), ((1, None), 1), ((None, None), None), ((0, 1), 1)]
)
def test_first_commit_is_the_one_that_all_brokers_take(told: tuple[int | None, ...], first: int | None) -> None:
    """Of brokers that are just being upgraded, too; of one that told nothing nothing is known."""
    brokers = [replace(KAFKA_43, first_commit_version=one) for one in told]
    assert read_abilities(brokers, Login.OPEN).first_commit_version == first


@pytest.mark.parametrize(
    ("highest", "release", "takeover"),
    [
        (30, "4.2 or newer", TakeOverWay.IN_PLACE),
        (28, "4.2 or newer", TakeOverWay.IN_PLACE),
        (27, "4.1", TakeOverWay.BY_SCOUT),
        (25, "4.0", TakeOverWay.WHOLE_GROUP),
    ],
)
def test_release_shows_in_the_level_of_metadata(highest: int, release: str, takeover: TakeOverWay) -> None:
    """Where nothing was probed."""
    broker = replace(KAFKA_43, supported={"metadata.version": highest})
    assert broker.release == release
    assert read_abilities((broker,), Login.OWN).takeover is takeover


@pytest.mark.parametrize(
    ("broker", "takeover"),
    [
        (replace(KAFKA_43, features={}), TakeOverWay.IMPOSSIBLE),
        (replace(KAFKA_43, offers_consumer_heartbeat=False), TakeOverWay.IMPOSSIBLE),
        (replace(KAFKA_43, features={}, supported={"metadata.version": 21}), TakeOverWay.IMPOSSIBLE),
        (BrokerFacts(node_id=1), TakeOverWay.IMPOSSIBLE),
        (BrokerFacts(node_id=1, offers_consumer_heartbeat=True), TakeOverWay.UNKNOWN),
    ],
)
def test_protocol_has_to_be_offered_and_on(broker: BrokerFacts, takeover: TakeOverWay) -> None:
    """Kafka 3.9 offers the request with the protocol off; who is no Apache Kafka has to be probed."""
    assert read_abilities((broker,), Login.OPEN).takeover is takeover


def test_cluster_is_as_able_as_its_least_able_broker() -> None:
    """In the middle of an upgrade, or where one broker was configured otherwise."""
    other = replace(
        KAFKA_43,
        supported={"metadata.version": 27},
        settings={
            "group.consumer.migration.policy": "Upgrade",
            "group.min.session.timeout.ms": "10000",
            "group.max.session.timeout.ms": "300000",
            "group.consumer.max.size": "no number",
            "group.max.size": "9" * 5_000,
        },
    )
    abilities = read_abilities((KAFKA_43, other), Login.OPEN)
    assert (abilities.takeover, abilities.policy) == (TakeOverWay.BY_SCOUT, MigrationPolicy.UPGRADE)
    assert (abilities.session_min_ms, abilities.session_max_ms) == (10_000, 300_000)
    assert (abilities.consumer_size_max, abilities.classic_size_max) == (100, 2_147_483_647)


def test_without_a_broker_nothing_is_known() -> None:
    """But as whom the bridge would ask."""
    asked = read_abilities((), Login.NONE)
    assert asked == BrokerAbilities(login=Login.NONE)
    assert BrokerFacts(node_id=1).release == ""
