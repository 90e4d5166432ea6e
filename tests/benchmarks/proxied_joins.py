"""What decision 160 weighs: classic clients as members of a broker's consumer group in two ways.

At Kafka itself they are its classic members, who join again at every epoch: a bridge that did that in their place would
join as often. On road upstream each is a KIP-848 member, and joins by itself only if its own share changes.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.services import free_place
from tests.benchmarks.bridge_child import bridge_words
from tests.benchmarks.broker import BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure
from tests.benchmarks.migration import Cost, Stage, topic_of
from tests.benchmarks.processes import command

SIZES = {10: 40, 50: 200}
"""Members -> partitions: four each."""
KINDS = {"eager": False, "cooperative": True}
NATIVE = "native"
QUIET_S = 12.0
"""More than twice the broker's interval, within which KIP-848 members hear of news."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one change of a group cost, and how long it took until nobody had news."""

    cost: Cost
    seconds: float


def measure_proxied_joins(broker: BenchBroker, directory: Path) -> list[Figure]:
    """A member comes, and goes again, at Kafka and at the bridge in turn."""
    make_topics(broker, *map(topic_of, SIZES.values()))
    figures: list[Figure] = []
    with ExitStack() as stack:
        place = free_place()
        words = bridge_words(broker.bootstrap, place, ())
        words[words.index("--embedded")] = "--upstream"
        stack.enter_context(command(words, directory, {}))
        for members in SIZES:
            for kind in KINDS:
                group = f"bench-proxied-{members}-{kind}"
                kafka = _play(broker.bootstrap, f"{group}-kafka", members, kind)
                ours = _play(place.listen, group, members, kind)
                for name, at_kafka, here in zip(("comes", "goes"), kafka, ours, strict=True):
                    figures += _figures(f"{members} classic members ({kind}), one member {name}", here, at_kafka)
    return figures


def _play(address: str, group: str, members: int, kind: str) -> list[Change]:
    """One KIP-848 member makes the group a consumer group; the classic ones come, then another, which goes again."""
    stage = Stage(address, group, cooperative=KINDS[kind], partitions=SIZES[members])
    stage.quiet_s = QUIET_S
    stage.form(stage.native(NATIVE))
    stage.form(*(stage.classic(f"m{number}") for number in range(members)))
    changes: list[Change] = []
    costs: list[Cost] = []
    with stage.step(costs, "late", NATIVE):
        stage.fleet.add([stage.native("late")])
    changes.append(Change(costs[-1], stage.settled_after_s))
    late = next(line for line in stage.fleet.lines if line.client.name == "late")
    with stage.step(costs, NATIVE):
        stage.fleet.dismiss(late, late.client.leave())
    changes.append(Change(costs[-1], stage.settled_after_s))
    stage.fleet.close()
    return changes


def _figures(name: str, ours: Change, kafka: Change) -> list[Figure]:
    theirs = "classic members at Kafka"
    return [
        Figure(
            name=f"{name}: joins of those who were there",
            value=ours.cost.joins,
            unit="joins",
            baseline=Baseline(name=theirs, value=kafka.cost.joins),
            note=f"disturbed for nothing: {ours.cost.disturbed}; there: {kafka.cost.disturbed}",
        ),
        Figure(
            name=f"{name}: until nobody had news",
            value=ours.seconds,
            unit="s",
            baseline=Baseline(name=theirs, value=kafka.seconds),
            note=f"nobody's partitions: {ours.cost.unowned_s:.1f} partition-s; there: {kafka.cost.unowned_s:.1f}",
        ),
    ]
