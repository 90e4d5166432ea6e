"""What the event log says of real clients is what these clients say of themselves, on both roads."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from bridge.demo.cluster import create_topics
from bridge.demo.events import Ended, Protocol
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec, ProducerSpec, Target
from bridge.demo.judge_evidence import Evidence
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.telemetry.schema.facts import (
    BridgeStarted,
    Event,
    GroupRevived,
    MemberJoined,
    MemberLeft,
    PartitionsAssigned,
    PartitionsFetched,
    RebalanceBegan,
    RebalanceEnded,
)
from bridge.telemetry.schema.terms import Departure, Outcome, Road
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.logged_events import read_events
from tests.support.logs_side_by_side import events_in, heard_of, open_phases, signs, told_by, without_unseen
from tests.support.restarted_bridge import RestartedBridge

PARTITIONS = 6
PATIENCE_S = 90.0
CLOCK_ERROR_US = 5_000_000
"""A client's callback runs in its own thread, after the answer went by; busy machines take their time."""
QUICK_GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "15000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}
member = partial(MemberSpec, session_timeout_ms=10_000)
"""One is killed and waited for so long; of the others none may be put out because the machine stood still."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka 4.3.1 of this module's own."""
    directory = tmp_path_factory.mktemp("kafka")
    with start_broker(BrokerSettings(version="4.3.1", properties=QUICK_GROUPS), directory=directory) as broker:
        yield broker


async def tell_classic(fleet: Fleet) -> None:
    """Form of two libraries, eager and cooperative apart; one more, one killed, all leave."""
    async with fleet.step("form"):
        await fleet.start(member(seat="k1", program=KAFKA_PYTHON))
        await fleet.start(member(seat="c1", program=CONFLUENT))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("add c2"):
        await fleet.start(member(seat="c2"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("kill c1"):
        await fleet.kill("c1")
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("leave k1"):
        await fleet.stop("k1")
        await fleet.wait_settled(stable_ms=1000)


async def tell_consumer(fleet: Fleet) -> None:
    """The same on the consumer protocol."""
    async with fleet.step("form"):
        await fleet.start(member(seat="c1", protocol=Protocol.CONSUMER))
        await fleet.start(member(seat="c2", protocol=Protocol.CONSUMER))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("add c3"):
        await fleet.start(member(seat="c3", protocol=Protocol.CONSUMER))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("leave c1"):
        await fleet.stop("c1")
        await fleet.wait_settled(stable_ms=1000)


STORIES = {"classic": tell_classic, "consumer": tell_consumer}


async def _told(kafka: KafkaBroker, group: str, story: str, directory: Path) -> tuple[Evidence, list[Event]]:
    """Tell a story through a bridge that writes its event log; gives both sides' accounts."""
    folder = directory / "events"
    settings = {**QUICK_SETTINGS, "events.path": str(folder)}
    topics = (f"{group}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, topics, PARTITIONS)
    with bridge_process(kafka.bootstrap, ["embedded-*"], directory, settings) as bridge:
        async with trio.open_nursery() as nursery:
            fleet = Fleet(
                nursery, Target(bootstrap=bridge.bootstrap, group=group, topics=topics), partitions, directory
            )
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
            await STORIES[story](fleet)
            await fleet.stop_producers()
            await fleet.wait_read()
            await fleet.stop_all()
    return fleet.evidence(), events_in(folder, group)


@pytest.mark.parametrize("story", list(STORIES))
@pytest.mark.parametrize("road", [Road.EMBEDDED, Road.PASSING])
async def test_event_log_says_what_the_clients_say(kafka: KafkaBroker, tmp_path: Path, road: Road, story: str) -> None:
    """Assignments and revocations of every client, in order, at their times; phases and rebalances are whole."""
    evidence, events = await _told(kafka, f"{road.value}-{story}", story, tmp_path)
    assert {event.fact.road for event in events if isinstance(event.fact, MemberJoined)} == {road}
    for log in evidence.members:
        told, heard = told_by(log), heard_of(events, log.seat)
        if not any(isinstance(event, Ended) for event in log.events):
            # Who is killed does not tell what it gives up; the bridge says when it is free.
            heard.pop()
        heard = without_unseen(heard, told)
        assert signs(heard) == signs(told), log.seat
        assert [
            (log.seat, mine.sign, theirs.at_us - mine.at_us)
            for mine, theirs in zip(heard, told, strict=True)
            if abs(theirs.at_us - mine.at_us) > CLOCK_ERROR_US
        ] == []
    assert list(open_phases(events)) == []
    _check_rebalances(events, road)
    departures = {event.fact.departure for event in events if isinstance(event.fact, MemberLeft)}
    assert departures == ({Departure.LEFT, Departure.SESSION_EXPIRED} if story == "classic" else {Departure.LEFT})


def _check_rebalances(events: list[Event], road: Road) -> None:
    began = [event.fact.rebalance_id for event in events if isinstance(event.fact, RebalanceBegan)]
    ended = [event.fact for event in events if isinstance(event.fact, RebalanceEnded)]
    assert began == [fact.rebalance_id for fact in ended]
    assert len(set(began)) == len(began)
    # A broker tells nobody that the last member has left.
    assert ended[-1].outcome is (Outcome.EMPTIED if road is Road.EMBEDDED else Outcome.COMPLETED)
    assert Outcome.COMPLETED in {fact.outcome for fact in ended}
    given = {name for event in events if isinstance(event.fact, PartitionsAssigned) for name in event.fact.partitions}
    fetched = {name for event in events if isinstance(event.fact, PartitionsFetched) for name in event.fact.partitions}
    assert fetched == given


def _open_rebalances(folder: Path) -> set[str]:
    """Rebalances that began and have not ended, as the files say at this moment."""
    facts = [event.fact for event in read_events(folder)] if folder.is_dir() else []
    began = {fact.rebalance_id for fact in facts if isinstance(fact, RebalanceBegan)}
    return began - {fact.rebalance_id for fact in facts if isinstance(fact, RebalanceEnded)}


def _wait_for_rebalance(folder: Path) -> set[str]:
    give_up = time.monotonic() + PATIENCE_S
    while not (found := _open_rebalances(folder)) and time.monotonic() < give_up:
        time.sleep(0.05)
    return found


async def test_rebalance_that_a_crash_cuts_short_is_interrupted_and_taken_up(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    """The next run says so, and who goes on; no event is lost but those of the last moment."""
    folder, group = tmp_path / "events", "embedded-crash"
    settings = {**QUICK_SETTINGS, "events.path": str(folder)}
    bridge = RestartedBridge(kafka.bootstrap, "embedded-*", tmp_path, settings)
    topics = (f"{group}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, topics, PARTITIONS)
    await trio.to_thread.run_sync(bridge.start)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, Target(bootstrap=bridge.bootstrap, group=group, topics=topics), partitions, tmp_path)
        # A member that is asleep gives nothing up, so that the other one has to wait.
        await fleet.start(member(seat="asleep", session_timeout_ms=20_000))
        await fleet.wait_settled(stable_ms=500)
        fleet.freeze("asleep")
        await fleet.start(member(seat="late", session_timeout_ms=20_000))
        cut_short = await trio.to_thread.run_sync(_wait_for_rebalance, folder)
        await trio.to_thread.run_sync(bridge.kill)
        await trio.to_thread.run_sync(bridge.start)
        fleet.thaw("asleep")
        await fleet.wait_settled(stable_ms=500)
        await fleet.stop_all()
    await trio.to_thread.run_sync(bridge.stop)
    facts = [event.fact for event in read_events(folder)]
    ended = {fact.rebalance_id: fact.outcome for fact in facts if isinstance(fact, RebalanceEnded)}
    assert cut_short
    assert {ended[name] for name in cut_short} == {Outcome.INTERRUPTED}
    assert [fact.is_revived for fact in facts if isinstance(fact, BridgeStarted)] == [False, True]
    assert any(isinstance(fact, GroupRevived) for fact in facts)
    assert _open_rebalances(folder) == set()
