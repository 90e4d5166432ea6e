"""What a take-over has to know of topics before it sends a scout, and before an answer counts."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving import journey
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.migration.moves.itinerary import Itinerary, Leg
from bridge.migration.orders import MoveStage
from bridge.migration.route import Road
from tests.support.memory_journal import MemoryJournal
from tests.support.moving_world import GENERATION, FakeFacts, MovingWorld, moving_world
from tests.support.owned_group import TOPIC
from tests.support.upstream_world import TOPIC_ID, granted, refused
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

ALL = frozenset(TopicPartition(TOPIC, number) for number in range(6))
LOOK_S = 1.0
SEEN, UNSEEN = Topic(TOPIC_ID, TOPIC, 6), Topic(TopicId(b"u" * 16), TopicName("made since"), 6)


def wants_scout(world: MovingWorld) -> None:
    """The broker of the pilot converts for a scout only, as Kafka 4.0 and 4.1."""
    world.answer("pilot", refused(ErrorCode.GROUP_ID_NOT_FOUND))
    world.answer("pilot", refused(ErrorCode.FENCED_MEMBER_EPOCH))


def joining_scouts(world: MovingWorld) -> list[ConsumerGroupHeartbeat]:
    """The scouts that are on their way into the group by the pilot's connection."""
    asked = [one for one in world.asked("pilot") if isinstance(one, ConsumerGroupHeartbeat)]
    return [one for one in asked if (one.member_id, one.member_epoch) == (SCOUT_ID, 0)]


async def test_pilot_without_partitions_sends_no_scout_behind_a_restart(autojump_clock: MockClock) -> None:
    """It needs no topic's id to be asked for, and of no topics nothing would be dealt anew: others were called as the
    scout left.
    """
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.at_broker({"pilot": frozenset(), "other": ALL})
        world.joined("pilot", "other")
        await world.order(Road.UPSTREAM)
        assert world.progress().stage is MoveStage.MOVING
    async with moving_world(facts, journal) as world:
        world.beat("pilot")
        wants_scout(world)
        assert (joining_scouts(world), world.upstream.groups.catalog.knows({TOPIC})) == ([], False)
        await trio.sleep(LOOK_S)
        assert world.upstream.groups.catalog.knows({TOPIC})
        world.beat("pilot")
        assert joining_scouts(world) == []


@pytest.mark.parametrize("origin", [Road.PASS, Road.EMBEDDED])
async def test_scout_goes_behind_a_look_at_topics(
    origin: Road, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a group that passes they were looked at with its members; a release needs none."""
    way = Itinerary(origin, Road.UPSTREAM, (Leg.TAKE_OVER,), is_on_its_way=origin is Road.EMBEDDED)
    monkeypatch.setattr(journey, "planned", lambda *_, **__: way)
    async with moving_world() as world:
        world.at_broker({"pilot": ALL})
        world.joined("pilot")
        await world.order(Road.UPSTREAM)
        looked = world.upstream.broker.asked.count("topics")
        wants_scout(world)
        assert len(joining_scouts(world)) == (origin is Road.PASS)
        await trio.sleep(LOOK_S)
        world.beat("pilot")
        assert len(joining_scouts(world)) == 1
        assert world.upstream.broker.asked.count("topics") == looked + (origin is Road.EMBEDDED)


async def test_answer_with_an_unseen_topic_has_topics_looked_at(autojump_clock: MockClock) -> None:
    """It says nothing before that, and would be the same again for as long as nobody looks."""
    async with moving_world() as world:
        world.at_broker({"pilot": frozenset()})
        world.joined("pilot")
        await world.order(Road.UPSTREAM)
        world.upstream.broker.topics = [SEEN, UNSEEN]
        new = replace(granted(GENERATION), assignment=frozenset({TopicIdPartition(UNSEEN.topic_id, 0)}))
        world.answer("pilot", new)
        assert world.progress().stage is MoveStage.MOVING
        await trio.sleep(LOOK_S)
        world.beat("pilot")
        world.answer("pilot", new)
        assert world.progress().stage is MoveStage.DONE
