"""A group of 1,000 classic members on 4,000 partitions: how long it takes to form, and whom one more member disturbs.

It must not know how the bridge assigns.
"""

from pathlib import Path

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BIG_TOPIC, PARTITIONS_OF_BIG_TOPIC, BenchBroker, make_topics
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.processes import BenchmarkError

MEMBERS = 1_000
INTERVAL_S = 3.0
INITIAL_DELAY_S = 3.0
TIMEOUT_S = 120.0
FORMED_S = Target(bound=15)
DISTURBED = Target(bound=0)


def measure_big_group(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Form the group with cooperative members, then with eager ones. Raises BenchmarkError, FleetError."""
    make_topics(broker, BIG_TOPIC)
    figures: list[Figure] = []
    for cooperative in (True, False):
        settings = [f"group.initial.rebalance.delay.ms={INITIAL_DELAY_S * 1000:.0f}"]
        with bridge_child(broker.bootstrap, directory, settings) as (address, bridge):
            before_s = bridge.cpu_s()
            figures += _form(address, cooperative=cooperative)
            figures.append(Figure(name="CPU of the bridge for both", value=bridge.cpu_s() - before_s, unit="s"))
    return figures


def _form(address: str, *, cooperative: bool) -> list[Figure]:
    kind = "cooperative" if cooperative else "eager"
    host, _, port = address.rpartition(":")
    fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)

    def client(number: int) -> ClassicClient:
        return ClassicClient(f"bench-{kind}", BIG_TOPIC, f"member-{number}", cooperative=cooperative)

    fleet.add([client(number) for number in range(MEMBERS)])
    formed_s = fleet.settle(TIMEOUT_S) - INITIAL_DELAY_S
    _check_all_owned(fleet)
    before = [(one.times_called, one.owned) for one in fleet.clients]
    fleet.add([client(MEMBERS)])
    joined_s = fleet.settle(TIMEOUT_S)
    _check_all_owned(fleet)
    called = [one.times_called > calls for one, (calls, _) in zip(fleet.clients, before, strict=False)]
    changed = [one.owned != owned for one, (_, owned) in zip(fleet.clients, before, strict=False)]
    fleet.close()
    bystanders = sum(was_called and not has_changed for was_called, has_changed in zip(called, changed, strict=True))
    what = f"{MEMBERS} {kind} members × {PARTITIONS_OF_BIG_TOPIC} partitions"
    return [
        Figure(
            name=f"{what}: stable after the initial delay of {INITIAL_DELAY_S:g} s",
            value=formed_s,
            unit="s",
            target=FORMED_S,
        ),
        Figure(name=f"one more {kind} member: until all is stable", value=joined_s, unit="s"),
        Figure(
            name=f"one more {kind} member: disturbed although nothing changed for them",
            value=bystanders,
            unit="members",
            target=DISTURBED,
            baseline=Baseline(name="members in a classic rebalance", value=MEMBERS),
            note=f"{sum(called)} heard 27, {sum(changed)} gave something up",
        ),
    ]


def _check_all_owned(fleet: Fleet) -> None:
    owned = fleet.owned()
    if owned != PARTITIONS_OF_BIG_TOPIC:
        raise BenchmarkError(f"{owned} of {PARTITIONS_OF_BIG_TOPIC} partitions are owned in a settled group")
