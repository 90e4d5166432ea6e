"""Releases between two engines: one the bridge's own, one in the place of a broker."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
import trio

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving import release
from bridge.coordinators.moving.engine_members import REST_S
from bridge.coordinators.moving.release import ReleaseMove
from bridge.coordinators.rounds import ANSWER_S, Lines
from bridge.engine.model import Phase
from bridge.migration.moves.adopt import Adopted
from bridge.migration.moves.release import WITHDRAWAL_MS, AwaitingLapse, Kept, Playing, Released, Withdrawing
from bridge.net.clock import TrioClock
from tests.support.adopted_world import MEMBERS, AdoptedWorld, Held, adopted_world
from tests.support.embedded_world import commit_request, native_join
from tests.support.engine_bench import FOO, GROUP, IDENTITY
from tests.support.round_table import SESSION_MS, join_of
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId

LOOK_S = 0.0005
"""Shorter than what any part of a move takes at the broker of these tests."""
LOOKS_MAX = 100


def has_members(world: AdoptedWorld) -> bool:
    """Whether the broker has anybody."""
    return world.coordinators.broker.phase is not Phase.EMPTY


async def adopt(world: AdoptedWorld) -> int:
    """Have the group here; gives the generation that its clients know."""
    move, generation = world.adopting(), world.coordinators.broker.generation
    for held in world.beats():
        move.take(held)
    await move.make()
    assert isinstance(move.state, Adopted)
    return generation


async def kept(world: AdoptedWorld, move: ReleaseMove[Held] | None = None) -> str:
    """The code of the reason for which a group stays here: the broker has nobody, and no member is mapped."""
    move = move or world.releasing()
    await move.make()
    assert isinstance(move.state, Kept), move.state
    assert world.groups.holds(GROUP)
    assert not has_members(world)
    assert not world.mapped.seats_of(GROUP)
    return move.state.reason.code


async def test_group_that_the_engine_can_not_let_go_stays(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal failed as it was handed over: the broker had its members, and the engine had them, too."""
    async with adopted_world() as world:
        await adopt(world)

        async def give_up(_group_id: GroupId) -> None:
            await trio.lowlevel.checkpoint()

        monkeypatch.setattr(world.groups, "give_up", give_up)
        assert await kept(world) == "EB-MOVE-256"


@pytest.mark.parametrize("instances", [(), ("A", "B")])
async def test_group_is_released(instances: tuple[str, ...], autojump_clock: trio.testing.MockClock) -> None:
    """The broker has everybody with what its client has, the bridge nobody; requests go on by the mapping."""
    async with adopted_world(instances) as world:
        generation = await adopt(world)
        move = world.releasing()
        await move.make()
        assert isinstance(move.state, Released)
        assert not world.groups.holds(GROUP)
        seats = world.mapped.seats_of(GROUP)
        has = {one.member_id: one.give for one in world.players}
        members = world.coordinators.broker.group.members
        assert {seat.member_id: members[seat.seat_id].assignment for seat in seats.values()} == has
        assert {seat.generation for seat in seats.values()} == {generation}
        assert world.written == [{seat.seat_id for seat in seats.values()}]
        beats = world.beats(generation)
        for held in beats:
            world.to_mapped(held)
        assert world.codes(beats) == [ErrorCode.NONE] * MEMBERS


async def test_connections_of_the_round_are_open_before_everybody_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """They are opened while the first member pays the broker's initial delay: in the round, which may last a third of a
    session, a thousand of them with their handshakes did not come about.
    """
    async with adopted_world() as world:
        await adopt(world)
        world.coordinators.connect_s = 6.0
        move = world.releasing(hold_ms=3_000)
        await move.make()
        assert isinstance(move.state, Released)
        assert world.coordinators.open == 0


@pytest.mark.parametrize(("room", "is_released"), [(MEMBERS + 1, True), (MEMBERS, False)])
async def test_round_without_descriptors_for_all_is_not_begun(
    room: int, is_released: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """It took those that are kept for the journal and for the bridge's own questions; afterwards they are others'."""
    async with adopted_world() as world:
        await adopt(world)
        world.coordinators.room = room
        if is_released:
            move = world.releasing()
            await move.make()
            assert isinstance(move.state, Released)
        else:
            assert await kept(world) == "EB-MOVE-257"
        assert world.coordinators.room == room


async def test_first_member_keeps_its_seat_while_connections_hang(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sends heartbeats for it until the round: connections that took longer than its session cost it its seat,
    and the group its move.
    """

    async def hang(_self: Lines, _members: Iterable[MemberId | None]) -> None:
        await trio.sleep(2 * SESSION_MS / 1000)

    monkeypatch.setattr(Lines, "open", hang)
    async with adopted_world() as world, trio.open_nursery() as nursery:

        async def live() -> None:
            while True:
                await trio.sleep(1)
                world.coordinators.pass_time(int(trio.current_time() * 1000))
                for held in world.beats(generation):
                    move.take(held)

        generation, move = await adopt(world), world.releasing()
        nursery.start_soon(live)
        await move.make()
        nursery.cancel_scope.cancel()
        assert isinstance(move.state, Released), move.state


async def test_group_goes_there_and_back_again(autojump_clock: trio.testing.MockClock) -> None:
    """The second time its members are mapped: their clients keep what they know."""
    async with adopted_world() as world:
        generation = await adopt(world)
        await world.releasing().make()
        again = world.adopting()
        for held in world.beats(generation):
            again.take(held)
        await again.make()
        assert isinstance(again.state, Adopted)
        beats = world.beats(generation)
        for held in beats:
            world.groups.submit(held.ref, IDENTITY, held.via, held.request)
        await trio.sleep(0.1)
        assert world.codes(beats) == [ErrorCode.NONE] * MEMBERS


async def test_commits_and_joins_wait_and_heartbeats_go_on(autojump_clock: trio.testing.MockClock) -> None:
    """While one member waits at the broker a simple commit would be refused."""
    async with adopted_world() as world:
        generation = await adopt(world)
        move = world.releasing()
        (beat, *_), commit = world.beats(generation), world.held(commit_request(generation), 0)
        join = world.held(join_of(NO_MEMBER_ID), 0)
        for held in (beat, commit, join):
            move.take(held)
        await trio.sleep(0.1)
        assert world.codes([beat]) == [ErrorCode.NONE]
        assert move.take_joins() == [commit, join]


async def test_nothing_goes_on_while_the_round_is_played(autojump_clock: trio.testing.MockClock) -> None:
    """A request of a lost connection is forgotten; one that has waited long is excused, but for a join."""
    async with adopted_world() as world:
        generation = await adopt(world)
        move = world.releasing()
        await move.make()
        first, second, third = world.beats(generation)
        join = world.held(join_of(world.players[0].member_id), 2)
        for held in (first, second, third, join):
            move.take(held)
        assert world.codes([first, second, third]) == [None] * MEMBERS
        move.disconnected(first.via.connection)
        move.excuse(second.at_ms + 1)
        assert world.codes([first, second, third]) == [None, ErrorCode.NONE, ErrorCode.NONE]
        assert move.take_joins() == [join]


async def test_who_joined_since_the_order_with_a_shorter_session_is_excused_by_that(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As while an id is waited for to lapse: its heartbeats waited for a third of the sessions of those before it."""
    async with adopted_world() as world:
        generation = await adopt(world)
        longest_ms = 60_000
        move = world.releasing(longest_ms)
        await move.make()
        (beat, *_) = world.beats(generation)
        move.take(beat)
        for waited_s, answer in ((1, None), (join_of(NO_MEMBER_ID).session_timeout_ms / 3_000, ErrorCode.NONE)):
            await trio.sleep(waited_s)
            move.excuse(TrioClock().now_ms() - longest_ms)
            assert world.codes([beat]) == [answer]


async def test_group_with_members_of_the_consumer_protocol_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """They have no seat in a classic group."""
    async with adopted_world() as world:
        await adopt(world)
        world.embedded.send(replace(native_join("native"), group_id=GROUP, subscribed_topic_names=(FOO,)))
        await trio.sleep(0.1)
        assert await kept(world) == "EB-MOVE-143"


async def test_group_that_does_not_rest_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """A commit that is never answered."""
    async with adopted_world() as world:
        generation = await adopt(world)
        request = commit_request(generation, world.players[0].member_id)
        world.embedded.send(replace(request, group_id=GROUP))
        started_s = trio.current_time()
        assert await kept(world) == "EB-MOVE-234"
        assert trio.current_time() - started_s == pytest.approx(REST_S, abs=0.1)


async def test_stopped_move_keeps_the_group(autojump_clock: trio.testing.MockClock) -> None:
    """An operator's word wins as long as the broker has nobody."""
    async with adopted_world() as world:
        await adopt(world)
        move = world.releasing()
        move.stop(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator"))
        assert await kept(world, move) == "EB-MOVE-231"


async def test_group_that_others_are_in_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """They came to the broker by another way, and stay there."""
    async with adopted_world() as world:
        await adopt(world)
        broker = world.coordinators.broker
        promised = broker.join_now(join_of(NO_MEMBER_ID))
        broker.join(join_of(promised.member_id))
        broker.sync(promised.member_id, assigns={})
        move = world.releasing()
        await move.make()
        assert isinstance(move.state, Kept)
        assert move.state.reason.code == "EB-MOVE-235"
        assert set(broker.group.members) == {promised.member_id}


async def test_round_that_fails_gives_the_seats_up(autojump_clock: trio.testing.MockClock) -> None:
    """The broker takes no session as short as that of a member; a connection fails while the seats are given up."""
    async with adopted_world() as world:
        await adopt(world)
        world.coordinators.refuses_joins_from = 2
        assert await kept(world) == "EB-MOVE-238"


async def hold_up(world: AdoptedWorld, move: ReleaseMove[Held], nursery: trio.Nursery) -> None:
    """A bridge was killed between the id that a seat got and the JoinGroup with it; the broker waits for that id."""
    world.coordinators.broker.join_now(join_of(NO_MEMBER_ID))
    nursery.start_soon(move.make)
    for _ in range(round(30 / LOOK_S)):
        if isinstance(move.state, AwaitingLapse):
            break
        await trio.sleep(LOOK_S)
    assert isinstance(move.state, AwaitingLapse), move.state


async def live_on(world: AdoptedWorld, move: ReleaseMove[Held], generation: int) -> None:
    """The clients beat until the move is over, and are never told anything else than that all is well."""
    for _ in range(60):
        if move.has_ended:
            return
        beats = world.beats(generation)
        for held in beats:
            move.take(held)
        await trio.sleep(1)
        move.excuse(TrioClock().now_ms())
        assert world.codes(beats) == [ErrorCode.NONE] * MEMBERS
    raise AssertionError(move.state)


async def test_round_that_an_id_of_an_earlier_life_holds_up_is_played_behind_its_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """An operator would have to order it again; what is waited for is said, and nothing of the group waits for it."""
    async with adopted_world() as world, trio.open_nursery() as nursery:
        generation = await adopt(world)
        move = world.releasing()
        join = world.held(join_of(NO_MEMBER_ID), 0)
        move.take(join)
        await hold_up(world, move, nursery)
        ((waited_for,),) = world.told
        assert waited_for.code == "EB-MOVE-254"
        assert move.take_joins() == []
        world.coordinators.broker.pass_time(join_of(NO_MEMBER_ID).session_timeout_ms)
        assert not has_members(world)
        await live_on(world, move, generation)
        assert isinstance(move.state, Released)
        assert world.told[1:] == [()]


async def test_round_that_is_held_up_for_longer_than_a_session_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whoever it waits for is no id of an earlier life."""
    async with adopted_world() as world, trio.open_nursery() as nursery:
        generation, move = await adopt(world), world.releasing()
        await hold_up(world, move, nursery)

        async def ask_for_ids() -> None:
            while True:
                await trio.sleep(5)
                world.coordinators.pass_time(TrioClock().now_ms())
                world.coordinators.broker.join_now(join_of(NO_MEMBER_ID))

        nursery.start_soon(ask_for_ids)
        await live_on(world, move, generation)
        nursery.cancel_scope.cancel()
        assert isinstance(move.state, Kept)
        assert move.state.reason.code == "EB-MOVE-239"
        assert world.groups.holds(GROUP)


LAPSE_MS = join_of(NO_MEMBER_ID).session_timeout_ms + release.LAPSE_MARGIN_MS
"""How long the broker may keep an id that was given for one of these members."""


async def test_move_that_waits_for_an_id_to_lapse_can_be_stopped(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker has nobody; so long is waited, and no longer."""
    monkeypatch.setattr(release, "LAPSE_MAX_MS", LAPSE_MS)
    async with adopted_world() as world, trio.open_nursery() as nursery:
        await adopt(world)
        move = world.releasing()
        await hold_up(world, move, nursery)
        move.stop(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator"))
        await trio.sleep(1)
        assert isinstance(move.state, Kept)
        assert move.state.reason.code == "EB-MOVE-231"


async def test_nobody_waits_for_a_session_of_hours(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator is told at once for how long the broker waits."""
    monkeypatch.setattr(release, "LAPSE_MAX_MS", LAPSE_MS - 1)
    async with adopted_world() as world:
        await adopt(world)
        world.coordinators.broker.join_now(join_of(NO_MEMBER_ID))
        move = world.releasing()
        await move.make()
        assert isinstance(move.state, Kept)
        assert (move.state.reason.code, world.told) == ("EB-MOVE-239", [])


async def reach(move: ReleaseMove[Held], state: type[Playing | Withdrawing]) -> None:
    """Wait until a move that is being made is there."""
    for _ in range(LOOKS_MAX):
        if isinstance(move.state, state):
            break
        await trio.sleep(LOOK_S)
    assert isinstance(move.state, state)


async def cut_short(move: ReleaseMove[Held]) -> None:
    """Make a move until its round is played, and no further."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(move.make)
        await reach(move, Playing)
        nursery.cancel_scope.cancel()


async def test_restart_in_the_middle_gives_the_seats_up(autojump_clock: trio.testing.MockClock) -> None:
    """The journal has the group here: whoever sits at the broker was seated by the life before."""
    async with adopted_world() as world:
        generation = await adopt(world)
        move = world.releasing()
        await cut_short(move)
        assert world.groups.holds(GROUP)
        assert has_members(world)
        world.coordinators.refuses_connections = 1
        resumed = world.releasing()
        await resumed.go_on()
        assert isinstance(resumed.state, Kept)
        assert resumed.state.reason.code == "EB-MOVE-230"
        assert not has_members(world)
        beats = world.beats(generation)
        for held in beats:
            world.groups.submit(held.ref, IDENTITY, held.via, held.request)
        await trio.sleep(0.1)
        assert world.codes(beats) == [ErrorCode.NONE] * MEMBERS


async def test_seats_are_given_up_also_where_the_coordinator_has_only_just_been_started(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It describes nobody while it loads: taken for an empty group, the seats stayed there for their sessions, and the
    broker refused the commits of the group.
    """
    async with adopted_world() as world:
        await adopt(world)
        await cut_short(world.releasing())
        world.broker.errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
        resumed = world.releasing()
        await resumed.go_on()
        assert isinstance(resumed.state, Kept)
        assert not has_members(world)


async def test_group_of_which_it_is_not_said_who_is_in_it_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """Members that do not use the bridge would be removed for the round."""
    async with adopted_world() as world:
        await adopt(world)
        world.broker.errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        assert await kept(world) == "EB-MOVE-237"


@pytest.mark.parametrize("trouble", ["unreachable", "refused", "stands still"])
async def test_seats_that_the_broker_does_not_take_back_are_left_to_it(
    trouble: str, autojump_clock: trio.testing.MockClock
) -> None:
    """The group is the bridge's, as the journal has it; nobody waits for ever."""
    async with adopted_world() as world:
        await adopt(world)
        await cut_short(world.releasing())
        if trouble == "unreachable":
            world.coordinators.refuses_connections = 10**9
        elif trouble == "stands still":
            world.coordinators.hangs = True
        else:
            world.coordinators.refuses_leaving = ErrorCode.GROUP_AUTHORIZATION_FAILED
        resumed, started_s = world.releasing(), trio.current_time()
        with trio.fail_after(2 * WITHDRAWAL_MS / 1000):
            await resumed.go_on()
        assert isinstance(resumed.state, Kept)
        assert resumed.state.reason.code == "EB-MOVE-251"
        assert trio.current_time() - started_s < (WITHDRAWAL_MS + 2_000) / 1000 + ANSWER_S
        assert world.groups.holds(GROUP)


@pytest.mark.parametrize("was_killed", [False, True])
async def test_members_are_the_bridge_s_while_seats_are_not_taken_back(
    was_killed: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Behind a round that failed, or a kill between the mapping and the engine's forgetting: who stayed mapped would go
    on at the broker, and whose heartbeats waited would end here; what it has would be given to others.
    """
    async with adopted_world() as world:
        generation = await adopt(world)
        move = world.releasing()
        if was_killed:
            await cut_short(move)
            move = world.releasing()
            for one in world.players:
                seat = MappedSeat(
                    member_id=one.member_id, generation=generation, seat_id=one.member_id, seat_generation=1
                )
                world.mapped.put(GROUP, seat)
        world.coordinators.refuses_joins_from = 2
        world.coordinators.refuses_leaving = ErrorCode.GROUP_AUTHORIZATION_FAILED
        async with trio.open_nursery() as nursery:
            nursery.start_soon(move.go_on if was_killed else move.make)
            await reach(move, Withdrawing)
            while not move.has_ended:
                beats = world.beats(generation)
                for held in beats:
                    move.take(held)
                await trio.sleep(1)
                assert world.codes(beats) == [ErrorCode.NONE] * MEMBERS
        assert isinstance(move.state, Kept)
        assert move.state.reason.code == "EB-MOVE-251"
        assert not world.mapped.seats_of(GROUP)
