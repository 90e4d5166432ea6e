"""Cases of what disturbs a member, for all who say so: rebalances of the bridge, replays, and tables of Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.terms import News
from tests.support.event_stories import Story


@dataclass(frozen=True, slots=True)
class DisturbanceCase:
    """Events of one group, and who is disturbed in each of its rebalances, in their order.

    `alone` is what can be said of each when it ends: what the next one gives back is not known by then.
    """

    events: Sequence[Event]
    disturbed: tuple[tuple[str, ...], ...]
    alone: tuple[tuple[str, ...], ...]
    chains: Mapping[str, str]


def _one(act: Callable[[Story], object], *disturbed: str) -> DisturbanceCase:
    story = Story()
    story.at(0).began(2).target(2)
    name = story.rebalance_id
    act(story.at(1))
    story.at(9).ended()
    return DisturbanceCase(story.events, (disturbed,), (disturbed,), {name: name})


def _cut_short() -> DisturbanceCase:
    story = Story()
    story.at(0).began(2).target(2)
    first = story.rebalance_id
    story.at(1).told("c1", News.REJOIN).releases("c1", "t-0")
    story.at(2).began(3, supersedes=first).target(2)
    second = story.rebalance_id
    story.at(3).gets("c1", "t-0").ended()
    return DisturbanceCase(story.events, (("c1",), ()), ((), ()), {first: first, second: first})


def _left(story: Story) -> None:
    story.told("c1", News.REVOKE).releases("c1", "t-0").gets("c1", "t-0").left("c1")


def _joined(story: Story) -> None:
    story.joined("c1")
    story.gets("c1", "t-0").releases("c1", "t-0").gets("c1", "t-0")


DISTURBANCE_CASES: Mapping[str, DisturbanceCase] = {
    "gets back what it gave up": _one(
        lambda story: story.told("c1", News.REVOKE).releases("c1", "t-0", "t-1").gets("c1", "t-1", "t-0"), "c1"
    ),
    "gets it back in two parts": _one(
        lambda story: story.releases("c1", "t-0", "t-1").gets("c1", "t-0").gets("c1", "t-1"), "c1"
    ),
    "gives up without being told": _one(lambda story: story.releases("c1", "t-0").gets("c1", "t-0"), "c1"),
    "twice": _one(
        lambda story: story.releases("c1", "t-0").gets("c1", "t-0").releases("c1", "t-0").gets("c1", "t-0"), "c1"
    ),
    "gets again what it had not used": _one(lambda story: story.releases("c1", "t-0").gets("c1", "t-0", is_again=True)),
    "gets one of them again and the other one back": _one(
        lambda story: story.releases("c1", "t-0", "t-1").gets("c1", "t-0", is_again=True).gets("c1", "t-1"), "c1"
    ),
    "gets another one": _one(lambda story: story.releases("c1", "t-0").gets("c1", "t-1")),
    "gets more": _one(lambda story: story.releases("c1", "t-0").gets("c1", "t-0", "t-1")),
    "gets less": _one(lambda story: story.releases("c1", "t-0", "t-1").gets("c1", "t-0")),
    "gives up for good": _one(lambda story: story.told("c1", News.REVOKE).releases("c1", "t-0")),
    "only joins again": _one(lambda story: story.told("c1", News.REJOIN).told("c1", News.ASSIGN)),
    "is told and never gives up": _one(lambda story: story.told("c1", News.REVOKE).loses("c1", "t-0")),
    "has left since": _one(_left),
    "has just come": _one(_joined),
    "one of two": _one(
        lambda story: story.releases("c1", "t-0").releases("c2", "t-1").gets("c1", "t-0").gets("c2", "t-2"), "c1"
    ),
    "gets it back from the next one": _cut_short(),
}
