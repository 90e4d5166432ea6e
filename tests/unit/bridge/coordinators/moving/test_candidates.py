"""Who can be moved now, as the broker or the machines have it, and what is said where nobody can."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.candidates import as_clients_know, as_last_heard, of_order
from bridge.coordinators.moving.places import FACTS
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.migration import route
from bridge.migration.orders import MoveOrder, MoveStage, Obstacle
from bridge.migration.route import Road
from tests.support.adopted_world import adopted_world
from tests.support.moving_world import GENERATION, FakeFacts, MovingWorld, classic_join, described, moving_world
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.reseated_world import described as classic
from tests.support.upstream_world import granted
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition, via_of

ZERO = frozenset({TopicPartition(TOPIC, 0)})
MEMBERS = {"a": ZERO, "b": frozenset[TopicPartition]()}


async def code(world: MovingWorld, to: Road = Road.UPSTREAM, origin: Road = Road.PASS, *members: str) -> str:
    """The one obstacle in the way of an order."""
    return (await obstacle(world, MoveOrder(GROUP, to, tuple(map(MemberId, members))), origin)).code


async def obstacle(world: MovingWorld, order: MoveOrder, origin: Road = Road.PASS) -> Obstacle:
    """The same in full."""
    found = await world.candidates.find(order, origin)
    assert isinstance(found, tuple), found
    (stands,) = found
    assert isinstance(stands, Obstacle)
    return stands


async def test_members_at_the_broker_are_found_at_rest(autojump_clock: MockClock) -> None:
    """A group in a rebalance is waited for: its broker shows no assignments meanwhile."""
    async with moving_world() as world:
        world.at_broker(MEMBERS, "PreparingRebalance")

        async def rest() -> None:
            await trio.sleep(3)
            world.at_broker(MEMBERS)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(rest)
            found = await world.candidates.find(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS)
        assert not isinstance(found, tuple)
        assert {str(one): member.using for one, member in found.items()} == MEMBERS
        order = MoveOrder(GROUP, Road.UPSTREAM, (MemberId("a"),))
        assert of_order(found, order).keys() == {MemberId("a")}


async def test_member_between_join_and_sync_is_waited_for(autojump_clock: MockClock) -> None:
    """Its broker shows what it will have, and its client is about to say another generation than it was heard in."""
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.joined("a")
        via = via_of(RequestRef(0, world.via("a").connection, 0))
        world.roster.joins(via, CLIENT, classic_join("a"))

        async def end() -> None:
            await trio.sleep(3)
            world.joined("a")

        begun_s = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(end)
            found = await world.candidates.find(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS)
        assert not isinstance(found, tuple)
        assert trio.current_time() - begun_s >= 3


async def test_what_stands_in_the_way_is_named(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with a code of its own."""
    async with moving_world() as world:
        world.at_broker({}, "Dead")
        assert await code(world) == "EB-MOVE-103"
        world.at_broker(MEMBERS, "PreparingRebalance")
        assert await code(world) == "EB-MOVE-104"
        world.at_broker(MEMBERS)
        assert await code(world, Road.UPSTREAM, Road.PASS, "nobody") == "EB-MOVE-103"
        assert await code(world, Road.EMBEDDED, Road.PASS, "a") == "EB-MOVE-203"
        assert await code(world, Road.PASS, Road.EMBEDDED, "a") == "EB-MOVE-203"
        assert await code(world, Road.PASS, Road.EMBEDDED) == "EB-MOVE-233"
        assert await code(world, Road.PASS, Road.UPSTREAM) == "EB-MOVE-103"
        assert "is its broker's already" in (await obstacle(world, MoveOrder(GROUP, Road.PASS))).sentence
        named = MoveOrder(GROUP, Road.UPSTREAM, (MemberId("nobody"),))
        assert (await obstacle(world, named)).sentence.endswith("named: nobody")
        monkeypatch.setattr(route, "MOVED_MEMBERS_MAX", 1)
        assert await code(world) == "EB-MOVE-205"
        world.upstream.broker.is_down = True
        assert await code(world) == "EB-MOVE-204"


async def test_obstacles_of_the_group_are_passed_on(autojump_clock: MockClock) -> None:
    """An assignor that no broker has."""
    async with moving_world() as world:
        group = described(MEMBERS)
        world.upstream.broker.described = type(group)(
            error=group.error,
            group_id=group.group_id,
            group_state=group.group_state,
            protocol_type=group.protocol_type,
            protocol_data="of-its-own",
            members=group.members,
        )
        assert await code(world) == "EB-MOVE-115"


async def test_members_with_a_machine_are_found_here(autojump_clock: MockClock) -> None:
    """Nobody needs to be asked."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        found = await world.candidates.find(MoveOrder(GROUP, Road.PASS), Road.UPSTREAM)
        assert not isinstance(found, tuple)
        (member,) = found.values()
        assert (member.generation, member.using, member.protocol_name) == (GENERATION, ZERO, "range")


async def test_member_in_a_rebalance_is_waited_for(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be left behind, and the move be called done; for one that takes too long nobody waits for ever."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        with monkeypatch.context() as patch:
            patch.setattr(world.upstream.groups, "seat", lambda _: None)
            assert await code(world, Road.PASS, Road.UPSTREAM) == "EB-MOVE-103"

        async def rest() -> None:
            await trio.sleep(3)
            monkeypatch.undo()

        monkeypatch.setattr(world.upstream.groups, "seat", lambda _: None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rest)
            found = await world.candidates.find(MoveOrder(GROUP, Road.PASS), Road.UPSTREAM)
        assert not isinstance(found, tuple)
        assert found.keys() == {MemberId("a")}


async def test_group_with_consumers_of_others_is_not_adopted(autojump_clock: MockClock) -> None:
    """They would stay consumer members when the bridge's own are given back; a scout that was left in is none."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        ours, other = (replace(classic(MemberId(one), ()), member_type=1) for one in ("a", "other"))
        scout = replace(other, member_id=SCOUT_ID)
        group = DescribedConsumerGroup(
            error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", members=(ours, scout)
        )
        world.upstream.broker.described = group
        found = await world.candidates.find(MoveOrder(GROUP, Road.EMBEDDED), Road.UPSTREAM)
        assert not isinstance(found, tuple)
        assert found.keys() == {MemberId("a")}
        world.upstream.broker.described = replace(group, members=(ours, other))
        assert await code(world, Road.EMBEDDED, Road.UPSTREAM) == "EB-MOVE-208"
        world.upstream.broker.is_down = True
        assert await code(world, Road.EMBEDDED, Road.UPSTREAM) == "EB-MOVE-204"


async def test_classic_members_of_a_consumer_group_are_reseated(autojump_clock: MockClock) -> None:
    """Ordered to pass, where they are already: if their protocols are known, for a round is played in their place."""
    async with moving_world() as world:
        member = classic(MemberId("a"), (0,))
        world.upstream.broker.described = DescribedConsumerGroup(
            error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", members=(member,)
        )
        assert await code(world, Road.PASS) == "EB-MOVE-219"
        world.joined("a")
        found = await world.candidates.find(MoveOrder(GROUP, Road.PASS), Road.PASS)
        assert not isinstance(found, tuple)
        assert {one: len(it.using) for one, it in found.items()} == {MemberId("a"): 1}
        assert await code(world, Road.PASS, Road.PASS, "a") == "EB-MOVE-103"
        seat = MappedSeat(member_id=MemberId("a"), generation=1, seat_id=MemberId("a"), seat_generation=2)
        world.mapped.put(GROUP, replace(seat, is_called=True))
        assert await code(world, Road.PASS) == "EB-MOVE-104"
        world.mapped.put(GROUP, seat)
        world.upstream.broker.described = replace(world.upstream.broker.described, group_state="Reconciling")
        assert await code(world, Road.PASS) == "EB-MOVE-104"
        world.upstream.broker.is_down = True
        assert await code(world, Road.PASS) == "EB-MOVE-204"


async def test_members_may_be_named_as_their_broker_knows_them(autojump_clock: MockClock) -> None:
    """So the census and tools show them, and a plan draws its shares: nobody was found who had been moved before."""
    async with moving_world() as world:
        world.mapped.put(
            GROUP, MappedSeat(member_id=MemberId("a"), generation=3, seat_id=MemberId("seat-a"), seat_generation=7)
        )
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.at_broker({"seat-a": ZERO, "b": frozenset()})
        named = await world.live.check(MoveOrder(GROUP, Road.UPSTREAM, (MemberId("seat-a"), MemberId("a"))))
        assert (named.stage, [one.member_id for one in named.members]) == (MoveStage.DONE, ["a"])
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM, (MemberId("seat-a"),)))
        await trio.sleep(0.5)
        progress = world.progress()
        assert [one.member_id for one in progress.members] == ["a"]
        assert progress.order.members == ("seat-a",)


@pytest.mark.parametrize("knows", [True, False], ids=["the answer came", "the answer was lost"])
@pytest.mark.parametrize("seat_id", ["seat-a", "a"])
async def test_mapping_is_true_again_behind_a_death_between_join_and_answer(
    autojump_clock: MockClock, knows: bool, seat_id: str
) -> None:
    """Killed while the JoinGroup of a mapped member was on its way: the first word of its client shows what it was
    told, it is answered as its broker answers, and the next order finds it under the id that it knows.
    """
    facts = FakeFacts()
    seat = MappedSeat(member_id=MemberId("a"), generation=3, seat_id=MemberId(seat_id), seat_generation=7)
    async with moving_world(facts) as world:
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.places.write(GROUP)
        world.send("a", classic_join("a"))
        assert [getattr(one, "member_id", None) for one in world.asked("a")] == [seat_id]
    async with moving_world(facts) as world:
        world.mapped.settled = world.router.return_member
        world.at_broker({seat_id: ZERO})
        told, generation = (seat_id, 8) if knows else ("a", 3)
        found: list[object] = []

        async def find() -> None:
            found.append(await world.candidates.find(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(find)
            await trio.sleep(1)
            assert found == []
            ref = world.beat(told, generation)
            asked = world.answer(told, HeartbeatReply(ErrorCode.NONE))
        assert asked == Heartbeat(GROUP, 8 if knows else 7, MemberId(seat_id), None)
        assert world.code(ref) is ErrorCode.NONE
        (members,) = found
        assert isinstance(members, dict)
        assert list(members) == [told]
        assert ("mapped" in facts.kept.get(f"{FACTS}{GROUP}", "")) is not knows
        roads = {one: world.router.road(GROUP, MemberId(one)) for one in ("a", seat_id)}
        expected = {"a": Road.PASS, seat_id: Road.PASS} if knows else {seat_id: Road.PASS, "a": Road.MAPPED}
        assert roads == expected


async def test_mapped_member_that_is_gone_keeps_no_order_waiting(autojump_clock: MockClock) -> None:
    """Behind a restart its broker is asked whether there still is one."""
    facts = FakeFacts()
    seat = MappedSeat(member_id=MemberId("a"), generation=3, seat_id=MemberId("seat-a"), seat_generation=7)
    async with moving_world(facts) as world:
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.places.write(GROUP)
    async with moving_world(facts) as world:
        world.at_broker({"b": ZERO})
        begun_s = trio.current_time()
        found = await world.candidates.find(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS)
        assert not isinstance(found, tuple)
        assert list(found) == ["b"]
        assert trio.current_time() - begun_s < 1
        assert world.mapped.seats_of(GROUP) == {}


async def test_mapped_members_go_by_what_their_clients_know(autojump_clock: MockClock) -> None:
    """Their broker describes them by the ids of their seats."""
    async with adopted_world() as world:
        found = world.clients()
        first, *others = found
        client = MemberId("client")
        seat = MappedSeat(member_id=client, generation=9, seat_id=first, seat_generation=found[first].generation)
        world.mapped.put(GROUP, seat)
        known = as_clients_know(GROUP, found, world.mapped)
        assert known[client] == replace(found[first], member_id=client, generation=9)
        assert set(known) == {client, *others}


async def test_what_mapped_members_said_last_counts(autojump_clock: MockClock) -> None:
    """A broker shows none of a consumer group, and of a classic one the protocol by which the group works."""
    async with adopted_world() as world:
        found = world.clients()
        mapped, silent, _ = found
        said = replace(found[mapped], session_timeout_ms=7_000)
        seat = MappedSeat(member_id=mapped, generation=1, seat_id=mapped, seat_generation=2)
        world.mapped.put(GROUP, replace(seat, member=said))
        world.mapped.put(GROUP, replace(seat, member_id=silent, seat_id=silent))
        shown = {**found, mapped: replace(found[mapped], protocols=(), protocol_name="")}
        assert as_last_heard(GROUP, shown, world.mapped) == {**found, mapped: said}
