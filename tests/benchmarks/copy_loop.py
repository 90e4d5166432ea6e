"""The baseline for relaying as a program: trio's usual receive and send loop, a task per direction.

It must not know what it copies; arguments: HOST:PORT to listen on, HOST:PORT to forward to.
"""

import sys
from collections.abc import Sequence
from functools import partial

import trio


async def _copy(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    try:
        async for data in source:
            await sink.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    finally:
        await sink.aclose()


async def _serve(listen: tuple[str, int], forward: tuple[str, int]) -> None:
    async def talk(client: trio.SocketStream) -> None:
        broker = await trio.open_tcp_stream(*forward)
        async with client, broker, trio.open_nursery() as nursery:
            nursery.start_soon(_copy, client, broker)
            nursery.start_soon(_copy, broker, client)

    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, talk, listen[1], host=listen[0]))
        print("ready", flush=True)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main(arguments: Sequence[str]) -> None:
    """Serve until ended."""
    trio.run(_serve, _address(arguments[0]), _address(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
