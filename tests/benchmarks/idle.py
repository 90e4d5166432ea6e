"""What an idle connection costs in memory, and whether 2,000 may come at once.

It must not know what the bridge keeps of a connection.
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.services import free_place
from bridge.wire.apis import ApiKey
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BenchBroker
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.processes import Child, program

CONNECTIONS = 2_000
WARM_UP = 50
KIB = 1024
QUIET_S = 1.0
KIB_EACH = Target(bound=40)
FAILED = Target(bound=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """KiB of a connection that asked its server, and of one whose question also went to the broker."""

    asked_kib: float
    relayed_kib: float
    opened_s: float


def measure_idle(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Open 2,000 at once on a fresh bridge, let each ask, and look at the resident memory before and after."""
    with ExitStack() as stack:
        listen = free_place().listen
        words = [listen, broker.bootstrap]
        plain = _weigh(stack.enter_context(program("tests.benchmarks.copy_loop", words, directory)), listen, directory)
        address, bridge = stack.enter_context(bridge_child(broker.bootstrap, directory))
        ours = _weigh(bridge, address, directory)
    name = "bare trio copy loop, two sockets"
    return [
        Figure(name=f"{CONNECTIONS} connections opened at once: failed", value=0, unit="", target=FAILED),
        Figure(
            name="until all are open",
            value=ours.opened_s * 1000,
            unit="ms",
            baseline=Baseline(name="bare trio copy loop", value=plain.opened_s * 1000),
        ),
        Figure(
            name="resident memory of an idle connection",
            value=ours.asked_kib,
            unit="KiB",
            target=KIB_EACH,
            baseline=Baseline(name=name, value=plain.asked_kib),
            note="after ApiVersions",
        ),
        Figure(
            name="the same with a connection to the broker",
            value=ours.relayed_kib,
            unit="KiB",
            target=KIB_EACH,
            baseline=Baseline(name=name, value=plain.relayed_kib),
            note="after ApiVersions and a relayed Metadata",
        ),
    ]


def _weigh(server: Child, address: str, directory: Path) -> Weight:
    """Raises BenchmarkError when a connection fails: the load then ends instead of answering."""
    with program("tests.benchmarks.idle_load", [address], directory) as load:
        # What is imported or cached at the first request is no connection's.
        load.ask(f"open {WARM_UP}")
        load.ask(f"ask {int(ApiKey.API_VERSIONS)} 0")
        load.ask(f"ask {int(ApiKey.METADATA)} 8")
        load.ask("close")
        time.sleep(QUIET_S)
        before = server.resident_bytes()
        opened_s = float(load.ask(f"open {CONNECTIONS}"))
        load.ask(f"ask {int(ApiKey.API_VERSIONS)} 0")
        time.sleep(QUIET_S)
        asked = server.resident_bytes() - before
        load.ask(f"ask {int(ApiKey.METADATA)} 8")
        time.sleep(QUIET_S)
        relayed = server.resident_bytes() - before
    return Weight(asked_kib=asked / CONNECTIONS / KIB, relayed_kib=relayed / CONNECTIONS / KIB, opened_s=opened_s)
