"""What it costs to relay records inside TLS, with clients, with brokers, with both, beside HAProxy doing the same.

It must not know how either relays. Both have one thread and what OpenSSL's defaults give: TLS 1.3, AES-256-GCM.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, command, program
from tests.benchmarks.tls_broker import PLAIN
from tests.support.certificates import Authority
from tests.support.debian import Program, debian_program
from tests.support.scripted_broker import LOOPBACK, free_port

ROUNDS = 5
MEGABYTES = 200
VERBS = ("produce", "consume")
TO_HAPROXY = Target(bound=2.5)
HAPROXY = "HAProxy"
CONFIGURATION = """
global
  nbthread 1
defaults
  mode tcp
  timeout connect 60s
  timeout client 600s
  timeout server 600s
listen kafka
  bind {host}:{port}{clients}
  server broker {host}:{broker}{brokers}
"""


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
    """Produce and consume in turns by the bridge and by HAProxy, for each place of TLS. Raises BenchmarkError."""
    found = shutil.which("haproxy")
    haproxy = Program(found) if found else debian_program("haproxy", "usr/sbin/haproxy")
    if haproxy is None:
        raise BenchmarkError("there is no haproxy on the path, and none can be had from Debian")
    return [figure for sides in ALL_SIDES for figure in _measure(sides, haproxy, directory)]


def _measure(sides: Sides, haproxy: Program, directory: Path) -> Iterator[Figure]:
    with _ways(sides, haproxy, directory) as (bridged, balanced):
        for way in (bridged, balanced):
            for verb in VERBS:
                way.run(verb, MEGABYTES // 10)
                way.cpu_s_per_gb[verb].clear()
        for _ in range(ROUNDS):
            for verb in VERBS:
                for way in (bridged, balanced):
                    way.run(verb, MEGABYTES)
    for verb in VERBS:
        ours, theirs = bridged.cpu_s_per_gb[verb], balanced.cpu_s_per_gb[verb]
        ratios = [one / other for one, other in zip(ours, theirs, strict=True) if other]
        name = f"TLS with {sides.name}" if sides.with_clients or sides.with_brokers else sides.name
        yield Figure(
            name=f"{name}, {verb}: CPU of the proxy",
            value=middle(ours),
            unit="s/GB",
            baseline=Baseline(name=HAPROXY, value=middle(theirs)),
            note=spread(ours),
        )
        if sides.with_clients or sides.with_brokers:
            yield Figure(
                name=f"{name}, {verb}: to {HAPROXY}'s",
                value=middle(ratios),
                unit="×",
                target=TO_HAPROXY,
                note=spread(ratios),
            )


@contextmanager
def _ways(sides: Sides, haproxy: Program, directory: Path) -> Iterator[tuple[Way, Way]]:
    authority = Authority(directory)
    pair, trust = str(authority.pair(LOOPBACK)), str(authority.trust)
    settings = ["bridges.group=off"]
    if sides.with_clients:
        settings += ["listen.tls=true", f"listen.tls.certificate.path={pair}"]
    if sides.with_brokers:
        settings += ["upstream.tls=true", f"upstream.tls.trust.path={trust}"]
    with ExitStack() as stack:
        server = stack.enter_context(
            program("tests.benchmarks.tls_broker", [pair if sides.with_brokers else PLAIN], directory)
        )
        broker = server.ready_line
        port = free_port()
        text = CONFIGURATION.format(
            host=LOOPBACK,
            port=port,
            broker=broker,
            clients=f" ssl crt {pair}" if sides.with_clients else "",
            brokers=f" ssl verify required ca-file {trust}" if sides.with_brokers else "",
        )
        configuration = directory / f"haproxy-{port}.cfg"
        configuration.write_text(text, encoding="ascii")
        # It says nothing when it is ready: it is, long before the bridge.
        words = ["/bin/sh", "-c", f"echo ready; exec {haproxy.path} -db -f {configuration}"]
        environment = {**os.environ, **haproxy.environment}
        balancer = stack.enter_context(command(words, directory, environment))
        address, bridge = stack.enter_context(bridge_child(f"{LOOPBACK}:{broker}", directory, settings))

        def client(place: str) -> Child:
            arguments = [place, trust if sides.with_clients else PLAIN]
            return stack.enter_context(program("tests.benchmarks.tls_client", arguments, directory))

        yield Way(client(address), bridge), Way(client(f"{LOOPBACK}:{port}"), balancer)
