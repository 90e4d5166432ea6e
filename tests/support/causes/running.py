"""Tells stories, several at a time, each in a group and topics of its own behind a bridge that writes events."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio
from confluent_kafka import KafkaException

from bridge.demo.cluster import create_topics
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import Target
from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.trace.page import draw_page
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcessError, bridge_process
from tests.support.causes.diaries import Accounts
from tests.support.causes.players import Case
from tests.support.causes.setting import PARTITIONS, SESSION_MS, Place, Setting, Silence, place_of, seats_of
from tests.support.causes.stories import STORIES
from tests.support.restarted_bridge import RestartedBridge
from tests.support.two_brokers import two_brokers

AT_A_TIME = 6
EMBEDDED = "embedded-*"
QUICK_GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "15000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}
LINGER_S = 0.5
PAGE = "trace.html"
PATIENT = {"group.consumer.session.timeout.ms": "15000"}
PATIENT_MS = 30_000
"""Sessions that outlast whatever keeps a member waiting on a busy machine."""
RESTARTS, MOVES, FREEZES = "bridge-restart", "coordinator-move", "frozen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the bridge says of the rebalances since the event, the seats of members, and those that were frozen out,
    and how long partitions stood still by the clients' diaries and by the log.

    `fault` if the story could not be told to its end.
    """

    rebalances: tuple[Rebalance, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    silences: Mapping[str, Silence] = field(default_factory=dict)
    accounts: Accounts = Accounts()
    fault: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRunner:
    """Where stories are told: places by Kafka's version and story ("" for those that need nothing of their own)."""

    directory: Path
    places: Mapping[tuple[str, str], Place]
    told: dict[Case, Told] = field(default_factory=dict)
    restarting: trio.Lock = field(default_factory=trio.Lock)

    def tell(self, cases: Iterable[Case]) -> None:
        """Tell these stories; blocks until the last one has been told."""
        trio.run(self._tell_all, tuple(cases))

    async def _tell_all(self, cases: tuple[Case, ...]) -> None:
        limiter = trio.CapacityLimiter(AT_A_TIME)
        async with trio.open_nursery() as nursery:
            for case in cases:
                nursery.start_soon(self._tell, case, limiter)

    async def _tell(self, case: Case, limiter: trio.CapacityLimiter) -> None:
        # One that is down leaves its ports to others that look for some.
        alone = self.restarting if case.story == RESTARTS else contextlib.nullcontext()
        async with alone, limiter:
            try:
                self.told[case] = await self._play(case)
            except (ExceptionGroup, KafkaException, BridgeProcessError) as fault:
                # It belongs to the test of this story, which raises it again.
                self.told[case] = Told(fault=fault)

    async def _play(self, case: Case) -> Told:
        directory = self.directory / "-".join(case)
        directory.mkdir()
        with ExitStack() as running:
            place = self.places.get((case.version, case.story)) or self.places[case.version, ""]
            if case.story == RESTARTS:
                place = await trio.to_thread.run_sync(_mortal, running, place.broker, directory)
            return await self._play_at(place, case, directory)

    @staticmethod
    async def _play_at(place: Place, case: Case, directory: Path) -> Told:
        story = STORIES[case.story]
        topics = (f"{case.group}-topic",)
        partitions = await trio.to_thread.run_sync(create_topics, place.broker, topics, PARTITIONS)
        async with trio.open_nursery() as nursery:
            target = Target(bootstrap=place.bridge, group=case.group, topics=story.topics(case.group))
            fleet = Fleet(nursery, target, partitions, directory)
            session_ms = PATIENT_MS if case.story in (RESTARTS, MOVES, FREEZES) else SESSION_MS
            setting = Setting(case=case, fleet=fleet, place=place, session_ms=session_ms)
            await story.tell(setting)
            await trio.sleep(LINGER_S)
            told, history = await setting.told(), await setting.history()
            silences, accounts = await setting.silences(), await setting.accounts()
            await setting.fleet.stop_all()
        if told:
            (directory / PAGE).write_text(draw_page(told), encoding="utf-8")
        return Told(rebalances=tuple(told), names=seats_of(history), silences=silences, accounts=accounts)


@contextmanager
def open_runner(cases: Iterable[Case], directory: Path) -> Iterator[StoryRunner]:
    """Brokers and bridges for these stories; they end with the runner."""
    wanted = tuple(cases)
    with ExitStack() as running:
        places: dict[tuple[str, str], Place] = {}
        for version in {case.version for case in wanted}:
            root = directory / version
            stories = {case.story for case in wanted if case.version == version}
            places |= {(version, name): place for name, place in _places(running, version, stories, root)}
        yield StoryRunner(directory=directory, places=places)


def _places(running: ExitStack, version: str, stories: set[str], root: Path) -> Iterator[tuple[str, Place]]:
    for name in ("kafka", "bridge", "events", "moved-events"):
        (root / name).mkdir(parents=True)
    settings = BrokerSettings(version=version, properties=QUICK_GROUPS)
    if stories - {MOVES}:
        kafka = running.enter_context(start_broker(settings, directory=root / "kafka"))
        quick = {**QUICK_SETTINGS, **PATIENT, "events.path": str(root / "events")}
        bridge = running.enter_context(
            bridge_process(kafka.bootstrap, [EMBEDDED], root / "bridge", quick, has_admin=True)
        )
        yield "", place_of(bridge, kafka.bootstrap, root / "events")
    if MOVES in stories:
        many = {**QUICK_GROUPS, "offsets.topic.num.partitions": "50"}
        brokers = running.enter_context(two_brokers(version, root / "pair", many))
        quick = {**QUICK_SETTINGS, **PATIENT, "events.path": str(root / "moved-events")}
        bridge = running.enter_context(
            bridge_process(brokers.bootstrap.partition(",")[0], [EMBEDDED], root / "moved", quick)
        )
        place = Place(
            broker=brokers.bootstrap,
            bridge=bridge.bootstrap,
            events=root / "moved-events",
            move_coordinator=brokers.move_coordinator,
        )
        yield MOVES, place
        if stories == {MOVES}:
            yield "", place


def _mortal(running: ExitStack, upstream: str, directory: Path) -> Place:
    quick = {**QUICK_SETTINGS, **PATIENT, "events.path": str(directory / "events")}
    restarted = RestartedBridge(upstream, EMBEDDED, directory, quick)
    running.callback(restarted.kill)
    restarted.start()
    return Place(broker=upstream, bridge=restarted.bootstrap, events=directory / "events", restarted=restarted)
