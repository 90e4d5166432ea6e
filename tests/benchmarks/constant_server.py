"""The baseline for heartbeats as a program: a trio task per connection that answers each frame with the same bytes.

It must not know what it answers; arguments: HOST:PORT to listen on.
"""

import sys
from collections.abc import Sequence
from functools import partial

import trio

from bridge.wire.heartbeat import heartbeat_reply
from tests.benchmarks.classic_client import HEARTBEAT_VERSION

READ_BYTES = 4_096
ANSWER = heartbeat_reply(HEARTBEAT_VERSION, 3, 0)


async def _talk(stream: trio.SocketStream) -> None:
    async with stream:
        while await stream.receive_some(READ_BYTES):
            await stream.send_all(ANSWER)


async def _serve(host: str, port: int) -> None:
    ready = partial(print, "ready", flush=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, _talk, port, host=host))
        ready()


def main(arguments: Sequence[str]) -> None:
    """Serve until ended."""
    host, _, port = arguments[0].rpartition(":")
    trio.run(_serve, host, int(port))


if __name__ == "__main__":
    main(sys.argv[1:])
