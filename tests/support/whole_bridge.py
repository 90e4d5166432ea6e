"""A bridge that is composed as `serve` does it, in this process, before a broker that is content with everything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import trio

from bridge.app.composition import serve
from bridge.config.configuration import Config, GroupRule
from bridge.config.keys import Settings
from bridge.migration.route import Road
from tests.fuzz.broker import SpoilingBroker
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, RawClient, dial

PATIENCE_S = 60.0


@asynccontextmanager
async def whole_bridge(road: Road, folder: Path) -> AsyncIterator[RawClient]:
    """A client of one that writes an event log."""
    broker = SpoilingBroker(Random(1), free_port())
    settings = Settings(
        bootstrap=(f"{LOOPBACK}:{broker.port}",),
        listen=f"{LOOPBACK}:0",
        admin_listen="off",
        events_path=str(folder),
        drain_timeout_ms=100,
    )
    send_line, lines = trio.open_memory_channel[str](1)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(PATIENCE_S):
            await nursery.start(broker.serve)
            nursery.start_soon(partial(serve, Config(settings, (GroupRule("*", road),)), say=send_line.send_nowait))
            port = int((await lines.receive()).partition(f"{LOOPBACK}:")[2].partition(",")[0])
            client = await dial(port)
            async with client.stream:
                yield client
        nursery.cancel_scope.cancel()
