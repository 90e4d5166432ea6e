"""What proves a group at rest: every member heard, and every Heartbeat in its place answered."""

import trio

from bridge.coordinators.moving.proof import GATHER_S, ProofOfRest
from bridge.migration.roster import Roster
from tests.support.adopted_world import AdoptedWorld, ClientWay, Held, adopted_world
from tests.support.engine_bench import GROUP
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import Via
from translators.dialects.offsets import OffsetCommit


def proof_of(world: AdoptedWorld) -> ProofOfRest:
    """Of all members of the world."""
    return ProofOfRest(GROUP, world.clients(), {}, lambda via: world.ways_of[via.connection])


async def test_group_at_rest_is_proved(autojump_clock: trio.testing.MockClock) -> None:
    """By what it is heard to say."""
    async with adopted_world() as world:
        proof = proof_of(world)
        proof.meet(Roster())
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        assert await proof.gather() is None
        assert await proof.prove(1_000, world.note) is None
        assert set(world.stages) == set(proof.members)


def commit_of(world: AdoptedWorld, generation: int, connection: int) -> Held:
    """A commit of the first member, by this connection."""
    commit = OffsetCommit(
        group_id=GROUP, generation=generation, member_id=world.players[0].member_id, instance_id=None, topics=()
    )
    return world.held(commit, connection)


async def test_client_that_beats_by_one_connection_and_commits_by_another_is_proved_by_both(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A commit may be on its way by the one that was not heard last: its group was left before its broker had it."""
    async with adopted_world() as world:
        proof, beside = proof_of(world), len(world.players)
        world.ways_of[beside] = ClientWay(world.coordinators, beside)
        held = commit_of(world, world.coordinators.broker.generation, beside)
        proof.hear(held.via, held.request)
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        assert await proof.prove(1_000, world.note) is None
        assert [world.ways_of[one].asked for one in range(beside + 1)] == [1] * (beside + 1)


async def test_connection_that_was_used_only_before_the_move_is_asked_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """franz-go joins by one connection and beats and commits by another: its members are known from their joins, and
    nothing came by the other since. One that is gone has nothing on its way.
    """
    async with adopted_world() as world:
        proof, beside, gone = proof_of(world), len(world.players), len(world.players) + 1
        world.ways_of[beside] = ClientWay(world.coordinators, beside)
        world.ways_of[gone] = ClientWay(world.coordinators, -1)
        proof.comes_by(Via(0, connection) for connection in (0, beside, gone))
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        assert await proof.prove(1_000, world.note) is None
        assert [world.ways_of[one].asked for one in (0, beside, gone)] == [1, 1, 0]


async def test_connection_of_commits_that_answers_nothing_is_no_proof(autojump_clock: trio.testing.MockClock) -> None:
    """Something may be on its way by it; one that is gone is asked no more."""
    async with adopted_world() as world:
        proof, beside = proof_of(world), len(world.players)
        world.ways_of[beside] = ClientWay(world.coordinators, beside, is_silent=True)
        held = commit_of(world, world.coordinators.broker.generation, beside)
        proof.hear(held.via, held.request)
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        found = await proof.prove(1_000, world.note)
        assert found is not None
        assert (found.code, found.member_id) == ("EB-MOVE-224", None)
        proof.disconnected(beside)
        assert await proof.prove(1_000, world.note) is None


async def test_late_request_of_an_older_generation_takes_no_member_back_to_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A commit that was sent before its client joined would have the broker say that it is not at rest."""
    async with adopted_world() as world:
        proof, beside = proof_of(world), len(world.players)
        world.ways_of[beside] = ClientWay(world.coordinators, beside)
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        held = commit_of(world, world.coordinators.broker.generation - 1, beside)
        proof.hear(held.via, held.request)
        assert await proof.prove(1_000, world.note) is None
        assert world.ways_of[beside].asked == 1


async def test_connection_that_goes_behind_the_proof_changes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """In which generation its member rests is known, and the move goes on without another word of it."""
    async with adopted_world() as world:
        proof = proof_of(world)
        for beat in world.beats():
            proof.hear(beat.via, beat.request)
        assert await proof.prove(1_000, world.note) is None
        proof.disconnected(0)
        assert set(proof.heard) == set(proof.members)


async def test_old_generation_is_no_rest(autojump_clock: trio.testing.MockClock) -> None:
    """The broker says so in the place of the first who says it."""
    async with adopted_world() as world:
        proof = proof_of(world)
        for beat in world.beats(world.coordinators.broker.generation + 1):
            proof.hear(beat.via, beat.request)
        found = await proof.prove(1_000, world.note)
        assert found is not None
        assert "ILLEGAL_GENERATION" in found.sentence


async def test_connection_that_is_gone_proves_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Its member is waited for, and named when time is up."""
    async with adopted_world() as world:
        proof, (lost, *others) = proof_of(world), world.clients()
        world.ways_of[7] = ClientWay(world.coordinators, -1)
        generation = world.coordinators.broker.generation
        proof.know(lost, Via(0, 7), generation)
        for number, member_id in enumerate(others):
            proof.know(member_id, Via(0, number), generation)
        begun_s = trio.current_time()
        found = await proof.gather()
        assert found is not None
        assert (found.code, found.member_id) == ("EB-MOVE-223", lost)
        assert trio.current_time() - begun_s >= GATHER_S


async def test_stop_ends_the_wait(autojump_clock: trio.testing.MockClock) -> None:
    """An operator's word is the reason."""
    async with adopted_world() as world:
        proof = proof_of(world)
        proof.stop("EB-MOVE-000", Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator"))
        found = await proof.gather()
        assert found is not None
        assert found.code == "EB-MOVE-000"
