"""What it costs to relay records inside TLS, with clients, with brokers, with both, beside HAProxy doing the same, and
Kroxylicious where somebody has it.

It must not know how any of them relays. The bridge and HAProxy have one thread and what OpenSSL's defaults give: TLS
1.3, AES-256-GCM; Kroxylicious has as many as it likes, and Java's own TLS.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import Child
from tests.benchmarks.processes import program as program_of
from tests.benchmarks.relays import KROXYLICIOUS_HOME, Between, find_haproxy, haproxy, kroxylicious
from tests.benchmarks.tls_broker import PLAIN
from tests.support.certificates import Authority, key_store
from tests.support.debian import Program
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK

ROUNDS = 5
MEGABYTES = 200
VERBS = ("produce", "consume")
TO_HAPROXY = Target(bound=2.5)
HAPROXY, KROXYLICIOUS = "HAProxy", "Kroxylicious"
JAVA_ROUNDS = 3
"""So many rounds before those that count, for Java to compile what it is asked to do."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Where there is TLS."""

    name: str
    with_clients: bool
    with_brokers: bool


ALL_SIDES = (
    Sides("no TLS", with_clients=False, with_brokers=False),
    Sides("clients", with_clients=True, with_brokers=False),
    Sides("brokers", with_clients=False, with_brokers=True),
    Sides("both", with_clients=True, with_brokers=True),
)


@dataclass(slots=True)
class Way:
    """A client by one relay, and what every round gave."""

    client: Child
    relay: Child
    cpu_s_per_gb: dict[str, list[float]] = field(default_factory=lambda: {verb: [] for verb in VERBS})

    def run(self, verb: str, megabytes: int) -> None:
        """One round."""
        before_s = self.relay.cpu_s()
        self.client.ask(f"{verb} {megabytes}")
        self.cpu_s_per_gb[verb].append((self.relay.cpu_s() - before_s) / megabytes * 1000)


def measure_tls_relay(directory: Path) -> list[Figure]:
    """Produce and consume in turns by the bridge and the others, for each place of TLS. Raises BenchmarkError."""
    program = find_haproxy()
    return [figure for sides in ALL_SIDES for figure in _measure(sides, program, directory)]


def _measure(sides: Sides, program: Program, directory: Path) -> Iterator[Figure]:
    with _ways(sides, program, directory) as ways:
        for name, way in ways.items():
            for verb in VERBS:
                for megabytes in [MEGABYTES] * JAVA_ROUNDS if name == KROXYLICIOUS else [MEGABYTES // 10]:
                    way.run(verb, megabytes)
                way.cpu_s_per_gb[verb].clear()
        for _ in range(ROUNDS):
            for verb in VERBS:
                for way in ways.values():
                    way.run(verb, MEGABYTES)
    bridged, *others = ways
    for verb in VERBS:
        ours = ways[bridged].cpu_s_per_gb[verb]
        for other in others:
            yield from _compared(sides, verb, ours, other, ways[other].cpu_s_per_gb[verb])


def _compared(sides: Sides, verb: str, ours: Sequence[float], other: str, theirs: Sequence[float]) -> Iterator[Figure]:
    ratios = [one / another for one, another in zip(ours, theirs, strict=True) if another]
    name = f"TLS with {sides.name}" if sides.with_clients or sides.with_brokers else sides.name
    yield Figure(
        name=f"{name}, {verb}: CPU of the proxy",
        value=middle(ours),
        unit="s/GB",
        baseline=Baseline(name=other, value=middle(theirs)),
        note=spread(ours),
    )
    if sides.with_clients or sides.with_brokers:
        yield Figure(
            name=f"{name}, {verb}: to {other}'s",
            value=middle(ratios),
            unit="×",
            target=TO_HAPROXY if other == HAPROXY else None,
            note=spread(ratios),
        )


@contextmanager
def _ways(sides: Sides, program: Program, directory: Path) -> Iterator[dict[str, Way]]:
    """By name, the bridge first."""
    authority = Authority(directory)
    pair, trust = str(authority.pair(LOOPBACK)), str(authority.trust)
    store = str(key_store(directory, authority.issue(LOOPBACK)))
    settings = ["bridges.group=off"]
    if sides.with_clients:
        settings += ["listen.tls=true", f"listen.tls.certificate.path={pair}"]
    if sides.with_brokers:
        settings += ["upstream.tls=true", f"upstream.tls.trust.path={trust}"]
    with ExitStack() as stack:
        pair_of_broker = pair if sides.with_brokers else PLAIN
        broker = stack.enter_context(program_of("tests.benchmarks.tls_broker", [pair_of_broker], directory)).ready_line

        def way(address: str, relay: Child) -> Way:
            arguments = [address, trust if sides.with_clients else PLAIN]
            return Way(stack.enter_context(program_of("tests.benchmarks.tls_client", arguments, directory)), relay)

        def between() -> Between:
            shown, stored = (pair, store) if sides.with_clients else ("", "")
            trusted = trust if sides.with_brokers else ""
            return Between(port=free_port(), broker=broker, pair=shown, store=stored, trust=trusted)

        place = between()
        balancer = stack.enter_context(haproxy(program, place, directory))
        address, bridge = stack.enter_context(bridge_child(f"{LOOPBACK}:{broker}", directory, settings))
        ways = {"bridge": way(address, bridge), HAPROXY: way(f"{LOOPBACK}:{place.port}", balancer)}
        home = os.environ.get(KROXYLICIOUS_HOME)
        if home:
            place = between()
            relay = stack.enter_context(kroxylicious(Path(home), place, directory))
            ways[KROXYLICIOUS] = way(f"{LOOPBACK}:{place.port}", relay)
        yield ways
