"""Bridges before one cluster notice each other; the cluster's coordinator is ours, which answers as Kafka's does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from bridge.coordinators.embedded.bridge_meeting import SESSION_MS, Place
from bridge.coordinators.embedded.other_bridges import HEARING_S, ROUND_S, Bridges
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeBroker, World, embedded_world
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId

MEETING = GroupId("__epochbridge-test")
ORDERS, BILLS = GroupId("orders"), GroupId("bills")
DEAD_MAX_S = 45.0


@dataclass
class Cluster(FakeBroker):
    """A broker whose coordinator is the one of `world`; the way to it may be cut."""

    world: World | None = None
    is_cut: bool = False

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`."""
        await trio.sleep(0.01)
        if self.is_cut or self.world is None:
            raise BrokerUnreachable("the test cut the way")
        if isinstance(request, DescribeGroups) and not self.world.groups.holds(MEETING):
            nobody = DescribedGroup(error=ErrorCode.NONE, group_id=MEETING, group_state="Dead")
            return DescribeGroupsReply(groups=(nobody,))
        ref = self.world.send(request)
        while ref not in self.world.replies:  # noqa: ASYNC110 - the world tells nobody
            await trio.sleep(0.01)
        reply = self.world.replies[ref]
        return reply


@dataclass
class Bridge:
    """One life of a bridge."""

    name: str
    world: World
    live: set[GroupId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.broker = Cluster(world=self.world)
        place = Place(bridge=self.name, where=f"at {self.name}", group_id=MEETING)
        self.bridges = Bridges(self.broker, place, self._all_live, self.live.__contains__, TrioClock().now_ms)
        self.scope = trio.CancelScope()
        self.surveys = 0

    def _all_live(self) -> set[GroupId]:
        self.surveys += 1
        return self.live

    async def run(self) -> None:
        """Live until killed."""
        with self.scope:
            await self.bridges.run()

    async def has(self, group_id: GroupId) -> bool:
        """Whether a new member may come."""
        if await self.bridges.claim(group_id) is not None:
            return False
        self.live.add(group_id)
        return True


class Start(Protocol):
    """Makes a bridge, and has it live."""

    def __call__(self, name: str, *live: GroupId) -> Bridge:
        """`live` are the groups that its journal knows."""
        ...


@asynccontextmanager
async def cluster() -> AsyncIterator["Start"]:
    """Makes bridges before one cluster."""
    async with embedded_world() as world, trio.open_nursery() as nursery:

        def start(name: str, *live: GroupId) -> Bridge:
            bridge = Bridge(name, world, set(live))
            nursery.start_soon(bridge.run)
            return bridge

        yield start
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("names", ["ab", "ba"])
async def test_first_has_it_and_both_say_so_until_it_is_dead(names: str, autojump_clock: MockClock) -> None:
    """Whoever has the lesser name; other groups are nobody's business."""
    async with cluster() as start:
        first = start(names[0])
        assert await first.has(ORDERS)
        await trio.sleep(5)
        second = start(names[1])
        await trio.sleep(10)
        assert not await second.has(ORDERS)
        assert await second.has(BILLS)
        assert not await first.has(BILLS), "it may not be said yet who has it"
        await trio.sleep(2 * ROUND_S)
        assert not await first.has(BILLS), "its client tries again"
        assert set(first.bridges.told) == {ORDERS}
        assert first.bridges.refused_count == 1
        first.scope.cancel()
        began_s = trio.current_time()
        while not await second.has(ORDERS):  # noqa: ASYNC110 - as its client does
            await trio.sleep(1)
        assert SESSION_MS / 1000 - ROUND_S - 2 < trio.current_time() - began_s < DEAD_MAX_S


async def test_restart_goes_on_at_once_and_late_return_comes_second(autojump_clock: MockClock) -> None:
    """The journal says who the bridge is and what it had; what another has meanwhile is the other's."""
    async with cluster() as start:
        first, second = start("a"), start("b")
        assert await first.has(ORDERS)
        await trio.sleep(10)
        assert not await second.has(ORDERS)
        first.scope.cancel()
        again = start("a", ORDERS)
        assert await again.has(ORDERS)
        await trio.sleep(10)
        assert (await again.has(ORDERS), await second.has(ORDERS)) == (True, False)
        again.broker.is_cut = True
        await trio.sleep(DEAD_MAX_S)
        assert await second.has(ORDERS)
        again.broker.is_cut = False
        await trio.sleep(3 * ROUND_S)
        assert set(again.bridges.lost) == {ORDERS}
        assert again.bridges.refusal(ORDERS) is not None
        assert not second.bridges.lost


async def test_claim_asks_of_its_own_group_alone(autojump_clock: MockClock) -> None:
    """A bridge with 10,000 groups that claims each went through all of them for each."""
    async with cluster() as start:
        alone = start("a")
        assert await alone.has(ORDERS)
        await trio.sleep(5)
        surveys = alone.surveys
        for number in range(200):
            assert await alone.bridges.claim(GroupId(f"group-{number}")) is None
        assert alone.surveys == surveys


async def test_many_at_once_never_both_have_a_group(autojump_clock: MockClock) -> None:
    """Both have been there for a while, and clients of the same groups come by both in the same moment."""
    groups = [GroupId(f"g{number}") for number in range(30)]
    async with cluster() as start:
        one, two = start("a"), start("b")
        await trio.sleep(15)
        async with trio.open_nursery() as nursery:
            for group_id in groups:
                nursery.start_soon(one.has, group_id)
                nursery.start_soon(two.has, group_id)
        assert not one.live & two.live
        for group_id in groups:
            for _ in range(10):
                if await one.has(group_id) or await two.has(group_id):
                    break
                await trio.sleep(1)
        assert one.live | two.live == set(groups)
        assert not one.live & two.live


async def test_empty_group_is_anybodys(autojump_clock: MockClock) -> None:
    """A group goes with its last member."""
    async with cluster() as start:
        one, two = start("a"), start("b")
        await trio.sleep(15)
        assert await one.has(ORDERS)
        assert not await two.has(ORDERS)
        one.live.clear()
        one.bridges.forget(ORDERS)
        await trio.sleep(ROUND_S)
        assert await two.has(ORDERS)


async def test_cluster_that_refuses_the_group_is_served_all_the_same(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """And that is said."""

    class Refusing(FakeBroker):
        async def ask_coordinator(self, request: Request) -> Reply:
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            if isinstance(request, JoinGroup):
                return JoinGroupReply(error=code, member_id=NO_MEMBER_ID)
            assert isinstance(request, DescribeGroups)
            return DescribeGroupsReply(groups=(DescribedGroup(error=code, group_id=MEETING),))

    place = Place(bridge="a", where="here", group_id=MEETING)
    bridges = Bridges(Refusing(), place, lambda: (), lambda _: False, TrioClock().now_ms)
    assert await bridges.claim(ORDERS) is None
    assert "EB-BRIDGES-008" in caplog.text
    assert f"lacks the right READ on the group {str(MEETING)!r}; give it" in caplog.text


@pytest.mark.parametrize("answer_s", [0.01, 2.0, 60.0])
async def test_only_bridge_does_not_wait_for_its_own_group(answer_s: float, autojump_clock: MockClock) -> None:
    """An empty group's first join takes Kafka three seconds; and the group's coordinator may be slow or down."""

    class Slow(FakeBroker):
        async def ask_coordinator(self, request: Request) -> Reply:
            if not isinstance(request, DescribeGroups):
                await trio.sleep(3)
                raise BrokerUnreachable("nobody is at home")
            await trio.sleep(answer_s)
            nobody = DescribedGroup(error=ErrorCode.NONE, group_id=MEETING, group_state="Dead")
            return DescribeGroupsReply(groups=(nobody,))

    place = Place(bridge="a", where="here", group_id=MEETING)
    bridges = Bridges(Slow(), place, lambda: (), lambda _: False, TrioClock().now_ms)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bridges.run)
        await wait_all_tasks_blocked()
        for number in range(3):
            began_s = trio.current_time()
            assert await bridges.claim(GroupId(f"g{number}")) is None
            assert trio.current_time() - began_s <= HEARING_S
        nursery.cancel_scope.cancel()


async def test_bridge_that_leaves_frees_its_groups_at_once(autojump_clock: MockClock) -> None:
    """It would not know them again."""
    async with cluster() as start:
        one, two = start("a"), start("b")
        await trio.sleep(15)
        assert await one.has(ORDERS)
        assert not await two.has(ORDERS)
        await one.bridges.leave()
        one.scope.cancel()
        began_s = trio.current_time()
        while not await two.has(ORDERS):  # noqa: ASYNC110 - as its client does
            await trio.sleep(1)
        assert trio.current_time() - began_s < SESSION_MS / 2000


async def test_copied_journal_fences_the_earlier(autojump_clock: MockClock) -> None:
    """Two that say that they are the same can't be told apart: the earlier serves nothing until the other is gone."""
    async with cluster() as start:
        one = start("a")
        assert await one.has(ORDERS)
        await trio.sleep(5)
        two = start("a")
        await trio.sleep(3 * ROUND_S)
        refusal = one.bridges.refusal(ORDERS)
        assert refusal is not None
        assert "EB-BRIDGES-004" in refusal.reason
        assert not await one.has(BILLS)
        await two.bridges.leave()
        two.scope.cancel()
        await trio.sleep(3 * ROUND_S)
        assert await one.has(BILLS)
