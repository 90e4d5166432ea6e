"""The scout of a take-over: where brokers convert for one only, and where it would have partitions dealt anew."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.coordinators.moving.takeover import SCOUT_BEAT_MS
from bridge.migration.orders import MemberStage, MoveOrder, MoveStage
from bridge.migration.route import Road
from tests.support.embedded_world import commit_request
from tests.support.moving_world import GENERATION, MovingWorld, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
ALL = frozenset(TopicPartition(TOPIC, number) for number in range(6))
NOT_FOUND = refused(ErrorCode.GROUP_ID_NOT_FOUND)


def heartbeat(world: MovingWorld, member_id: str) -> ConsumerGroupHeartbeat:
    """The one thing that the broker is asked by a connection."""
    (asked,) = world.asked(member_id)
    assert isinstance(asked, ConsumerGroupHeartbeat), asked
    return asked


async def test_scout_goes_before_where_the_broker_wants_one_and_leaves_behind_all(autojump_clock: MockClock) -> None:
    """Kafka 4.0 and 4.1."""
    async with moving_world() as world:
        world.at_broker({"a": ALL})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", NOT_FOUND)
        world.answer("a", refused(ErrorCode.FENCED_MEMBER_EPOCH))
        scout = heartbeat(world, "a")
        assert (scout.member_id, scout.member_epoch, scout.subscribed_topic_names) == (SCOUT_ID, 0, ())
        world.answer("a", granted(GENERATION))
        assert heartbeat(world, "a").member_epoch == GENERATION
        world.answer("a", granted(GENERATION, *range(6)))
        left = [one for one in world.asked("a") if isinstance(one, ConsumerGroupHeartbeat)]
        assert [(one.member_id, one.member_epoch) for one in left] == [("a", GENERATION), (SCOUT_ID, -1)]


async def test_member_is_not_asked_by_the_connection_of_its_commits_while_its_heartbeat_is_on_its_way(
    autojump_clock: MockClock,
) -> None:
    """Its broker would hear of the switch first, and say that it knows no such classic member (25)."""
    async with moving_world() as world:
        world.at_broker({"a": ALL})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        beat = world.beat("a")
        world.answer("a", NOT_FOUND)
        world.answer("a", refused(ErrorCode.FENCED_MEMBER_EPOCH))
        assert [type(one) for one in world.asked("a")] == [ConsumerGroupHeartbeat, Heartbeat]
        commit = world.send("commits of a", commit_request(GENERATION, "a"))
        world.answer("a", granted(GENERATION))
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE
        assert (heartbeat(world, "a").member_epoch, world.asked("commits of a")) == (GENERATION, [])
        world.answer("a", granted(GENERATION, *range(6)))
        assert [type(one) for one in world.asked("commits of a")] == [OffsetCommit]
        world.answer("commits of a", OffsetCommitReply(topics=()))
        assert isinstance(world.reply(commit), OffsetCommitReply)


async def test_scout_is_kept_alive_as_long_as_somebody_is_waited_for(autojump_clock: MockClock) -> None:
    """Its session may be over before a member of a long one is heard, and everybody be called then."""
    async with moving_world() as world:
        first = frozenset(TopicPartition(TOPIC, number) for number in range(3))
        world.at_broker({"a": first, "b": ALL - first})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", NOT_FOUND)
        world.answer("a", refused(ErrorCode.FENCED_MEMBER_EPOCH))
        world.answer("a", granted(GENERATION))
        world.answer("a", granted(GENERATION, *range(3)))
        world.answer("a", unchanged(GENERATION))
        await trio.sleep(SCOUT_BEAT_MS / 1000 + 0.2)
        kept = [one for one in world.asked("a") if isinstance(one, ConsumerGroupHeartbeat)]
        assert [one.member_epoch for one in kept if one.member_id == SCOUT_ID] == [GENERATION]


def seated_elsewhere(world: MovingWorld) -> None:
    """Members as a release has seated them: under ids in another order than those of their clients."""
    for member_id, seat_id in (("a", "y"), ("b", "x")):
        named = MappedSeat(
            member_id=MemberId(member_id), generation=GENERATION, seat_id=MemberId(seat_id), seat_generation=9
        )
        world.mapped.put(GROUP, named)
    world.at_broker({"y": ZERO, "x": ONE})


async def want_scout(world: MovingWorld, *members: str, allow_rebalance: bool = False) -> list[ConsumerGroupHeartbeat]:
    """Order a move at a broker that converts only for a scout; gives what it is asked then."""
    world.live.start(MoveOrder(GROUP, Road.UPSTREAM, tuple(map(MemberId, members)), allow_rebalance=allow_rebalance))
    await trio.sleep(1)
    world.beat("a")
    world.answer("a", NOT_FOUND)
    world.answer("a", refused(ErrorCode.FENCED_MEMBER_EPOCH))
    return [one for one in world.asked("a") if isinstance(one, ConsumerGroupHeartbeat)]


@pytest.mark.parametrize("members", [(), ("a", "b")], ids=["the group", "these"])
async def test_seats_that_range_would_deal_anew_send_no_scout(
    members: tuple[str, ...], autojump_clock: MockClock
) -> None:
    """Its farewell moves the group's epoch, and range goes by the order of ids, which is not that of the clients."""
    async with moving_world() as world:
        seated_elsewhere(world)
        assert await want_scout(world, *members) == []
        done = world.progress()
        assert (done.stage, done.count(MemberStage.STAYS)) == (MoveStage.REFUSED, 2)
        assert "its assignor would deal anew" in done.verdict


async def test_group_that_was_not_dealt_by_range_sends_no_scout(autojump_clock: MockClock) -> None:
    """The bridge deals its own groups as uniform does, and range has no memory."""
    async with moving_world() as world:
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 5)}), "b": ALL - {TopicPartition(TOPIC, 5)}})
        world.joined("a", "b")
        assert await want_scout(world) == []
        assert world.progress().stage is MoveStage.REFUSED


async def test_scout_goes_where_an_operator_allows_a_rebalance(autojump_clock: MockClock) -> None:
    """Whoever is dealt something else is called, as in any rebalance."""
    async with moving_world() as world:
        seated_elsewhere(world)
        (scout,) = await want_scout(world, allow_rebalance=True)
        assert (scout.member_id, scout.member_epoch) == (SCOUT_ID, 0)
