"""What comes across a move: clients that subscribe anew, and operators who change their minds; and whether the page
about it names tests that there are.
"""

import re
from pathlib import Path

import trio
from trio.testing import MockClock

from bridge.migration.orders import MemberStage, MoveOrder, MoveStage
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, MovingWorld, classic_join, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, decode_subscription
from translators.dialects.consumer_protocol import encode_subscription as encode
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
OTHER = TopicName("another")
ROOT = Path(__file__).parents[5]
PAGE = ROOT / "docs/explanation/moves/bad-input.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
BOTH_TOPICS = encode(Subscription(version=0, topics=(OTHER, TOPIC)))


def only(world: MovingWorld, member_id: str) -> ConsumerGroupHeartbeat | JoinGroup:
    """The one thing that the broker is asked by a connection."""
    (asked,) = world.asked(member_id)
    assert isinstance(asked, ConsumerGroupHeartbeat | JoinGroup), asked
    return asked


async def test_member_that_subscribes_anew_while_it_is_taken_over_does_so_as_a_consumer(
    autojump_clock: MockClock,
) -> None:
    """Whether it is asked for or waits for its turn: first it is switched as it was, then it says what it wants now."""
    async with moving_world() as world:
        world.at_broker({"a": ZERO, "b": ONE})
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        joins = {name: world.send(name, classic_join(name, BOTH_TOPICS)) for name in ("a", "b")}
        assert world.asked("b") == []
        for name, number in (("a", 0), ("b", 1)):
            switching = only(world, name)
            assert isinstance(switching, ConsumerGroupHeartbeat)
            assert (switching.member_epoch, switching.subscribed_topic_names) == (GENERATION, (TOPIC,))
            world.answer(name, granted(GENERATION, number))
        assert (world.progress().stage, world.progress().count(MemberStage.MOVED)) == (MoveStage.DONE, 2)
        await trio.sleep(0.1)
        for name, number in (("a", 0), ("b", 1)):
            # What it says first, as it was taken over, is still on its way.
            first = only(world, name)
            assert isinstance(first, ConsumerGroupHeartbeat)
            assert set(first.subscribed_topic_names or ()) == {TOPIC}
            world.answer(name, granted(GENERATION, number))
            await trio.sleep(0.1)
            wants = only(world, name)
            assert isinstance(wants, ConsumerGroupHeartbeat)
            assert set(wants.subscribed_topic_names or ()) == {OTHER, TOPIC}
            assert world.reply(joins[name]) is None
            world.answer(name, granted(GENERATION + 1, number))
        await trio.sleep(0.1)
        # It is asked for once more: what the other one wants concerns it. Before that the group is described, once for
        # the epoch that it came to.
        assert isinstance(world.answer("b", None), ConsumerGroupDescribe)
        world.answer("b", unchanged(GENERATION + 1))
        await trio.sleep(0.1)
        assert [world.code(ref) for ref in joins.values()] == [ErrorCode.NONE] * 2


async def test_member_that_subscribes_anew_while_it_is_given_back_does_so_at_its_broker(
    autojump_clock: MockClock,
) -> None:
    """Its own JoinGroup waits for the one in its place: one that overtook it would leave that unanswered for ever."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(0.1)
        while world.asked("a"):
            world.answer("a", unchanged(GENERATION))
        world.beat("a")
        await trio.sleep(0.1)
        await world.order(Road.PASS, "a")
        join = world.send("a", classic_join("a", BOTH_TOPICS))
        played = only(world, "a")
        assert isinstance(played, JoinGroup)
        assert decode_subscription(played.protocols[0].metadata).topics == (TOPIC,)
        taken = JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("a"), generation=9, protocol_name="range")
        world.answer("a", taken)
        world.assigns("a", ZERO)
        assert world.progress().stage is MoveStage.DONE
        own = only(world, "a")
        assert isinstance(own, JoinGroup)
        assert set(decode_subscription(own.protocols[0].metadata).topics) == {OTHER, TOPIC}
        world.answer("a", JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("a"), generation=10))
        assert world.code(join) is ErrorCode.NONE


async def test_operator_who_returns_while_a_move_runs_is_told_to_stop_it_first(autojump_clock: MockClock) -> None:
    """Nothing of the move changes; stopped, who was not asked for stays, and the way back is one order."""
    async with moving_world() as world:
        world.at_broker({"a": ZERO, "b": ONE})
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        returned = world.live.start(MoveOrder(GROUP, Road.PASS))
        assert (returned.stage, [one.code for one in returned.obstacles]) == (MoveStage.REFUSED, ["EB-MOVE-202"])
        assert "--stop" in returned.obstacles[0].remedy
        dry = await world.live.check(MoveOrder(GROUP, Road.PASS))
        assert dry.stage.has_ended
        assert world.progress().order.destination is Road.UPSTREAM
        world.live.stop(GROUP)
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        stopped = world.progress()
        assert (stopped.stage, stopped.count(MemberStage.STAYS)) == (MoveStage.STOPPED, 2)
        assert [world.road(one) for one in ("a", "b", "new")] == [Road.PASS] * 3
        await trio.sleep(0.1)
        assert world.facts.kept == {}


def test_page_names_tests_that_there_are() -> None:
    """Each row has one, and none was renamed or taken away."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    assert len(rows) > 15
    for row in rows:
        named = NAMED.findall(row)
        assert named, row
        for path, name in named:
            text = (ROOT / path).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{path} has no {name}"
