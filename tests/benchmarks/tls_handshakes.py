"""So many clients that come at once and speak TLS: none may be turned away, and what each costs.

It must not know how handshakes are made; every limit is the default.
"""

import resource
import ssl
from pathlib import Path

import trio

from bridge.wire.apis import ApiKey
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.processes import program
from tests.benchmarks.tls_broker import PLAIN
from tests.support.certificates import Authority
from tests.support.scripted_broker import LOOPBACK, request

CLIENTS = 2_000
DESCRIPTORS_OF_OTHERS = 500
PATIENCE_S = 300.0
NONE_TURNED_AWAY = Target(bound=0)
ANSWER_BYTES_MAX = 65_536
CORRELATION_ID = 7
ASKED = request(ApiKey.API_VERSIONS, 0, CORRELATION_ID)


def measure_tls_handshakes(directory: Path) -> list[Figure]:
    """All come at the same time, and stay until the last has been served."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, CLIENTS + DESCRIPTORS_OF_OTHERS), most))
    authority = Authority(directory)
    settings = ["bridges.group=off", "listen.tls=true", f"listen.tls.certificate.path={authority.pair(LOOPBACK)}"]
    with (
        program("tests.benchmarks.tls_broker", [PLAIN], directory) as broker,
        bridge_child(f"{LOOPBACK}:{broker.ready_line}", directory, settings) as (address, bridge),
    ):
        before_s = bridge.cpu_s()
        served = trio.run(_come, int(address.rpartition(":")[2]), authority.context)
        cpu_ms = 1000 * (bridge.cpu_s() - before_s) / CLIENTS
    return [
        Figure(
            name=f"{CLIENTS:,} TLS handshakes at once: not served",
            value=CLIENTS - served,
            unit="clients",
            target=NONE_TURNED_AWAY,
        ),
        Figure(name="one of them, with its first answer: CPU of the bridge", value=cpu_ms, unit="ms"),
    ]


async def _come(port: int, context: ssl.SSLContext) -> int:
    """How many were answered."""
    served = ended = 0
    all_ended = trio.Event()

    async def one() -> None:
        nonlocal served, ended
        stream = None
        try:
            stream = trio.SSLStream(await trio.open_tcp_stream(LOOPBACK, port), context, server_hostname=LOOPBACK)
            await stream.send_all(ASKED)
            answer = await stream.receive_some(ANSWER_BYTES_MAX)
            served += answer[4:8] == CORRELATION_ID.to_bytes(4, "big")
        except (OSError, trio.BrokenResourceError):
            pass  # It was not served, which is what is counted.
        ended += 1
        if ended == CLIENTS:
            all_ended.set()
        await all_ended.wait()
        if stream is not None:
            await trio.aclose_forcefully(stream)

    with trio.move_on_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            for _ in range(CLIENTS):
                nursery.start_soon(one)
    return served
