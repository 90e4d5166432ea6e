"""The net room as a program that tells its counters: a proxy whose groups all pass, for the relay's figures.

It must not know what goes through it; arguments: HOST:PORT to listen on, HOST:PORT of a broker.
Each line on its standard input is answered with a line of JSON: bytes each way, and the most a connection held.
"""

import gc
import json
import sys
from collections.abc import Sequence
from functools import partial

import trio

from bridge.app.settings import parse_address
from bridge.net.proxy import Backstage, Proxy, serve_proxy
from bridge.net.settings import ProxySettings
from bridge.net.switchboard import Switchboard
from bridge.session.counters import Counters
from bridge.telemetry.passing import PassingLog


async def _serve(settings: ProxySettings) -> None:
    counters = Counters()
    backstage = Backstage(groups={}, passing=PassingLog(), switchboard=Switchboard(counters), counters=counters)
    async with trio.open_nursery() as nursery:
        proxy: Proxy = await nursery.start(serve_proxy, settings, backstage)
        print("ready", flush=True)
        while await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            seen = proxy.statistics()
            figures = {
                "from_clients": seen.bytes_from_clients,
                "to_clients": seen.bytes_to_clients,
                "held_peak": seen.bytes_held_peak,
            }
            print(json.dumps(figures), flush=True)
        nursery.cancel_scope.cancel()


def main(arguments: Sequence[str]) -> None:
    """Serve until the standard input ends."""
    listen, broker = (parse_address("argument", text) for text in arguments)
    gc.freeze()
    trio.run(partial(_serve, ProxySettings(bootstrap=(broker,), listen=listen)))


if __name__ == "__main__":
    main(sys.argv[1:])
