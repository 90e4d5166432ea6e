"""A small fleet of real clients at rest, for tests that ask about its group."""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import trio

from bridge.demo.cluster import create_topics
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from tests.support.casts import Wardrobe
from tests.support.story_run import QUICK_SESSION_MS

PARTITIONS = 5


class Way(NamedTuple):
    """Where the cluster is, and where the clients go."""

    cluster: str
    bootstrap: str


@asynccontextmanager
async def settled_fleet(
    way: Way, wardrobe: Wardrobe, seats: Mapping[str, str], directory: Path
) -> AsyncIterator[Fleet]:
    """One member a seat, of the kind named, with something read and committed; stopped at the end."""
    group = f"embedded-tool-{uuid.uuid4().hex[:6]}"
    target = Target(bootstrap=way.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, way.cluster, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS))
        for seat, kind in seats.items():
            await fleet.start(wardrobe.spec(seat, kind, QUICK_SESSION_MS))
        await fleet.wait_settled()
        yield fleet
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
