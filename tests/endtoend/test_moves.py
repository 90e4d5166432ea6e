"""Live groups of real clients go to other roads and back while records flow, and no client notices anything."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.support.casts import Wardrobe
from tests.support.kafka import SCOUTED_VERSION, KafkaUnderTest, provide_kafka
from tests.support.moved_group import moved_group

SEATS = {"m1": "confluent-range", "m2": "aiokafka", "m3": "kafka-python-range"}


async def test_group_goes_every_road_and_back(kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path) -> None:
    """Three libraries, to the broker's new protocol and back, to the bridge and back: no callback in any client. Each
    way back ends in a classic group, since the next road begins with one; also that of members one by one.
    """
    async with moved_group(kafka_43.bootstrap, wardrobe, tmp_path, SEATS) as group:
        for to in ("upstream", "pass"):
            require_done(await group.move(to))
        there = await group.move("upstream")
        require_done(there)
        members = there["members"]
        assert isinstance(members, list)
        for member in members:
            require_done(await group.move("pass", (member["member_id"],)))
        for to in ("pass", "embedded", "pass"):
            require_done(await group.move(to))


@pytest.fixture
def kafka_41(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaUnderTest]:
    """A broker that lets nobody over before a scout has made a consumer group of the classic one."""
    yield from provide_kafka(SCOUTED_VERSION, tmp_path_factory.mktemp("kafka-4.1"))


@pytest.mark.parametrize("kind", ["sarama-sticky"])
async def test_group_whose_assignments_carry_user_data_is_taken_over(
    kind: str, kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """With them its broker refuses a take-over (69): a round is played before that leaves them behind, of which no
    client hears; also for one member of all.
    """
    async with moved_group(kafka_43.bootstrap, wardrobe, tmp_path, {"m1": kind, "m2": kind}) as group:
        there = await group.move("upstream")
        require_done(there)
        require_done(await group.move("pass"))


async def test_group_is_taken_over_behind_a_scout_and_reseated(
    kafka_41: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """To the new protocol, back to a classic group, on from the bridge to the new protocol in one order, and back."""
    async with moved_group(kafka_41.bootstrap, wardrobe, tmp_path, SEATS) as group:
        for to in ("upstream", "pass", "embedded", "upstream", "pass"):
            require_done(await group.move(to))


@pytest.fixture
def kafka_without_migration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaUnderTest]:
    """A broker that keeps every group in its type."""
    settings = BrokerSettings(properties={"group.consumer.migration.policy": "disabled"})
    with start_broker(settings, directory=tmp_path_factory.mktemp("kafka-disabled")) as broker:
        yield KafkaUnderTest(bootstrap=broker.bootstrap, tools=broker.tools, broker=broker)


async def test_group_at_a_broker_that_converts_none_goes_to_the_bridge_alone(
    kafka_without_migration: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """To the new protocol it is refused before anything begins, from wherever it is, and stays there."""
    async with moved_group(kafka_without_migration.bootstrap, wardrobe, tmp_path, SEATS) as group:
        require_refused(await group.move("upstream"), "EB-MOVE-112")
        require_done(await group.move("embedded"))
        require_refused(await group.move("upstream"), "EB-MOVE-112")
        require_done(await group.move("pass"))


def require_refused(moved: Mapping[str, object], code: str) -> None:
    """A move was not begun, for this reason, and how it can be made is said."""
    print(moved)
    (obstacle,) = cast("list[dict[str, str]]", moved["obstacles"])
    assert (moved["stage"], obstacle["code"], bool(obstacle["remedy"])) == ("refused", code, True), moved


def require_done(moved: Mapping[str, object]) -> None:
    """A move has got there, and nothing was in its way."""
    print(moved)
    assert (moved["stage"], moved["obstacles"]) == ("done", []), moved
