"""Stories with a known cause, and where there is one a known slow member, told by real clients on a real Kafka."""

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
import trio

from bridge.demo.events import Protocol as Speaks
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import KAFKA_PYTHON, MemberSpec, Target
from bridge.demo.fleet_topics import create_topics
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.telemetry.rebalances.stories import Rebalance
from bridge.telemetry.schema.terms import Cause
from bridge.telemetry.trace.selection import Wanted, find_rebalances
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process

ROADS = ("embedded", "pass")
PARTITIONS = 6
FOREVER_US = 10**15
QUICK_GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}


class Specify(Protocol):
    """Makes a member of one kind."""

    def __call__(self, *, seat: str, instance_id: str | None = None) -> MemberSpec:
        """One that sits on this seat."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """A fleet, how its members are specified, and when the event that a story is about began."""

    fleet: Fleet
    member: Specify
    began_us: list[int]

    async def form(self, *seats: str) -> None:
        """Members come, one after the other."""
        for seat in seats:
            await self.fleet.start(self.member(seat=seat))
            await self.fleet.wait_settled(stable_ms=1000)

    def begin(self) -> None:
        """What follows is the story's event."""
        self.began_us.append(time.time_ns() // 1000)


async def tell_first_join(stage: Stage) -> None:
    """A group's first member."""
    stage.begin()
    await stage.form("a")


async def tell_join(stage: Stage) -> None:
    """A second one."""
    await stage.form("a")
    stage.begin()
    await stage.form("b")


async def tell_leave(stage: Stage) -> None:
    """One of two goes."""
    await stage.form("a", "b")
    stage.begin()
    await stage.fleet.stop("b")
    await stage.fleet.wait_settled(stable_ms=1000)


async def tell_expiry(stage: Stage) -> None:
    """One of two is killed."""
    await stage.form("a", "b")
    stage.begin()
    await stage.fleet.kill("b")
    await stage.fleet.wait_settled(stable_ms=1000)


async def tell_slow_member(stage: Stage) -> None:
    """A third one comes while another one hears nothing for two seconds."""
    await stage.form("a", "b")
    stage.fleet.freeze("b")
    stage.begin()
    await stage.fleet.start(stage.member(seat="c"))
    await trio.sleep(2.0)
    stage.fleet.thaw("b")
    await stage.fleet.wait_settled(stable_ms=1000)


async def tell_deployment(stage: Stage) -> None:
    """Two members are replaced."""
    await stage.form("a", "b")
    for seat in ("a", "b"):
        stage.begin()
        await stage.fleet.roll(stage.member(seat=seat))
        await stage.fleet.wait_settled(stable_ms=1000)


async def tell_static_return(stage: Stage) -> None:
    """A static member is killed, expires, and comes back."""
    await stage.form("a")
    static = stage.member(seat="b", instance_id="seat-b")
    await stage.fleet.start(static)
    await stage.fleet.wait_settled(stable_ms=1000)
    await stage.fleet.kill("b")
    await stage.fleet.wait_settled(stable_ms=1000)
    stage.begin()
    await stage.fleet.start(static)
    await stage.fleet.wait_settled(stable_ms=1000)


@dataclass(frozen=True, slots=True)
class Story:
    """What happens, and what is to be said of the first rebalance after it: cause, whose, and who was slow."""

    tell: Callable[[Stage], Awaitable[None]]
    cause: Cause
    seats: frozenset[str]
    slow: str = ""


STORIES = {
    "first-join": Story(tell_first_join, Cause.FIRST_JOIN, frozenset("a")),
    "join": Story(tell_join, Cause.JOIN, frozenset("b")),
    "leave": Story(tell_leave, Cause.LEAVE, frozenset("b")),
    "expiry": Story(tell_expiry, Cause.SESSION_EXPIRED, frozenset("b")),
    "slow-member": Story(tell_slow_member, Cause.JOIN, frozenset("c"), slow="b"),
    "deployment": Story(tell_deployment, Cause.DEPLOY_WAVE, frozenset("ab")),
    "static-return": Story(tell_static_return, Cause.STATIC_RETURN, frozenset("b")),
}
KINDS: dict[str, Specify] = {
    "classic": partial(MemberSpec, session_timeout_ms=4000),
    "eager-python": partial(MemberSpec, session_timeout_ms=4000, program=KAFKA_PYTHON),
    "consumer": partial(MemberSpec, session_timeout_ms=None, heartbeat_interval_ms=None, protocol=Speaks.CONSUMER),
}


@dataclass(frozen=True, slots=True)
class Scenery:
    """A Kafka, a bridge before it, and the folder that it writes events to."""

    kafka: KafkaBroker
    bridge: BridgeProcess
    events: Path


@pytest.fixture(name="scenery", scope="module")
def _scenery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenery]:
    events = tmp_path_factory.mktemp("events")
    settings = {**QUICK_SETTINGS, "events.path": str(events)}
    broker = BrokerSettings(version="4.3.1", properties=QUICK_GROUPS)
    with (
        start_broker(broker, directory=tmp_path_factory.mktemp("kafka")) as kafka,
        bridge_process(kafka.bootstrap, ["embedded-*"], tmp_path_factory.mktemp("bridge"), settings) as bridge,
    ):
        yield Scenery(kafka, bridge, events)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`--matrix=all` tells every story by every kind of client on both roads, otherwise kinds and roads take turns."""
    if "kind" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--matrix") == "all"
        metafunc.parametrize(
            ("road", "kind", "story"),
            [
                (road, kind, story)
                for place, story in enumerate(STORIES)
                for turn, kind in enumerate(KINDS)
                for road in ROADS
                if everything or (turn == place % len(KINDS) and road == ROADS[place % len(ROADS)])
            ],
        )


async def test_story_is_labelled_rightly(scenery: Scenery, tmp_path: Path, road: str, kind: str, story: str) -> None:
    """The cause, the members that caused it, and who was waited for are those that the story was made with."""
    group = f"{road}-{kind}-{story}"
    topics = (f"{group}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, scenery.kafka.bootstrap, topics, PARTITIONS)
    began_us: list[int] = []
    async with trio.open_nursery() as nursery:
        target = Target(bootstrap=scenery.bridge.bootstrap, group=group, topics=topics)
        fleet = Fleet(nursery, target, partitions, tmp_path)
        await STORIES[story].tell(Stage(fleet, KINDS[kind], began_us))
        await trio.sleep(0.5)
        told = find_rebalances(scenery.events, Wanted(group_id=group, since_us=FOREVER_US))
        await fleet.stop_all()
    after = [rebalance for rebalance in told if rebalance.began_wall_us >= began_us[-1]]
    expected = STORIES[story]
    explained = after[0].explained
    sentences = [one.explained.sentence for one in told]
    assert (explained.cause, _seats(told, explained.caused_by)) == (expected.cause, expected.seats), sentences
    if expected.slow:
        critical = tuple(one.explained.critical_member for one in after if one.explained.critical_member)
        assert expected.slow in _seats(told, critical), sentences


def _seats(rebalances: list[Rebalance], member_ids: tuple[str, ...]) -> frozenset[str]:
    clients = {member.member_id: member.client_id for one in rebalances for member in one.members}
    return frozenset(clients.get(member_id, member_id) for member_id in member_ids)
