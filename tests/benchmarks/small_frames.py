"""What small frames cost on their way through: forwarded Heartbeats, and Fetches of some kilobytes, one at a time.

It must not know how the bridge relays; clients are raw sockets, so that the way is measured and not they.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, program

ROUNDS = 5
SECONDS = 2
TOPIC = "bench-small-frames"
RECORDS, RECORD_BYTES = 500, 4_000
BATCH_BYTES = 16_000
"""A broker answers a Fetch with whole batches, at least one: large ones would make large answers."""
FLUSH_TIMEOUT_S = 60.0
MICROS, GB = 1e6, 1e9


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked over and over: by how many connections, and how much of an answer they want."""

    name: str
    connections: int
    command: str


LOADS = (
    Load("Heartbeat, 1 connection", 1, "heartbeat 0"),
    Load("Heartbeat, 64 connections", 64, "heartbeat 0"),
    Load("Fetch of 16 kB, 1 connection", 1, "fetch 16000"),
    Load("Fetch of 50 kB, 16 connections", 16, "fetch 50000"),
)


@dataclass(slots=True)
class Way:
    """One way to the broker with a client for each load, and what every round gave by load."""

    clients: dict[str, Child]
    relay: Child | None = None
    p50_us: dict[str, list[float]] = field(default_factory=dict)
    cpu_us: dict[str, list[float]] = field(default_factory=dict)
    cpu_s_per_gb: dict[str, list[float]] = field(default_factory=dict)

    def run(self, load: Load) -> None:
        """One round. Raises BenchmarkError."""
        before_s = 0.0 if self.relay is None else self.relay.cpu_s()
        answered: dict[str, float] = json.loads(self.clients[load.name].ask(f"{load.command} {SECONDS}"))
        cpu_s = 0.0 if self.relay is None else self.relay.cpu_s() - before_s
        if not answered["count"]:
            raise BenchmarkError(f"nothing was answered: {load.name}")
        self.p50_us.setdefault(load.name, []).append(answered["p50_us"])
        self.cpu_us.setdefault(load.name, []).append(cpu_s / answered["count"] * MICROS)
        self.cpu_s_per_gb.setdefault(load.name, []).append(cpu_s / answered["bytes"] * GB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The three ways that are compared."""

    direct: Way
    copied: Way
    bridged: Way


def measure_small_frames(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Each load in turns over each way: directly, by a bare copy loop, by the bridge as `serve` starts it."""
    make_topics(broker, TOPIC)
    _produce(broker.bootstrap)
    with _ways(broker, directory) as ways:
        for _ in range(ROUNDS):
            for load in LOADS:
                for way in (ways.direct, ways.copied, ways.bridged):
                    way.run(load)
    return [figure for load in LOADS for figure in _figures(ways, load)]


def _produce(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": BATCH_BYTES})
    for _ in range(RECORDS):
        producer.produce(TOPIC, bytes(RECORD_BYTES))
    left = producer.flush(FLUSH_TIMEOUT_S)
    if left:
        raise BenchmarkError(f"{left} records were not acknowledged")


@contextmanager
def _ways(broker: BenchBroker, directory: Path) -> Iterator[Ways]:
    with ExitStack() as stack:

        def clients(address: str) -> dict[str, Child]:
            return {
                load.name: stack.enter_context(
                    program("tests.benchmarks.small_frames_client", [address, str(load.connections), TOPIC], directory)
                )
                for load in LOADS
            }

        copy_arguments = [broker.relay_listens, broker.relay_forwards]
        copy_loop = stack.enter_context(program("tests.benchmarks.copy_loop", copy_arguments, directory))
        address, bridge = stack.enter_context(bridge_child(broker.bootstrap, directory))
        yield Ways(
            direct=Way(clients(broker.bootstrap)),
            copied=Way(clients(broker.relay_listens), copy_loop),
            bridged=Way(clients(address), bridge),
        )


def _figures(ways: Ways, load: Load) -> list[Figure]:
    name = load.name
    latency = Figure(
        name=f"small frames, {name}: p50",
        value=middle(ways.bridged.p50_us[name]),
        unit="µs",
        baseline=Baseline(name="direct connection", value=middle(ways.direct.p50_us[name])),
        note=f"bare trio copy loop {middle(ways.copied.p50_us[name]):.0f}",
    )
    per_gb = load.command.startswith("fetch")
    bridged = (ways.bridged.cpu_s_per_gb if per_gb else ways.bridged.cpu_us)[name]
    copied = (ways.copied.cpu_s_per_gb if per_gb else ways.copied.cpu_us)[name]
    cost = Figure(
        name=f"small frames, {name}: CPU of the bridge",
        value=middle(bridged),
        unit="s/GB" if per_gb else "µs",
        baseline=Baseline(name="bare trio copy loop", value=middle(copied)),
        note=spread(bridged),
    )
    return [latency, cost]
