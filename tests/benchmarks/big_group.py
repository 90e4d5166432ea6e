"""A group of 1,000 classic members on 4,000 partitions: how long it takes to form, and whom one more member disturbs.

It must not know how anybody assigns.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BIG_TOPIC, INITIAL_DELAY_MS, PARTITIONS_OF_BIG_TOPIC, BenchBroker, make_topics
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.processes import BenchmarkError

MEMBERS = 1_000
INTERVAL_S = 3.0
TIMEOUT_S = 120.0
FORMED_S = Target(bound=15)
DISTURBED = Target(bound=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a group went through: seconds until it was stable after the initial delay, and after one more joined.

    `called` members heard of a rebalance by it, `changed` ones have something else than before, and `bystanders` were
    called although their assignment is the same.
    """

    formed_s: float
    joined_s: float
    called: int
    changed: int
    bystanders: int


def measure_big_group(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Cooperative members and eager ones at the bridge, eager ones at Kafka itself. Raises BenchmarkError."""
    make_topics(broker, BIG_TOPIC)
    kafka = run_course(broker.bootstrap, "classic", cooperative=False)
    figures: list[Figure] = []
    for kind in ("cooperative", "eager"):
        settings = [f"group.initial.rebalance.delay.ms={INITIAL_DELAY_MS}"]
        with bridge_child(broker.bootstrap, directory, settings) as (address, bridge):
            before_s = bridge.cpu_s()
            course = run_course(address, f"bench-{kind}", cooperative=kind == "cooperative")
            figures += _figures(kind, course, kafka)
            figures.append(
                Figure(name=f"{kind}: CPU of the bridge for all of it", value=bridge.cpu_s() - before_s, unit="s")
            )
    return figures


def run_course(address: str, group: str, *, cooperative: bool) -> Course:
    """Form a group, let one more member join, and look who noticed."""
    host, _, port = address.rpartition(":")
    fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)

    def client(number: int) -> ClassicClient:
        name = f"member-{number}"
        return ClassicClient(group, BIG_TOPIC, name, cooperative=cooperative, partitions=PARTITIONS_OF_BIG_TOPIC)

    fleet.add([client(number) for number in range(MEMBERS)])
    formed_s = fleet.settle(TIMEOUT_S) - INITIAL_DELAY_MS / 1000
    _check_all_owned(fleet)
    members = fleet.clients
    before = [(member.times_called, member.owned) for member in members]
    fleet.add([client(MEMBERS)])
    joined_s = fleet.settle(TIMEOUT_S)
    _check_all_owned(fleet)
    fleet.close()
    called = [member.times_called > calls for member, (calls, _) in zip(members, before, strict=True)]
    changed = [member.owned != owned for member, (_, owned) in zip(members, before, strict=True)]
    return Course(
        formed_s=formed_s,
        joined_s=joined_s,
        called=sum(called),
        changed=sum(changed),
        bystanders=sum(heard and not differs for heard, differs in zip(called, changed, strict=True)),
    )


def _figures(kind: str, ours: Course, kafka: Course) -> list[Figure]:
    name = "Kafka's own classic group, eager"
    return [
        Figure(
            name=f"{MEMBERS} {kind} members × {PARTITIONS_OF_BIG_TOPIC} partitions: stable after the initial delay",
            value=ours.formed_s,
            unit="s",
            target=FORMED_S,
            baseline=Baseline(name=name, value=kafka.formed_s),
        ),
        Figure(
            name=f"one more {kind} member: until all is stable",
            value=ours.joined_s,
            unit="s",
            baseline=Baseline(name=name, value=kafka.joined_s),
        ),
        Figure(
            name=f"one more {kind} member: members that heard of it",
            value=ours.called,
            unit="members",
            baseline=Baseline(name=name, value=kafka.called),
            note=f"{ours.changed} of them gave something up",
        ),
        Figure(
            name=f"one more {kind} member: disturbed for nothing",
            value=ours.bystanders,
            unit="members",
            target=DISTURBED,
        ),
    ]


def _check_all_owned(fleet: Fleet) -> None:
    owned = fleet.owned()
    if owned != PARTITIONS_OF_BIG_TOPIC:
        raise BenchmarkError(f"{owned} of {PARTITIONS_OF_BIG_TOPIC} partitions are owned in a settled group")
