"""Groups that were given back become classic ones at a broker, which is our own engine behind a scout's door."""

from dataclasses import replace

import pytest
import trio
import trio.lowlevel

from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.engine.model import Phase
from bridge.migration.moves.reseat import Called, Reseated
from bridge.migration.moves.rest import Kept
from tests.support.engine_bench import GROUP
from tests.support.reseated_world import HOLD_MS, ReseatedWorld, described, reseated_world
from tests.support.round_table import SESSION_MS
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId

IN, OUT = JOIN_EPOCH, LEAVE_EPOCH
GONE_ON = [ErrorCode.NONE] * 3
SESSION_S = SESSION_MS / 1000
SLOWLY_S = 0.9 * SESSION_S / 3
"""Nearly as long as requests may wait."""


async def reseat(world: ReseatedWorld) -> object:
    """Make the move; gives where it ended."""
    move = world.move()
    await move.make()
    assert not world.adopted.coordinators.open
    return move.state


async def test_group_is_reseated_and_its_members_go_on(autojump_clock: trio.testing.MockClock) -> None:
    """Under the generation that they know; what they are mapped to was written."""
    async with reseated_world() as world:
        old = world.adopted.coordinators.broker.generation
        assert await reseat(world) == Reseated()
        assert world.scouting.epochs == [IN, OUT]
        assert world.adopted.coordinators.broker.phase is Phase.STABLE
        seats = world.adopted.mapped.seats_of(GROUP).values()
        assert {(seat.generation, seat.seat_generation) for seat in seats} == {(old, old + 1)}
        assert world.adopted.written == [frozenset(seat.seat_id for seat in seats)]
        for beat in (beats := world.adopted.beats(old)):
            world.adopted.to_mapped(beat)
        await trio.sleep(0.1)
        assert world.adopted.codes(beats) == GONE_ON


async def test_requests_wait_from_the_proof_on(autojump_clock: trio.testing.MockClock) -> None:
    """They are somebody else's to let go; one whose connection is lost is forgotten, one that waited long excused."""
    async with reseated_world() as world:
        move = world.move()
        await move.make()
        first, second, third = world.adopted.beats()
        for held in (first, second, third):
            move.take(held)
        move.disconnected(first.via.connection)
        move.excuse(second.at_ms + 1)
        assert move.take_joins() == []
        assert world.adopted.codes([first, second, third]) == [None, ErrorCode.NONE, ErrorCode.NONE]


async def test_requests_pass_until_everybody_was_heard(autojump_clock: trio.testing.MockClock) -> None:
    """Whose connection is lost is waited for."""
    async with reseated_world() as world:
        move = world.move()
        beat = world.adopted.beats()[1]
        move.disconnected(beat.via.connection)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(move.make)
            await trio.sleep(1)
            move.take(beat)
        assert world.adopted.codes([beat]) == [ErrorCode.NONE]
        assert move.state == Reseated()


async def test_scout_is_announced_with_the_members_as_they_are_then(autojump_clock: trio.testing.MockClock) -> None:
    """One that joined while others were waited for knows another generation than it did when the move began."""
    async with reseated_world() as world:
        move = world.move()
        now = {member_id: one.generation for member_id, one in move._members.items()}
        move._members = {name: replace(one, generation=one.generation - 1) for name, one in move._members.items()}
        await move.make()
        assert world.written == now


@pytest.mark.parametrize("answered", [0, 1], ids=["as it joins", "as it leaves"])
async def test_scout_that_is_never_answered_ends_in_time(autojump_clock: trio.testing.MockClock, answered: int) -> None:
    """While it is asked for, everybody waits, and the broker ends who is silent for a session."""
    async with reseated_world() as world:
        world.scouting.answers = [*[ErrorCode.NONE] * answered, *[None] * 10_000]
        begun_s = trio.current_time()
        state = await reseat(world)
        assert isinstance(state, (Kept, Called))
        assert trio.current_time() - begun_s < 3 * HOLD_MS / 1000


@pytest.mark.parametrize("answered", [0, 1], ids=["as it joins", "as it leaves"])
async def test_scout_of_a_broker_that_stands_still_ends_in_time(
    autojump_clock: trio.testing.MockClock, answered: int
) -> None:
    """It keeps the connection: the answer was waited for as long as it did, and all clients with it."""
    async with reseated_world() as world:
        world.scouting.answers_most = answered
        begun_s = trio.current_time()
        with trio.fail_after(60):
            state = await reseat(world)
        assert isinstance(state, (Kept, Called))
        assert trio.current_time() - begun_s < 3 * HOLD_MS / 1000


@pytest.mark.parametrize("answered", [0, 1], ids=["as it joins", "as it leaves"])
@pytest.mark.parametrize("stands_still", [False, True])
async def test_silence_ends_before_a_session_does(
    answered: int, stands_still: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """From the last beat on: the description behind it had a third of a session of its own, and the scout two more."""
    async with reseated_world() as world:
        world.broker.takes_s = [0, *[SLOWLY_S] * 20]
        if stands_still:
            world.scouting.answers_most = answered
        else:
            world.scouting.answers = [*[ErrorCode.NONE] * answered, *[None] * 10_000]
        begun_s = trio.current_time()
        state = await reseat(world)
        assert isinstance(state, Called)
        assert trio.current_time() - begun_s < 0.9 * SESSION_S


async def test_scout_is_not_sent_when_its_journal_took_too_long(autojump_clock: trio.testing.MockClock) -> None:
    """Its members are at rest still, and have waited for long."""
    async with reseated_world() as world:
        world.writes_s = 1.1 * SESSION_S / 3
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert (state.reason.code, world.scouting.epochs) == ("EB-MOVE-206", [])


@pytest.mark.parametrize("is_to_be_cleared", [False, True])
async def test_rounds_end_before_a_session_does(is_to_be_cleared: bool, autojump_clock: trio.testing.MockClock) -> None:
    """Where the broker lets nobody in, for whatever reason, it may let others in, and give them what these have."""
    async with reseated_world() as world:
        world.scouting.is_classic = is_to_be_cleared
        # Sessions begin anew with the scout's farewell, and where there is no scout with the proof.
        world.broker.takes_s = [0, SLOWLY_S if is_to_be_cleared else 0, 0.2]
        world.adopted.coordinators.hangs = True
        move = world.move(is_to_be_cleared=is_to_be_cleared)
        since_s = trio.current_time()
        await move.make()
        assert isinstance(move.state, Called)
        assert move.state.reason.code == "EB-MOVE-244"
        assert 0.8 * SESSION_S < trio.current_time() - since_s < 0.9 * SESSION_S


async def test_classic_group_is_left_alone(autojump_clock: trio.testing.MockClock) -> None:
    """The last static member that came back made it one."""
    async with reseated_world() as world:
        world.scouting.is_classic = True
        assert await reseat(world) == Reseated()
        assert (world.scouting.epochs, world.adopted.mapped.seats_of(GROUP)) == ([], {})


async def test_connections_of_the_round_are_open_before_anybody_waits(autojump_clock: trio.testing.MockClock) -> None:
    """A thousand of them, each with its handshakes, take longer than requests may be held: no round was ever over in
    time, and all members were called.
    """
    async with reseated_world() as world:
        world.scouting.is_classic = True
        world.adopted.coordinators.connect_s = 2 * HOLD_MS / 1000
        move = world.move(is_to_be_cleared=True)
        await move.make()
        assert move.state == Reseated()


@pytest.mark.parametrize("is_resumed", [False, True])
async def test_classic_group_is_cleared_of_user_data(is_resumed: bool, autojump_clock: trio.testing.MockClock) -> None:
    """By a round that gives everybody what it has and nothing beside, without a scout; members are mapped behind it."""
    async with reseated_world() as world:
        world.scouting.is_classic = True
        old = world.adopted.coordinators.broker.generation
        move = world.move(is_to_be_cleared=True)
        await (move.go_on() if is_resumed else move.make())
        assert (move.state, world.scouting.epochs) == (Reseated(), [])
        seats = world.adopted.mapped.seats_of(GROUP).values()
        assert {(seat.generation, seat.seat_generation) for seat in seats} == {(old, old + 1)}


async def test_only_the_classic_group_that_was_described_is_cleared(autojump_clock: trio.testing.MockClock) -> None:
    """One that has become a consumer group meanwhile carries nothing, or has a member that nobody knows, is kept."""
    async with reseated_world() as world:
        move = world.move(is_to_be_cleared=True)
        await move.make()
        assert isinstance(move.state, Kept)
        assert move.state.reason.code == "EB-MOVE-228"
        world.scouting.is_classic = True
        known = world.move(is_to_be_cleared=True)
        known._members = dict(list(known._members.items())[1:])
        await known.make()
        assert isinstance(known.state, Kept)
        assert known.state.reason.code == "EB-MOVE-229"


async def test_round_without_descriptors_for_all_is_not_begun(autojump_clock: trio.testing.MockClock) -> None:
    """They would be those of the journal. What was begun before a restart goes on, and takes what there is."""
    async with reseated_world() as world:
        coordinators = world.adopted.coordinators
        members = len(world.adopted.players)
        coordinators.room = members
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert (state.reason.code, world.scouting.epochs) == ("EB-MOVE-257", [])
        resumed = world.move()
        await resumed.go_on()
        assert resumed.state == Reseated()
        assert coordinators.room == members
        coordinators.room += 1
        assert coordinators.reserve(members + 1) == 0


async def test_group_with_others_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """Somebody came by another way, or is a consumer member."""
    async with reseated_world() as world:
        world.broker.strangers = (described(MemberId("stranger"), (), member_type=1),)
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert (state.reason.code, world.scouting.epochs) == ("EB-MOVE-241", [])


@pytest.mark.parametrize("reconverts", [False, None])
async def test_policy_that_keeps_consumer_groups_keeps_it(
    reconverts: bool | None, autojump_clock: trio.testing.MockClock
) -> None:
    """A scout that leaves would call everybody, and change nothing else."""
    async with reseated_world() as world:
        world.reconverts = reconverts
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert (state.reason.code, world.scouting.epochs) == ("EB-MOVE-243", [])


async def test_nothing_begins_that_is_not_written(autojump_clock: trio.testing.MockClock) -> None:
    """After a restart nobody would know of the scout."""
    async with reseated_world() as world:
        world.writes = False
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert (state.reason.code, world.scouting.epochs) == ("EB-MOVE-206", [])


@pytest.mark.parametrize("questions", [1, 2])
async def test_broker_that_does_not_describe_keeps_it(questions: int, autojump_clock: trio.testing.MockClock) -> None:
    """At the first look; a second time it is asked behind the proof."""
    async with reseated_world() as world:
        world.broker.unreachable = questions
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert state.reason.code == "EB-MOVE-225"


async def test_coordinator_that_loads_behind_the_scout_calls_nobody(autojump_clock: trio.testing.MockClock) -> None:
    """What the group is then was not said: it was taken for a consumer group, and all its members had to join."""
    async with reseated_world() as world:
        seen = [ErrorCode.NONE, ErrorCode.NONE]
        world.broker.errors = [*seen, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        assert await reseat(world) == Reseated()
        assert world.broker.errors == []


async def test_stopped_move_keeps_it(autojump_clock: trio.testing.MockClock) -> None:
    """As long as no scout was sent."""
    async with reseated_world() as world:
        move = world.move()
        move.stop(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator"))
        await move.make()
        assert isinstance(move.state, Kept)
        assert (move.state.reason.code, move.has_ended) == ("EB-MOVE-240", True)


async def test_refused_scout_changes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """The bridge's own login lacks a right."""
    async with reseated_world() as world:
        world.scouting.answers = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        state = await reseat(world)
        assert isinstance(state, Kept)
        assert state.reason.code == "EB-MOVE-242"


@pytest.mark.parametrize("lost", [None, ErrorCode.NOT_COORDINATOR])
async def test_unanswered_scout_says_it_again(lost: ErrorCode | None, autojump_clock: trio.testing.MockClock) -> None:
    """On its way in and on its way out, under the same id."""
    async with reseated_world() as world:
        world.scouting.answers = [lost, ErrorCode.NONE, lost, ErrorCode.UNKNOWN_MEMBER_ID if lost is None else lost]
        assert await reseat(world) == Reseated()
        assert world.scouting.epochs[:3] == [IN, IN, OUT]
        assert SCOUT_ID not in {seat.seat_id for seat in world.adopted.mapped.seats_of(GROUP).values()}


async def test_broker_that_keeps_the_type_calls_everybody(autojump_clock: trio.testing.MockClock) -> None:
    """Its policy is another than it said; who is mapped is told to join."""
    async with reseated_world() as world:
        world.scouting.converts = False
        state = await reseat(world)
        assert isinstance(state, Called)
        assert state.reason.code == "EB-MOVE-243"


async def test_refused_farewell_ends_the_move(autojump_clock: trio.testing.MockClock) -> None:
    """The right was lost in the middle: the scout ends with its session, and everybody joins."""
    async with reseated_world() as world:
        world.scouting.answers = [ErrorCode.NONE, ErrorCode.GROUP_AUTHORIZATION_FAILED]
        state = await reseat(world)
        assert isinstance(state, Called)
        assert state.reason.code == "EB-MOVE-242"


async def test_round_that_the_broker_refuses_calls_everybody(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody knows in which generation they are."""
    async with reseated_world() as world:
        world.adopted.coordinators.refuses_joins_from = 0
        state = await reseat(world)
        assert isinstance(state, Called)
        assert state.reason.code == "EB-MOVE-244"


async def test_restart_sends_the_scout_again(autojump_clock: trio.testing.MockClock) -> None:
    """Whatever the first life came to; everything waits from the beginning."""
    async with reseated_world() as world:
        first = world.move()
        await first.make()
        resumed = world.move()
        beat = world.adopted.beats()[0]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resumed.go_on)
            await trio.testing.wait_all_tasks_blocked()
            resumed.take(beat)
        assert resumed.state == Reseated()
        assert world.adopted.codes([beat]) == [None]
        assert world.scouting.epochs == [IN, OUT, IN, OUT]


async def test_failure_before_the_scout_keeps_it(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing has happened, so nothing has to be gone on with."""
    async with reseated_world() as world:
        move = world.move()
        with trio.move_on_after(1):
            move.disconnected(0)
            await move.make()
        await move.go_on()
        assert isinstance(move.state, Kept)
        assert (move.state.reason.code, world.scouting.epochs) == ("EB-MOVE-245", [])
