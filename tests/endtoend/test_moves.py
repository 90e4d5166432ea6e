"""Live groups of real clients go to other roads and back while records flow, and no client notices anything."""

from pathlib import Path

from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.moved_group import moved_group

SEATS = {"m1": "confluent-range", "m2": "aiokafka", "m3": "kafka-python-range"}


async def test_group_is_taken_over_and_given_back(kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path) -> None:
    """Three libraries, from pass to upstream and back, twice: no rebalance at the broker, no callback in any client."""
    async with moved_group(kafka_43.bootstrap, wardrobe, tmp_path, SEATS) as group:
        for _ in range(2):
            there = await group.move("upstream")
            print(there)
            assert there["stage"] == "done", there
            back = await group.move("pass")
            print(back)
            assert back["stage"] == "done", back
