"""Members that were moved and die: nothing of them is kept for longer than their broker keeps them."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.silent_members import LOOK_S, PASSING_EVERY, REFUSED_SESSIONS
from bridge.migration.moves.members import ClassicMember
from bridge.migration.route import Road
from bridge.ports import GroupRefused
from tests.support.moving_world import BLOB, GENERATION, SESSION_MS, FakeFacts, MovingWorld, moving_world
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import HeartbeatReply, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, TopicPartition

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
KNOWN_S = LOOK_S + SESSION_MS / 1000 + LOOK_S
"""When it is seen at the latest that somebody who just spoke has been silent for a session."""


def put(world: MovingWorld, member_id: str, seat_id: str = "") -> None:
    """A member that its broker knows by another generation, and by its own name unless one is given."""
    member = ClassicMember(
        member_id=MemberId(member_id),
        instance_id=None,
        client=CLIENT,
        protocols=(Protocol("range", BLOB),),
        protocol_name="range",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
        generation=GENERATION,
        using=ZERO,
    )
    seat = MappedSeat(
        member_id=MemberId(member_id),
        generation=GENERATION,
        seat_id=MemberId(seat_id or member_id),
        seat_generation=8,
        member=member,
    )
    world.mapped.put(GROUP, seat)
    world.router.move_member(GROUP, MemberId(member_id), Road.MAPPED)
    world.places.write(GROUP)


async def beat_until_known(world: MovingWorld, member_id: str) -> None:
    """A client that lives."""
    until_s = trio.current_time() + KNOWN_S
    while trio.current_time() < until_s:
        world.beat(member_id)
        world.answer(member_id, HeartbeatReply(ErrorCode.NONE))
        await trio.sleep(3)


async def test_client_that_dies_leaves_no_mapping_behind(autojump_clock: MockClock) -> None:
    """Its own went on for ever, in memory and in the journal; who beats keeps its."""
    async with moving_world() as world:
        put(world, "a", "seat-of-a")
        put(world, "b")
        world.at_broker({"b": ONE})
        await beat_until_known(world, "b")
        assert world.mapped.seats_of(GROUP).keys() == {"b"}
        assert (world.road("a"), world.road("b")) == (Road.PASS, Road.MAPPED)
        assert "seat-of-a" not in "".join(world.facts.kept.values())


async def test_client_that_died_before_a_restart_leaves_none_either(autojump_clock: MockClock) -> None:
    """From the start on it has a session, as at a coordinator that has loaded."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        put(world, "a", "seat-of-a")
    async with moving_world(facts) as world:
        assert world.road("seat-of-a") is Road.MAPPED
        world.at_broker({"seat-of-a": ZERO})
        await trio.sleep(KNOWN_S)
        assert world.mapped.seats_of(GROUP).keys() == {"a"}
        world.at_broker({})
        await trio.sleep(KNOWN_S)
        assert (world.mapped.seats_of(GROUP), world.mapped.unheard(GROUP), facts.kept) == ({}, (), {})
        assert (world.router.moved, world.road("seat-of-a")) == ({}, Road.PASS)


async def test_nobody_is_forgotten_while_the_broker_can_t_be_asked(autojump_clock: MockClock) -> None:
    """Its clients can't reach it either, and are members again behind that."""
    async with moving_world() as world:
        put(world, "a")
        world.at_broker({})
        world.upstream.broker.is_down = True
        await trio.sleep(10 * KNOWN_S)
        assert world.mapped.seats_of(GROUP).keys() == {"a"}
        world.upstream.broker.is_down = False
        await trio.sleep(KNOWN_S)
        assert world.mapped.seats_of(GROUP) == {}


async def test_bridge_that_may_not_see_a_group_goes_by_sessions_alone(autojump_clock: MockClock) -> None:
    """Three of them."""
    async with moving_world() as world:
        put(world, "a")
        world.upstream.broker.raises = GroupRefused("no DESCRIBE")
        # It is there from the first look on, and one session is over at the second.
        await trio.sleep(2 * LOOK_S + 1)
        assert SESSION_MS / 1000 < LOOK_S < REFUSED_SESSIONS * SESSION_MS / 1000 < 2 * LOOK_S
        assert world.mapped.seats_of(GROUP).keys() == {"a"}
        await trio.sleep(LOOK_S)
        assert world.mapped.seats_of(GROUP) == {}


async def test_who_speaks_while_the_broker_is_asked_stays(autojump_clock: MockClock) -> None:
    """A client that was stopped for a while may be no member any more, which its broker tells it."""
    async with moving_world() as world:
        put(world, "a")
        world.at_broker({})
        world.upstream.broker.delay_s = 30
        await trio.sleep(2 * LOOK_S + 5)
        assert world.upstream.broker.asked
        world.beat("a")
        await trio.sleep(40)
        assert world.mapped.seats_of(GROUP).keys() == {"a"}
        world.answer("a", HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID))
        assert world.mapped.seats_of(GROUP) == {}


async def test_group_that_is_being_moved_is_its_move_s(autojump_clock: MockClock) -> None:
    """Who is silent then is asked for in its place."""
    async with moving_world() as world:
        put(world, "a")
        world.at_broker({})
        world.router.place_group(GROUP, Road.MOVING)
        await trio.sleep(10 * KNOWN_S)
        assert world.mapped.seats_of(GROUP).keys() == {"a"}


async def test_group_that_begins_to_be_moved_while_the_broker_is_asked_is_its_move_s_too(
    autojump_clock: MockClock,
) -> None:
    """What it said may be of before the move."""
    async with moving_world() as world:
        put(world, "a")
        world.at_broker({})
        world.upstream.broker.delay_s = 30
        await trio.sleep(2 * LOOK_S + 5)
        assert world.upstream.broker.asked
        world.router.place_group(GROUP, Road.MOVING)
        await trio.sleep(40)
        assert world.mapped.seats_of(GROUP).keys() == {"a"}


@pytest.mark.parametrize("is_seen", [True, False])
async def test_member_that_passes_beside_its_group_and_dies_is_forgotten(
    is_seen: bool, autojump_clock: MockClock
) -> None:
    """Its requests are not read here: the broker's word alone tells, and without it nobody is."""
    async with moving_world() as world:
        world.router.place_group(GROUP, Road.UPSTREAM)
        for name in ("a", "b"):
            world.router.move_member(GROUP, MemberId(name), Road.PASS)
        world.places.write(GROUP)
        world.at_broker({"b": ONE})
        world.upstream.broker.raises = None if is_seen else GroupRefused("no DESCRIBE")
        await trio.sleep((PASSING_EVERY + 1) * LOOK_S)
        assert world.router.moved[GROUP].keys() == ({"b"} if is_seen else {"a", "b"})
        assert ('"a"' in "".join(world.facts.kept.values())) is not is_seen


async def test_only_who_passed_before_the_question_may_be_missing_in_the_answer(autojump_clock: MockClock) -> None:
    """And one that took another road meanwhile is on that."""
    async with moving_world() as world:
        world.router.place_group(GROUP, Road.UPSTREAM)
        world.router.move_member(GROUP, MemberId("a"), Road.PASS)
        world.at_broker({})
        world.upstream.broker.delay_s = 30
        await trio.sleep(PASSING_EVERY * LOOK_S + 5)
        assert world.upstream.broker.asked
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.router.move_member(GROUP, MemberId("b"), Road.PASS)
        await trio.sleep(40)
        assert world.router.moved[GROUP] == {"a": Road.MAPPED, "b": Road.PASS}


async def test_session_of_whom_nothing_is_known_is_that_of_most(autojump_clock: MockClock) -> None:
    """A seat that was written by an older release says nothing of its member."""
    async with moving_world() as world:
        put(world, "a")
        seat = world.mapped.seat(GROUP, MemberId("a"))
        assert seat is not None
        world.mapped.put(GROUP, replace(seat, member=None))
        world.at_broker({})
        await trio.sleep(4 * LOOK_S)
        assert world.mapped.members() == set[MemberRef]()


async def test_who_went_just_before_a_kill_is_forgotten(autojump_clock: MockClock) -> None:
    """That was written a moment too late: it stood in the journal for good, and in the census of what can't be asked.
    Whom a seat may be left of is waited for as long as its broker would have it.
    """
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.upstream.groups.names.put(MemberRef(GROUP, MemberId("a")), MemberId("seat-of-a"))
        for name in ("a", "canary"):
            world.router.move_member(GROUP, MemberId(name), Road.UPSTREAM)
        world.places.write(GROUP)
    async with moving_world(facts, resume_ms=int(2 * LOOK_S * 1000)) as world:
        names = world.upstream.groups.names
        await trio.sleep(1.5 * LOOK_S)
        assert (names.of(GROUP), len(world.router.moved[GROUP])) == ({"a": "seat-of-a"}, 2)
        await trio.sleep(LOOK_S)
        assert (names.of(GROUP), world.router.moved, facts.kept) == ({}, {}, {})


async def test_members_of_a_move_are_not_forgotten(autojump_clock: MockClock) -> None:
    """It knows who has a machine still, and asks for who has none."""
    async with moving_world() as world:
        names = world.upstream.groups.names
        names.put(MemberRef(GROUP, MemberId("a")), MemberId("seat-of-a"))
        world.router.place_group(GROUP, Road.MOVING)
        await trio.sleep(2.5 * LOOK_S)
        assert names.of(GROUP) == {"a": "seat-of-a"}
        world.router.place_group(GROUP, Road.UPSTREAM)
        await trio.sleep(1.5 * LOOK_S)
        assert names.of(GROUP) == {}
