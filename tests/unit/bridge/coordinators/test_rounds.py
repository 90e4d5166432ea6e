"""Rounds played over connections of the bridge's own, under a virtual clock."""

import pytest
import trio

from bridge.coordinators.rounds import ANSWER_S, OPEN_S, Lines, leave_seats, play
from bridge.engine.model import Phase
from bridge.migration.moves.round_values import Failed, Played, Round, RoundFailure, RoundPlayer
from bridge.migration.orders import Obstacle
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from tests.support.adopted_world import adopted_world
from tests.support.engine_bench import GROUP
from tests.support.engine_coordinators import EngineCoordinators
from tests.support.round_table import BOUND_MS, RoundTable, player
from translators.dialects.classic import JoinGroup, LeaveGroup
from translators.dialects.errors import ErrorCode


def formed(count: int) -> tuple[EngineCoordinators, tuple[RoundPlayer, ...]]:
    """A broker with a Stable group, and its members."""
    table = RoundTable()
    players = table.form(count)
    return EngineCoordinators(table.broker), players


def round_of(players: tuple[RoundPlayer, ...], generation: int) -> Round:
    """A round that may begin now."""
    deadline_ms = TrioClock().now_ms() + BOUND_MS
    return Round(group_id=GROUP, players=players, deadline_ms=deadline_ms, generation=generation)


async def test_round_is_played_by_a_connection_for_each(autojump_clock: trio.testing.MockClock) -> None:
    """A parked JoinGroup holds up nobody else's, and all connections are closed in the end."""
    coordinators, players = formed(4)
    before = coordinators.broker.generation
    played = await play(coordinators, TrioClock(), round_of(players, before))
    assert isinstance(played, Played)
    assert (played.generation, coordinators.open) == (before + 1, 0)
    assert coordinators.names == {"client"}
    assert len(coordinators.asked) == 2 * len(players)


async def test_round_goes_by_connections_that_were_opened_ahead(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever waits for it does not wait for them; one that could not be had is opened when it is asked by."""
    coordinators, players = formed(4)
    lines = Lines(coordinators, GROUP)
    coordinators.refuses_connections = 1
    await lines.open([one.member_id for one in players])
    assert coordinators.open == 3
    await lines.open([one.member_id for one in players])
    assert coordinators.open == 4
    coordinators.refuses_connections = 1_000
    played = await play(coordinators, TrioClock(), round_of(players, coordinators.broker.generation), lines)
    assert isinstance(played, Played)
    assert (coordinators.refuses_connections, coordinators.open) == (1_000, 0)


def test_room_for_a_round_is_kept_until_it_is_given_back() -> None:
    """Or it is said how much there is, and nothing is kept."""
    coordinators, _ = formed(1)
    coordinators.room = 7
    lines, others = Lines(coordinators, GROUP), Lines(coordinators, GROUP)
    for count in (3, 5):
        assert lines.reserve(count) is None
    obstacle = others.reserve(4)
    assert obstacle is not None
    assert obstacle.code == "EB-MOVE-257"
    assert "takes 4 connections" in obstacle.sentence
    assert "for 2 of them" in obstacle.sentence
    for one in (others, lines, lines):
        one.give_back()
    assert coordinators.room == 7


async def test_connections_that_take_too_long_are_waited_for_no_longer(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round asks for those that are missing."""

    async def hang(_self: EngineCoordinators, _broker_id: int) -> None:
        await trio.sleep_forever()

    coordinators, players = formed(3)
    lines, before_s = Lines(coordinators, GROUP), trio.current_time()
    monkeypatch.setattr(EngineCoordinators, "connect_coordinator", hang)
    await lines.open([one.member_id for one in players])
    assert trio.current_time() - before_s == pytest.approx(OPEN_S)


@pytest.mark.parametrize("trouble", ["refuses_connections", "loses_answers", "moved"])
async def test_trouble_on_the_way_is_tried_again(trouble: str, autojump_clock: trio.testing.MockClock) -> None:
    """Connections that fail, answers that get lost, and a group that is elsewhere for a moment."""
    coordinators, players = formed(3)
    setattr(coordinators, trouble, 2)
    played = await play(coordinators, TrioClock(), round_of(players, coordinators.broker.generation))
    assert isinstance(played, Played)
    assert played.generation == coordinators.broker.generation
    assert coordinators.open == 0


async def test_round_that_fails_has_its_newcomers_leave(autojump_clock: trio.testing.MockClock) -> None:
    """A stranger that does not join costs the bound and not more; no connection is left."""
    coordinators, (_, second, third) = formed(3)
    players = (second, third, player("new", 3, ""))
    failed = await play(coordinators, TrioClock(), round_of(players, coordinators.broker.generation))
    assert isinstance(failed, Failed)
    assert failed.failure is RoundFailure.OUT_OF_TIME
    assert isinstance(coordinators.asked[-1], LeaveGroup)
    assert (coordinators.open, len(coordinators.broker.group.pending)) == (0, 0)
    assert trio.current_time() * 1000 < 2 * BOUND_MS
    assert sum(isinstance(one, JoinGroup) for one in coordinators.asked) == len(players) + 1


async def test_all_members_leave_in_one_request(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever has left already does not mind; nobody is asked for nobody."""
    async with adopted_world() as world:
        seats = [one.member_id for one in world.players]
        assert await leave_seats(world.coordinators, GROUP, []) is None
        assert world.coordinators.asked == []
        assert await leave_seats(world.coordinators, GROUP, seats) is None
        assert await leave_seats(world.coordinators, GROUP, seats) is None
        assert world.coordinators.broker.phase is Phase.EMPTY
        assert world.coordinators.open == 0


async def test_answers_that_say_nothing_are_told_from_refusals(autojump_clock: trio.testing.MockClock) -> None:
    """A coordinator that moves is asked again, one that refuses is not."""
    async with adopted_world() as world:
        seats = [one.member_id for one in world.players]
        world.coordinators.refuses_leaving = ErrorCode.NOT_COORDINATOR
        assert isinstance(await leave_seats(world.coordinators, GROUP, seats), BrokerUnreachable)
        world.coordinators.refuses_leaving = ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert isinstance(await leave_seats(world.coordinators, GROUP, seats), Obstacle)


async def test_broker_that_stands_still_is_waited_for_no_longer(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing is known of what it made of the farewell; the connection is given up."""
    async with adopted_world() as world:
        world.coordinators.hangs = True
        begun_s = trio.current_time()
        with trio.fail_after(2 * ANSWER_S):
            seats = [one.member_id for one in world.players]
            assert isinstance(await leave_seats(world.coordinators, GROUP, seats), BrokerUnreachable)
        assert trio.current_time() - begun_s == pytest.approx(ANSWER_S, abs=0.1)
        assert world.coordinators.open == 0
