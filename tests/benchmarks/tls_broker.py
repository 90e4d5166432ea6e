"""A broker that answers large Fetches and takes large Produces, with TLS or without, as a program.

It must not know what stands before it; argument: a file with certificate and key, or `plain`. Says its port when ready.
"""

import ssl
import sys
from collections.abc import Sequence

import trio

from bridge.wire.apis import ApiKey
from tests.support.scripted_broker import ScriptedBroker
from tests.support.tls_tunnel import tunnel

PLAIN = "plain"
ANSWER_BYTES = 1_000_000


async def _serve(pair: str) -> None:
    broker = ScriptedBroker(bodies={ApiKey.FETCH: bytes(ANSWER_BYTES), ApiKey.PRODUCE: bytes(16)})
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        if pair != PLAIN:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair)
            broker.advertised_port = await nursery.start(tunnel, context, broker.port)
        print(broker.advertised_port or broker.port, flush=True)


def main(arguments: Sequence[str]) -> None:
    """Serve until ended."""
    trio.run(_serve, arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
