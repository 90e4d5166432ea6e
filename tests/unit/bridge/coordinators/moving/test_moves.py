"""What operators ask of moves: one a group at a time, checked, told, remembered."""

import json
from contextlib import nullcontext

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.moving.candidates import LOOK_S
from bridge.coordinators.moving.journey import Journey
from bridge.coordinators.moving.places import FACTS
from bridge.coordinators.moving.resting import RestingGroup
from bridge.coordinators.moving.sight import WaysHeard
from bridge.coordinators.moving.unfinished import UnfinishedMove
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.migration.orders import MemberStage, MoveOrder, MoveStage, Obstacle
from bridge.migration.route import Road
from tests.support.memory_journal import MemoryJournal
from tests.support.moving_world import GENERATION, FakeFacts, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import GroupId, MemberId, TopicPartition, Via

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
MEMBERS = {"a": ZERO, "b": ONE}
STAYS = MemberStage.STAYS
WAITED_FOR = Obstacle("EB-MOVE-209", "somebody was not heard", "nothing")


async def test_second_order_is_refused_while_one_is_carried_out(autojump_clock: MockClock) -> None:
    """And says which."""
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        await world.order(Road.UPSTREAM)
        refusal = world.live.start(MoveOrder(GROUP, Road.PASS))
        assert (refusal.stage, refusal.obstacles[0].code) == (MoveStage.REFUSED, "EB-MOVE-202")
        assert world.progress().order.destination is Road.UPSTREAM
        assert [move.stage for move in world.live.all()] == [MoveStage.MOVING]


async def test_other_bridges_are_met_before_a_group_becomes_this_ones_own(autojump_clock: MockClock) -> None:
    """One of them may have clients of it by a rule; an order for another road, or a dry run, needs nobody."""
    met: list[int] = []
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.live.meet_bridges = lambda: met.append(1)
        await world.live.check(MoveOrder(GROUP, Road.EMBEDDED))
        world.live.start(MoveOrder(GroupId("another"), Road.UPSTREAM))
        assert met == []
        world.live.start(MoveOrder(GROUP, Road.EMBEDDED))
        assert met == [1]


def came_by(*connections: int) -> WaysHeard:
    """Member a came by these while it was looked at."""
    ways = WaysHeard()
    for connection in connections:
        ways.hear(Via(0, connection), Heartbeat(GROUP, GENERATION, MemberId("a"), None), Catalog())
    return ways


async def test_member_that_came_by_another_connection_than_it_joined_by_is_asked_by_that(
    autojump_clock: MockClock,
) -> None:
    """franz-go beats by one of its own: its broker had it as a consumer member before it read the heartbeat (25)."""
    async with moving_world() as world:
        world.formed(MEMBERS)
        world.candidates.preflight.listen = lambda _: nullcontext(came_by(99))
        await world.order(Road.UPSTREAM)
        assert (world.asked("a"), len(world.asked("b"))) == ([], 1)
        world.answer("b", granted(GENERATION, 1))
        world.beat("a")
        assert [type(one) for one in world.asked("a")] == [ConsumerGroupHeartbeat]


@pytest.mark.parametrize("connections", [(), (1, 99)])
async def test_group_is_proved_to_rest_by_every_connection_that_it_came_by_before(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, connections: tuple[int, ...]
) -> None:
    """From the order until the move has the word on every request."""
    came: list[set[Via]] = []
    monkeypatch.setattr(RestingGroup, "comes_by", lambda _, vias: came.append(set(vias)))
    async with moving_world() as world:
        world.formed(MEMBERS)
        world.candidates.preflight.listen = lambda _: nullcontext(came_by(*connections))
        await world.order(Road.EMBEDDED)
    assert came == [{Via(0, one) for one in connections}]


async def test_bug_in_one_move_keeps_no_other_from_being_looked_after(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of every other group would be held for longer than they may be; each failure is counted."""
    looked: list[GroupId] = []

    def look(journey: Journey) -> None:
        looked.append(journey.progress.now.order.group_id)
        if looked[-1] != GROUP:
            raise ZeroDivisionError

    monkeypatch.setattr(Journey, "look", look)
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.live.start(MoveOrder(GroupId("another"), Road.UPSTREAM))
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(10 * LOOK_S + LOOK_S / 2)
        assert looked.count(GROUP) == looked.count(GroupId("another")) >= 10


async def test_move_that_can_not_be_gone_on_with_keeps_no_bridge_from_starting(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other group is served, and each member of this one where it is known to be; it can be ordered again."""
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.at_broker(MEMBERS)
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(0.1)

    def go_on(_journey: Journey, _unfinished: UnfinishedMove) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Journey, "go_on", go_on)
    async with moving_world(facts, journal) as world:
        assert (world.road(), world.road("a"), world.road("b")) == (Road.PASS, Road.UPSTREAM, Road.PASS)
        assert "move" in json.loads(facts.kept[FACTS + GROUP])
        world.at_broker(MEMBERS)
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        assert world.progress().stage is MoveStage.PREPARING


@pytest.mark.parametrize("allow_rebalance", [True, False])
async def test_move_that_is_gone_on_with_is_the_one_that_was_ordered(
    autojump_clock: MockClock, *, allow_rebalance: bool
) -> None:
    """A plan knows its move by the order: of another it says that an operator has moved the group, and leaves it."""
    facts, order = FakeFacts(), MoveOrder(GROUP, Road.UPSTREAM, (MemberId("a"),), allow_rebalance=allow_rebalance)
    async with moving_world(facts) as world:
        world.formed(MEMBERS)
        world.live.start(order)
        await trio.sleep(0.5)
        assert world.progress().stage is MoveStage.MOVING
    async with moving_world(facts) as world:
        assert world.progress().order == order


async def test_nobody_to_be_moved_is_an_obstacle_and_a_check_changes_nothing(autojump_clock: MockClock) -> None:
    """So is a way that does not exist."""
    async with moving_world() as world:
        world.at_broker({}, "Empty")
        assert (await world.order(Road.UPSTREAM)).obstacles[0].code == "EB-MOVE-103"
        assert (await world.order(Road.PASS)).obstacles[0].code == "EB-MOVE-103"
        assert (await world.order(Road.EMBEDDED)).obstacles[0].code == "EB-MOVE-103"
        world.at_broker(MEMBERS)
        checked = await world.live.check(MoveOrder(GROUP, Road.UPSTREAM))
        assert (checked.stage, len(checked.members), world.road()) == (MoveStage.DONE, 2, Road.PASS)
        assert world.facts.kept == {}


async def test_move_before_an_order_that_is_refused_is_over_in_the_journal(autojump_clock: MockClock) -> None:
    """The order came before that end was written: a restart would go on with what is over."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        world.live.start(MoveOrder(GROUP, Road.EMBEDDED, (MemberId("a"),)))
        await trio.sleep(0.5)
        assert world.progress().stage is MoveStage.REFUSED
        assert "move" not in json.loads(facts.kept[FACTS + GROUP])


async def test_end_of_a_move_before_an_order_that_is_stopped_waits_for_its_members_to_be_written(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bridge killed before that would know neither of the move nor of their machines."""
    facts, is_written = FakeFacts(), False

    async def written(_groups: UpstreamGroups) -> bool:
        await trio.lowlevel.checkpoint()
        return is_written

    async with moving_world(facts) as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        monkeypatch.setattr(UpstreamGroups, "written", written)
        world.answer("a", granted(GENERATION, 0))
        world.live.start(MoveOrder(GROUP, Road.PASS))
        assert world.live.stop(GROUP) is not None
        await trio.sleep(0.5)
        assert world.progress().stage is MoveStage.STOPPED
        assert "move" in json.loads(facts.kept[FACTS + GROUP])
        is_written = True
        await trio.sleep(0.5)
        assert "move" not in json.loads(facts.kept[FACTS + GROUP])


async def test_journal_that_fails_is_asked_about_a_group_no_more_often_for_more_orders(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refused order had it asked ten times a second for good, and a script tries again for hours."""
    asked = 0

    async def written(_groups: UpstreamGroups) -> bool:
        nonlocal asked
        await trio.lowlevel.checkpoint()
        asked += 1
        return False

    async with moving_world() as world:
        monkeypatch.setattr(UpstreamGroups, "written", written)
        world.at_broker({}, "Empty")
        for _ in range(20):
            assert (await world.order(Road.UPSTREAM)).stage is MoveStage.REFUSED
        before = asked
        await trio.sleep(1)
        assert asked - before <= 1 / LOOK_S + 1


async def test_group_that_is_where_it_is_ordered_to_is_told_so(autojump_clock: MockClock) -> None:
    """It was said to have no members, and a rule was advised for it."""
    async with moving_world() as world:
        world.at_broker({"a": ZERO})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.DONE
        world.at_broker({})
        for members in ((), ("a",), ("nobody",)):
            (obstacle,) = (await world.order(Road.UPSTREAM, *members)).obstacles
            assert (obstacle.code, "already" in obstacle.sentence) == ("EB-MOVE-103", members != ("nobody",))


async def test_order_for_a_group_whose_members_are_all_there_is_done(autojump_clock: MockClock) -> None:
    """They were moved one by one, and the rest has left: the group's newcomers go where it was ordered to, as a plan's
    last stage wants it, which was refused after each restart.
    """
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.at_broker({"a": ZERO, "b": frozenset()})
        world.joined("a", "b")
        await world.order(Road.UPSTREAM, "a")
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.DONE
        assert (world.road("a"), world.road("b"), world.road()) == (Road.UPSTREAM, Road.PASS, Road.PASS)
        world.at_broker({})
        (obstacle,) = (await world.order(Road.UPSTREAM, "a")).obstacles
        assert obstacle.code == "EB-MOVE-103"
        assert world.road() is Road.PASS
        checked = await world.live.check(MoveOrder(GROUP, Road.UPSTREAM))
        assert (checked.stage, checked.obstacles, world.road()) == (MoveStage.DONE, (), Road.PASS)
        done = await world.order(Road.UPSTREAM)
        assert (done.stage, done.obstacles, world.road()) == (MoveStage.DONE, (), Road.UPSTREAM)
        await trio.sleep(1)
        kept = json.loads(facts.kept[FACTS + GROUP])
        assert ("move" in kept, kept["road"]) == (False, "upstream")
        assert (await world.order(Road.UPSTREAM)).obstacles[0].code == "EB-MOVE-103"
