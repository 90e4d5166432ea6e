"""What it costs to relay records of a stock client: CPU seconds of the proxy per GB, and throughput.

It must not know how the proxy relays.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import RELAY_TOPIC, BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, program

GB, KIB, MIB = 1e9, 1024, 1024 * 1024
ROUNDS = 5
MEGABYTES = 400
CPU_S_PER_GB = Target(bound=1.0)
HELD_PEAK = "epochbridge_bytes_held_peak"
HELD_PEAK_KIB = Target(bound=1024)


@dataclass(slots=True)
class Way:
    """One way to the broker: its client, the relay in it if there is one, and what every round gave."""

    client: Child
    relay: Child | None = None
    cpu_s_per_gb: dict[str, list[float]] = field(default_factory=lambda: {"produce": [], "consume": []})
    mb_per_s: dict[str, list[float]] = field(default_factory=lambda: {"produce": [], "consume": []})

    def run(self, verb: str, megabytes: int) -> None:
        """One round."""
        before_s = 0.0 if self.relay is None else self.relay.cpu_s()
        seconds = float(self.client.ask(f"{verb} {megabytes}"))
        after_s = 0.0 if self.relay is None else self.relay.cpu_s()
        self.mb_per_s[verb].append(megabytes / seconds)
        self.cpu_s_per_gb[verb].append((after_s - before_s) / megabytes * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The three ways that are compared."""

    direct: Way
    copied: Way
    bridged: Way


def measure_relay(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Produce and consume in turns over each way. Raises BenchmarkError where a connection held over 1 MiB."""
    make_topics(broker, RELAY_TOPIC)
    with _ways(broker, directory) as ways:
        for way in (ways.direct, ways.copied, ways.bridged):
            way.client.ask(f"produce {MEGABYTES // 10}")
        for _ in range(ROUNDS):
            for verb in ("produce", "consume"):
                for way in (ways.direct, ways.copied, ways.bridged):
                    way.run(verb, MEGABYTES)
        assert ways.bridged.relay is not None, "the bridged way has a relay"
        held_peak = _held_peak(ways.bridged.relay)
    if held_peak > MIB:
        raise BenchmarkError(f"one connection held {held_peak} bytes, more than 1 MiB: something is buffered whole")
    peak = Figure(name="peak of one connection's buffers", value=held_peak / KIB, unit="KiB", target=HELD_PEAK_KIB)
    return [figure for verb in ("produce", "consume") for figure in _figures(ways, verb)] + [peak]


@contextmanager
def _ways(broker: BenchBroker, directory: Path) -> Iterator[Ways]:
    with ExitStack() as stack:

        def client(bootstrap: str) -> Child:
            return stack.enter_context(program("tests.benchmarks.relay_client", [bootstrap, RELAY_TOPIC], directory))

        copy_arguments = [broker.relay_listens, broker.relay_forwards]
        copy_loop = stack.enter_context(program("tests.benchmarks.copy_loop", copy_arguments, directory))
        address, bridge = stack.enter_context(bridge_child(broker.bootstrap, directory))
        yield Ways(
            direct=Way(client(broker.bootstrap)),
            copied=Way(client(broker.relay_listens), copy_loop),
            bridged=Way(client(address), bridge),
        )


def _held_peak(bridge: Child) -> float:
    """The most bytes that any single connection held, by the metrics that `serve` shows at its admin address."""
    admin = bridge.ready_line.rpartition("admin ")[2]
    with urlopen(f"http://{admin}/metrics", timeout=10.0) as response:
        lines = response.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{HELD_PEAK} "))


def _figures(ways: Ways, verb: str) -> list[Figure]:
    cpu = ways.bridged.cpu_s_per_gb[verb]
    speed = ways.bridged.mb_per_s[verb]
    return [
        Figure(
            name=f"relay, {verb}: CPU of the proxy",
            value=middle(cpu),
            unit="s/GB",
            target=CPU_S_PER_GB,
            baseline=Baseline(name="bare trio copy loop", value=middle(ways.copied.cpu_s_per_gb[verb])),
            note=spread(cpu),
        ),
        Figure(
            name=f"relay, {verb}: throughput",
            value=middle(speed),
            unit="MB/s",
            baseline=Baseline(name="direct connection", value=middle(ways.direct.mb_per_s[verb])),
            note=spread(speed),
        ),
    ]
