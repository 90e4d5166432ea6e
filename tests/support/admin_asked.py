"""The admin API in this task's loop, and who asks it over real loopback sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import httpx
import trio

from bridge.admin.addresses import parse_address
from bridge.admin.contracts import CONNECTIONS_MAX
from bridge.admin.server import serve_admin
from bridge.supervision import Failures
from tests.support.admin_views import StillSnapshots, still_sources

ANY_PORT = "127.0.0.1:0"


@asynccontextmanager
async def running(
    snapshots: StillSnapshots | None = None,
    supervised: Failures | None = None,
    connections_max: int = CONNECTIONS_MAX,
) -> AsyncIterator[str]:
    """The bound address of an admin API that ends with the block."""
    sources = replace(still_sources(snapshots), connections_max=connections_max)
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(partial(serve_admin, ANY_PORT, sources, supervised))
        yield bound
        nursery.cancel_scope.cancel()


async def get(bound: str, path: str) -> httpx.Response:
    """One request with its own connection."""
    async with httpx.AsyncClient(base_url=f"http://{bound}", trust_env=False, timeout=20) as client:
        return await client.get(path)


async def talk(bound: str, sent: bytes, local_address: str | None = None) -> trio.SocketStream:
    """A connection that has sent these bytes, perhaps from a loopback address of its own."""
    host, port = parse_address(bound)
    stream = await trio.open_tcp_stream(host, port, local_address=local_address)
    await stream.send_all(sent)
    return stream
