"""Adoptions between two engines: one in the place of a broker, one the bridge's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from bridge.coordinators.moving.adopt import AdoptMove
from bridge.coordinators.moving.proof import GATHER_S
from bridge.coordinators.rounds import ANSWER_S
from bridge.engine.model import Phase
from bridge.migration.moves.adopt import FAREWELL_MS, Adopted
from bridge.migration.moves.rest import Kept
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from tests.support.adopted_world import MEMBERS, AdoptedWorld, ClientWay, DescribingBroker, Held, adopted_world
from tests.support.classic_bench import transaction_of
from tests.support.engine_bench import GROUP, IDENTITY
from tests.support.round_table import SESSION_MS, join_of
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import NO_MEMBER_ID, GroupId

GONE_ON = [ErrorCode.NONE] * MEMBERS


async def make(move: AdoptMove[Held], world: AdoptedWorld) -> None:
    """Make it while every member heartbeats."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(move.make)
        await trio.sleep(0.01)
        for held in world.beats():
            move.take(held)


async def kept(world: AdoptedWorld, move: AdoptMove[Held] | None = None) -> str:
    """The code of the reason for which a group stays where it is: nobody hears of anything."""
    move = move or world.adopting()
    await make(move, world)
    assert isinstance(move.state, Kept), move.state
    assert not world.groups.holds(GROUP)
    return move.state.reason.code


@pytest.mark.parametrize("instances", [(), ("A", "B")])
async def test_group_is_adopted(instances: tuple[str, ...], autojump_clock: trio.testing.MockClock) -> None:
    """The bridge has everybody with what it has, the broker nobody; what waited is answered here."""
    async with adopted_world(instances) as world:
        move, generation = world.adopting(), world.coordinators.broker.generation
        await make(move, world)
        assert isinstance(move.state, Adopted)
        assert world.coordinators.broker.phase is Phase.EMPTY
        group = world.groups.owner.shard.groups[GROUP]
        assert set(group.members) == {one.member_id for one in world.players}
        for held in (beats := world.beats(generation)):
            world.groups.submit(held.ref, IDENTITY, held.via, held.request)
        await trio.sleep(0.1)
        assert world.codes(beats) == GONE_ON


async def test_requests_wait_from_the_proof_on(autojump_clock: trio.testing.MockClock) -> None:
    """Until then they pass on, and are answered by the broker."""
    async with adopted_world() as world:
        move = world.adopting()
        before = world.beats()
        move.take(before[0])
        assert world.codes(before[:1]) == [ErrorCode.NONE]
        await make(move, world)
        after = world.beats()
        move.take(after[0])
        assert world.codes(after[:1]) == [None]
        assert after[0] in move.take_joins()


async def test_offsets_of_transactions_are_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    """Their producer's connection answers nothing before its broker has taken them: then the group may be left."""
    async with adopted_world() as world:
        move, producer = world.adopting(), MEMBERS
        world.ways_of[producer] = ClientWay(world.coordinators, producer)
        move.take(world.held(replace(transaction_of(), group_id=GROUP), producer))
        await make(move, world)
        assert isinstance(move.state, Adopted)
        assert world.ways_of[producer].asked == 1


async def test_held_request_of_a_lost_connection_is_forgotten(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody waits for its answer; one that has waited long is excused."""
    async with adopted_world() as world:
        move = world.adopting()
        await make(move, world)
        first, second, _ = world.beats()
        move.take(first)
        move.take(second)
        move.disconnected(first.via.connection)
        move.excuse(second.at_ms + 1)
        assert world.codes([first, second]) == [None, ErrorCode.NONE]
        assert first not in move.take_joins()


async def test_member_that_is_not_heard_keeps_the_group(autojump_clock: trio.testing.MockClock) -> None:
    """It comes by another way."""
    async with adopted_world() as world:
        move = world.adopting()
        world.players = world.players[:2]
        started_s = trio.current_time()
        assert await kept(world, move) == "EB-MOVE-223"
        assert trio.current_time() - started_s == pytest.approx(GATHER_S, abs=0.1)


async def test_stopped_move_keeps_the_group(autojump_clock: trio.testing.MockClock) -> None:
    """An operator's word wins as long as nothing has changed."""
    async with adopted_world() as world:
        move = world.adopting()
        move.stop(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator"))
        assert await kept(world, move) == "EB-MOVE-222"


def join_elsewhere(world: AdoptedWorld) -> None:
    """Somebody joins at the broker by another way: the group is in a rebalance."""
    broker = world.coordinators.broker
    promised = broker.join_now(join_of(NO_MEMBER_ID))
    broker.join(join_of(promised.member_id))


def fall_silent(world: AdoptedWorld) -> None:
    """A member's connection answers nothing any more."""
    world.ways_of[1].is_silent = True


@pytest.mark.parametrize("trouble", [join_elsewhere, fall_silent])
async def test_group_that_is_not_at_rest_is_kept(
    trouble: Callable[[AdoptedWorld], None], autojump_clock: trio.testing.MockClock
) -> None:
    """The broker calls somebody, or does not answer in the place of somebody."""
    async with adopted_world() as world:
        trouble(world)
        assert await kept(world) == "EB-MOVE-224"


async def test_member_that_talks_to_the_broker_directly_is_named(autojump_clock: trio.testing.MockClock) -> None:
    """It is a member at rest, and never came by the bridge."""
    async with adopted_world() as world:
        foreign, world.players = world.players[-1], world.players[:-1]
        move = world.adopting()
        assert await kept(world, move) == "EB-MOVE-229"
        assert isinstance(move.state, Kept)
        assert move.state.reason.member_id == foreign.member_id


async def test_bridge_that_serves_nothing_takes_nothing_in(autojump_clock: trio.testing.MockClock) -> None:
    """The group would be nobody's."""
    async with adopted_world() as world:
        world.groups.guard(lambda: Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "not now"))
        assert await kept(world) == "EB-MOVE-227"


@pytest.mark.parametrize("is_heard", [True, False])
async def test_group_of_another_bridge_is_kept(is_heard: bool, autojump_clock: trio.testing.MockClock) -> None:
    """It says that the group is its own, or can't be heard while it is known to be there."""

    async def claim(group_id: GroupId) -> Refusal:
        if not is_heard:
            raise BrokerUnreachable("other bridges can't be heard")
        return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"bridge 2 has {group_id}")

    async with adopted_world() as world:
        world.groups.join_checks.claim = claim
        assert await kept(world) == "EB-MOVE-226"


async def test_other_bridges_are_asked_before_anything_waits(autojump_clock: trio.testing.MockClock) -> None:
    """To meet them for the first time takes seconds, in which sessions ran at the broker; then once more, at once."""
    held: list[bool] = []

    async def claim(_group_id: GroupId) -> None:
        held.append(move._holds_since_ms is not None)

    async with adopted_world() as world:
        world.groups.join_checks.claim = claim
        move = world.adopting()
        for beat in world.beats():
            move.take(beat)
        await move.make()
        assert isinstance(move.state, Adopted)
        assert held == [False, True]


async def test_other_bridges_that_take_their_time_leave_the_group_where_it_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody beats for its members meanwhile: their seats were given up behind that, to whoever had them by then."""

    async def claim(_group_id: GroupId) -> None:
        await trio.sleep(SESSION_MS / 3_000 if move._holds_since_ms is not None else 0)

    async with adopted_world() as world:
        world.groups.join_checks.claim = claim
        move = world.adopting()
        assert await kept(world, move) == "EB-MOVE-226"


async def test_refused_farewell_undoes_the_intake(autojump_clock: trio.testing.MockClock) -> None:
    """The broker keeps the group, and the engine forgets it."""
    async with adopted_world() as world:
        world.coordinators.refuses_leaving = ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert await kept(world) == "EB-MOVE-221"
        assert world.coordinators.broker.phase is Phase.STABLE


async def test_engine_that_can_serve_nothing_is_asked_again_to_forget(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move ended as undone while its journal took nothing: the broker had the group, and the engine had it, too."""
    async with adopted_world() as world:
        give_up, refusals = world.groups.give_up, iter(range(2))

        async def sometimes(group_id: GroupId) -> object:
            await trio.lowlevel.checkpoint()
            return None if next(refusals, None) is not None else await give_up(group_id)

        monkeypatch.setattr(world.groups, "give_up", sometimes)
        world.coordinators.refuses_leaving = ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert await kept(world) == "EB-MOVE-221"
        assert next(refusals, None) is None


@pytest.mark.parametrize("trouble", ["refuses_connections", "loses_answers"])
async def test_unanswered_farewell_is_said_again(trouble: str, autojump_clock: trio.testing.MockClock) -> None:
    """Whether the broker has heard it or not."""
    async with adopted_world() as world:
        setattr(world.coordinators, trouble, 1)
        move = world.adopting()
        await make(move, world)
        assert isinstance(move.state, Adopted)
        assert world.coordinators.broker.phase is Phase.EMPTY


async def test_members_outlive_a_long_farewell(autojump_clock: trio.testing.MockClock) -> None:
    """What their clients say is answered as if all were well, so that it has to count: one that the engine ended
    meanwhile would go on with what others are given.
    """
    async with adopted_world() as world:
        world.coordinators.refuses_connections = 150
        move, generation = world.adopting(), world.coordinators.broker.generation
        started_s = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(move.make)
            while not move.has_ended:
                for held in world.beats(generation):
                    move.take(held)
                await trio.sleep(1)
                move.excuse(TrioClock().now_ms() - 500)
        assert isinstance(move.state, Adopted)
        assert trio.current_time() - started_s > max(one.session_timeout_ms for one in world.players) / 1000
        beats = world.beats(generation)
        for held in (*move.take_joins(), *beats):
            world.to_engine(held)
        await trio.sleep(0.1)
        assert world.codes(beats) == GONE_ON


async def test_farewell_that_nobody_answers_gives_the_group_back(autojump_clock: trio.testing.MockClock) -> None:
    """Its clients are not kept waiting for ever for a coordinator that can't be reached."""
    async with adopted_world() as world:
        world.coordinators.refuses_connections = 10**9
        started_s = trio.current_time()
        assert await kept(world) == "EB-MOVE-250"
        assert trio.current_time() - started_s < (FAREWELL_MS + 2_000) / 1000
        assert world.coordinators.broker.phase is Phase.STABLE


async def test_farewell_to_a_broker_that_stands_still_gives_the_group_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It keeps the connection: the answer was waited for as long as it did, and all commits with it."""
    async with adopted_world() as world:
        world.coordinators.hangs = True
        started_s = trio.current_time()
        with trio.fail_after(2 * FAREWELL_MS / 1000):
            assert await kept(world) == "EB-MOVE-250"
        assert trio.current_time() - started_s < FAREWELL_MS / 1000 + ANSWER_S + 2
        assert world.coordinators.open == 0


async def test_group_that_is_not_described_before_its_members_sessions_end_is_kept(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three questions of ten seconds each, while nobody beat at the broker for members with sessions of six."""

    async def hang(_broker: DescribingBroker, _group_id: str) -> None:
        await trio.sleep_forever()

    async with adopted_world() as world:
        monkeypatch.setattr(DescribingBroker, "describe_group", hang)
        started_s = trio.current_time()
        with trio.fail_after(60):
            assert await kept(world) == "EB-MOVE-225"
        assert trio.current_time() - started_s < min(one.session_timeout_ms for one in world.players) / 1000


async def test_restart_goes_by_the_journal(autojump_clock: trio.testing.MockClock) -> None:
    """A group that was taken in leaves its seats; of one that was not nothing has happened."""
    async with adopted_world() as world:
        move = world.adopting()
        await move.go_on()
        assert isinstance(move.state, Kept)
        again = world.adopting()
        for held in world.beats():
            again.take(held)
        world.coordinators.refuses_connections = 1
        with trio.move_on_after(0.1):
            await again.make()
        assert world.groups.holds(GROUP)
        resumed = world.adopting()
        await resumed.go_on()
        assert isinstance(resumed.state, Adopted)
        assert world.coordinators.broker.phase is Phase.EMPTY
