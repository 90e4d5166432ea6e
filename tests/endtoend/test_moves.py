"""Live groups of real clients go to other roads and back while records flow, and no client notices anything."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
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


def require_done(moved: Mapping[str, object]) -> None:
    """A move has got there, and nothing was in its way."""
    print(moved)
    assert (moved["stage"], moved["obstacles"]) == ("done", []), moved
