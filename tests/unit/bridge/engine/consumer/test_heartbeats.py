"""Heartbeats that say nothing new and are to hear nothing new; that they are answered as in a turn is a property."""

from dataclasses import replace

import pytest

from bridge.engine.commands import ResolveRegularExpression, Speaks
from bridge.engine.consumer.heartbeats import take_calm_heartbeat
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import GROUP, IDENTITY, SETTINGS, Bench, beat_request, join_request
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import LEAVE_EPOCH, GroupId, InstanceId, MemberId, TopicName

LATER_MS = 1_000


def settled(*members: str, settings: EngineSettings = SETTINGS) -> Bench:
    """Members that have what they shall have."""
    bench = Bench(settings=settings)
    for member in members:
        bench.join(member)
    bench.settle(*members)
    bench.now_ms += LATER_MS
    return bench


def short(bench: Bench, member: str = "a") -> ConsumerGroupHeartbeat:
    """The heartbeat of a member with nothing to say."""
    return beat_request(member, bench.current(member).epoch)


def is_taken(bench: Bench, request: ConsumerGroupHeartbeat) -> bool:
    """Whether it needs no turn."""
    return take_calm_heartbeat(bench.state, request, IDENTITY, bench.now_ms)


def test_calm_heartbeat_moves_the_session_deadline() -> None:
    """As a turn would."""
    bench = settled("a", "b")
    assert is_taken(bench, short(bench))
    key = DeadlineKey(DeadlineKind.SESSION, GROUP, MemberId("a"))
    assert bench.state.deadlines.due[key] == bench.now_ms + SETTINGS.group_consumer_session_timeout_ms


@pytest.mark.parametrize(
    "change",
    [
        {"group_id": GroupId("another")},
        {"member_id": MemberId("nobody")},
        {"member_epoch": 1},
        {"member_epoch": 0},
        {"member_epoch": LEAVE_EPOCH},
        {"instance_id": InstanceId("seat")},
        {"rack_id": "r1"},
        {"rebalance_timeout_ms": 300_000},
        {"subscribed_topic_names": (TopicName("foo"),)},
        {"subscribed_topic_regex": "b.*"},
        {"server_assignor": "range"},
        {"owned": frozenset()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_heartbeat_that_says_anything_is_not_taken(change: dict[str, object]) -> None:
    """Field by field."""
    bench = settled("a")
    assert is_taken(bench, short(bench))
    assert not is_taken(bench, replace(short(bench), **change))  # type: ignore[arg-type]  # one field of each type


def test_member_that_speaks_for_somebody_else_is_not_taken() -> None:
    """Another client id or host is written down."""
    bench = settled("a")
    other = replace(IDENTITY, client_id="other")
    assert not take_calm_heartbeat(bench.state, short(bench), other, bench.now_ms)


def test_member_with_news_is_not_taken() -> None:
    """Who is to give up, and then who may take, until each has heard of it."""
    bench = settled("a")
    bench.join("b")
    bench.beat("b")
    assert not is_taken(bench, short(bench, "a"))
    assert is_taken(bench, short(bench, "b"))
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    assert not is_taken(bench, short(bench, "b"))
    bench.settle("a", "b")
    assert is_taken(bench, short(bench, "a"))
    assert is_taken(bench, short(bench, "b"))


def test_target_that_is_still_to_come_is_not_passed_by() -> None:
    """With an assignment interval a heartbeat may be what has the next target computed."""
    bench = settled("a", settings=replace(SETTINGS, group_consumer_assignment_interval_ms=60_000))
    bench.join("b")
    assert bench.group.epoch > bench.group.assignment_epoch
    assert not is_taken(bench, short(bench))


def test_translated_member_is_not_taken() -> None:
    """One that sends a KIP-848 heartbeat under its id changes its protocol by it."""
    bench = Bench(settings=replace(SETTINGS, group_initial_rebalance_delay_ms=0))
    bench.ask(join_request("a"), Speaks.CLASSIC)
    assert bench.current("a").epoch > 0
    assert not is_taken(bench, short(bench))


def test_pattern_has_to_be_resolved() -> None:
    """It is asked for again with each heartbeat until it is, and refused if it can't be read."""
    bench = Bench()
    bench.ask(replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    assert not is_taken(bench, short(bench))
    bench.tell(ResolveRegularExpression("b.*", frozenset([TopicName("bar")])))
    bench.settle("a")
    assert is_taken(bench, short(bench))
    bench.tell(ResolveRegularExpression("b.*", frozenset(), "missing )"))
    bench.settle("a")
    assert not is_taken(bench, short(bench))
