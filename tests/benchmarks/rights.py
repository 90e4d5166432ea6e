"""What it costs to ask brokers about rights: heartbeats of members whose rights are asked for all the time, and of
others that were asked once.

All of them log in under one name, or nowhere: one question is for everybody in the group, and each connection of those
that log in hears its broker in every eighth pause between them. It must not know how a question is put.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.kafka_properties import DEFAULT_VERSION
from bridge.session.grants import KEEP_MS
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.heartbeat_load import SESSION_MS
from tests.benchmarks.processes import BenchmarkError, Child, program
from tests.support.sasl_kafka import PASSWORDS, authorizing_kafka, login_of

MEMBERS = 150
ROUNDS = 2
INTERVAL_S = 3.0
STEADY = "steady 3 20"
"""So long that each connection is heard once in it."""
WARMING = "steady 3 4"
"""Each member beats once before it counts: while it was the other side's turn all rights were given up, and with 150
members the first beat of each, which looks for them anew, was a seventh of all that were measured.
"""
TOPIC = "rights"
PATIENCE_S = 120.0
OFTEN_MS = 2_000
"""Due between two heartbeats, and still good at the second: it goes on beside its question, as by default."""
NEVER_MS = 2_147_483_647
LONG_SESSIONS = tuple(f"group.consumer.{word}session.timeout.ms={SESSION_MS}" for word in ("max.", ""))
SHARE_MAX = Target(bound=1.0)
MICROS = 1e6
PERCENT = 100.0


@dataclass(slots=True)
class Side:
    """A bridge with members of one protocol, and what a heartbeat cost in every round."""

    bridge: Child
    load: Child
    cpu_us: list[float] = field(default_factory=list)

    def beat(self) -> None:
        """Every member once per interval."""
        self._beat_for(WARMING)
        before_s = self.bridge.cpu_s()
        beating = self._beat_for(STEADY)
        self.cpu_us.append(MICROS * (self.bridge.cpu_s() - before_s) / beating["answered"])

    def _beat_for(self, words: str) -> dict[str, float]:
        beating: dict[str, float] = json.loads(self.load.ask(words))
        if beating["refused"]:
            raise BenchmarkError(f"{beating['refused']} heartbeats of settled members were refused")
        return beating


def measure_rights(directory: Path) -> list[Figure]:
    """Both protocols, each asked and not asked, in turns."""
    password = directory / "password"
    password.write_text(PASSWORDS["bridge"], encoding="utf-8")
    own = ("upstream.sasl.mechanism=PLAIN", "upstream.sasl.username=bridge", f"upstream.sasl.password.path={password}")
    with ExitStack() as stack:
        broker = stack.enter_context(authorizing_kafka(directory / "kafka", {}, DEFAULT_VERSION))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
        admin.create_topics([NewTopic(TOPIC, num_partitions=6, replication_factor=1)])[TOPIC].result(PATIENCE_S)
        secured, known = (broker.bootstrap, own), ["admin", PASSWORDS["admin"]]
        return [
            *_measure(secured, known, directory, "Heartbeat", "classic"),
            *_measure(secured, known, directory, "ConsumerGroupHeartbeat", "native"),
            *_measure((broker.plain, ()), [], directory, "Heartbeat", "classic"),
        ]


def _measure(
    cluster: tuple[str, tuple[str, ...]], login: list[str], directory: Path, name: str, protocol: str
) -> list[Figure]:
    """Members of one protocol behind two bridges, in turns: nobody is silent for longer than the other's turn."""
    broker, own = cluster
    with ExitStack() as stack:
        sides: list[Side] = []
        for keep_ms in (OFTEN_MS, NEVER_MS):
            # Whoever looks after grants and connections looks as often in both.
            settings = (*own, *LONG_SESSIONS, f"authorization.cache.ms={keep_ms}", f"limits.progress.ms={OFTEN_MS}")
            address, bridge = stack.enter_context(bridge_child(broker, directory, settings))
            words = [_broker_behind(address, login), str(MEMBERS), TOPIC, f"bench-{protocol}-{keep_ms}", protocol]
            load = stack.enter_context(program("tests.benchmarks.heartbeat_load", [*words, *login], directory))
            sides.append(Side(bridge, load))
        for _ in range(ROUNDS):
            for side in sides:
                side.beat()
    asked, plain = sides
    if login:
        return _figures(f"{name}s of members that log in", asked.cpu_us, plain.cpu_us)
    return _figures(f"{name}s where nobody logs in", asked.cpu_us, plain.cpu_us)


def _broker_behind(address: str, login: list[str]) -> str:
    """Where the bridge has the only broker: members beat at their coordinator."""
    admin = AdminClient({"bootstrap.servers": address, **(login_of(login[0]) if login else {})})
    (broker,) = admin.list_topics(timeout=PATIENCE_S).brokers.values()
    return f"{broker.host}:{broker.port}"


def _figures(name: str, asked: list[float], plain: list[float]) -> list[Figure]:
    """Asked about every two seconds, and so how much it is by default."""
    more = [one - other for one, other in zip(asked, plain, strict=True)]
    shares = [PERCENT * extra * OFTEN_MS / KEEP_MS / cost for extra, cost in zip(more, plain, strict=True)]
    return [
        Figure(
            name=f"CPU of {name}, rights asked every {OFTEN_MS // 1000} s, {MEMBERS} members at {INTERVAL_S:g} s",
            value=middle(asked),
            unit="µs",
            baseline=Baseline(name="without", value=middle(plain)),
            note=spread(asked),
        ),
        Figure(
            name=f"rights' part of the CPU of {name}, asked every {KEEP_MS // 1000} s",
            value=middle(shares),
            unit="%",
            target=SHARE_MAX,
            note=spread(shares),
        ),
    ]
