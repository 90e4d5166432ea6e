"""The bridge is killed while a group of real clients is moved: it goes on when it is back, and nobody notices."""

import random
from pathlib import Path

import pytest
import trio

from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.moved_group import LIFE_S, MovedGroup, moved_group

SEATS = {"m1": "confluent-range", "m2": "aiokafka", "m3": "kafka-python-range"}
SEEDS = ("848",)
MORE_SEEDS = ("341", "345", "394", "1251")
MOVE_TAKES_S = 0.15
"""About as long as a move is carried out that has begun: deaths fall into and after it."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A few moments by default, more with --matrix=all."""
    seeds = SEEDS + MORE_SEEDS if metafunc.config.getoption("--matrix") == "all" else SEEDS
    metafunc.parametrize("seed", seeds)


async def die_during(group: MovedGroup, to: str, moments: random.Random) -> None:
    """Order a move, kill the bridge at some moment of it, and start it again."""
    async with group.fleet.step(f"to {to}, killed"):
        await group.order(to)
        await group.wait_until_begun()
        await trio.sleep(moments.uniform(0, MOVE_TAKES_S))
        await trio.to_thread.run_sync(group.bridge.kill)
        await trio.to_thread.run_sync(group.bridge.start)
        await trio.sleep(LIFE_S)
        await group.wait_until_nothing_moves()
        await group.fleet.wait_settled()


async def test_death_during_a_move_disturbs_nobody(
    seed: str, kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """An order that was lost with the bridge is given again: it says the same or finds nobody left to be moved."""
    moments = random.Random(seed)
    async with moved_group(kafka_43.bootstrap, wardrobe, tmp_path, SEATS) as group:
        for to in ("upstream", "pass"):
            await die_during(group, to, moments)
            again = await group.move(to)
            print(again)
            assert again["stage"] == "done" or "EB-MOVE-103" in str(again["obstacles"]), again
