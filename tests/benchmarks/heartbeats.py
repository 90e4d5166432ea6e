"""What a heartbeat costs end to end, a translated classic member's and a KIP-848 member's, at full speed and at 2,000
members every 3 s.

It must not know how the bridge answers.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bridge.demo.services import free_place
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import SMALL_TOPIC, BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, program

MEMBERS = 2_000
ROUNDS = 5
FAST = "fast 3"
STEADY = "steady 3 12"
MICROS = 1e6
PER_CPU_S = Target(bound=20_000, at_least=True)
NATIVE_PER_CPU_S = Target(bound=40_000, at_least=True)
P99_MS = Target(bound=5.0)


@dataclass(slots=True)
class Side:
    """A server with its own load, and what every round gave."""

    server: Child
    load: Child
    per_cpu_s: list[float] = field(default_factory=list)
    steady_p50_ms: list[float] = field(default_factory=list)
    steady_p99_ms: list[float] = field(default_factory=list)
    steady_cpu_share: list[float] = field(default_factory=list)

    def run_fast(self) -> None:
        """As many heartbeats as are answered."""
        cpu_s, answered, _ = self._run(FAST)
        self.per_cpu_s.append(answered / cpu_s)

    def run_steady(self) -> None:
        """Every member once per interval."""
        cpu_s, _, beating = self._run(STEADY)
        self.steady_p50_ms.append(beating["p50_us"] / 1000)
        self.steady_p99_ms.append(beating["p99_us"] / 1000)
        self.steady_cpu_share.append(100 * cpu_s / beating["seconds"])

    def _run(self, command: str) -> tuple[float, float, dict[str, float]]:
        before_s = self.server.cpu_s()
        beating: dict[str, float] = json.loads(self.load.ask(command))
        if beating["refused"]:
            raise BenchmarkError(f"{beating['refused']} heartbeats of settled members were refused")
        return self.server.cpu_s() - before_s, beating["answered"], beating


def measure_heartbeats(broker: BenchBroker, directory: Path) -> list[Figure]:
    """The servers in turns, at full speed and then steadily."""
    make_topics(broker, SMALL_TOPIC)
    with ExitStack() as stack:

        def load(address: str, group: str, protocol: str = "classic") -> Child:
            words = [address, str(MEMBERS), SMALL_TOPIC, group, protocol]
            return stack.enter_context(program("tests.benchmarks.heartbeat_load", words, directory))

        listen = free_place().listen
        constant = stack.enter_context(program("tests.benchmarks.constant_server", [listen], directory))
        plain = Side(constant, load(listen, ""))
        address, bridge = stack.enter_context(bridge_child(broker.bootstrap, directory))
        ours = Side(bridge, load(address, "bench-heartbeats"))
        native = Side(bridge, load(address, "bench-native", "native"))
        for _ in range(ROUNDS):
            for side in (plain, ours, native):
                side.run_fast()
            for side in (plain, ours, native):
                side.run_steady()
    return _figures("heartbeat", ours, plain, PER_CPU_S) + _figures(
        "ConsumerGroupHeartbeat", native, plain, NATIVE_PER_CPU_S
    )


def _figures(what: str, ours: Side, plain: Side, target: Target) -> list[Figure]:
    name = "constant answers, trio"
    per_cpu_s, plain_per_cpu_s = middle(ours.per_cpu_s), middle(plain.per_cpu_s)
    return [
        Figure(
            name=f"{what}s per CPU second, {MEMBERS} connections",
            value=per_cpu_s,
            unit="/s",
            target=target,
            baseline=Baseline(name=name, value=plain_per_cpu_s),
            note=spread(ours.per_cpu_s),
        ),
        Figure(
            name=f"CPU per {what}",
            value=MICROS / per_cpu_s,
            unit="µs",
            baseline=Baseline(name=name, value=MICROS / plain_per_cpu_s),
        ),
        Figure(
            name=f"{what} p99, {MEMBERS} members at 3 s",
            value=middle(ours.steady_p99_ms),
            unit="ms",
            target=P99_MS,
            baseline=Baseline(name=name, value=middle(plain.steady_p99_ms)),
            note=spread(ours.steady_p99_ms),
        ),
        Figure(
            name=f"{what} p50, {MEMBERS} members at 3 s",
            value=middle(ours.steady_p50_ms),
            unit="ms",
            baseline=Baseline(name=name, value=middle(plain.steady_p50_ms)),
        ),
        Figure(
            name=f"{what}: CPU of {MEMBERS} members at 3 s",
            value=middle(ours.steady_cpu_share),
            unit="% of a core",
            baseline=Baseline(name=name, value=middle(plain.steady_cpu_share)),
        ),
    ]
