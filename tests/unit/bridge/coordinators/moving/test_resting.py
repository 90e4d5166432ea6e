"""What any move of a group that stands at its broker does with requests."""

import pytest
import trio

from bridge.coordinators.moving.resting import RestingGroup, RestingWays
from bridge.coordinators.moving.survey import SESSION_TIMEOUT_MS, SHORTEST_SESSION_MS, UNHEARD_GENERATION
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import Obstacle
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from tests.support.adopted_world import ClientWay, Held, adopted_world
from tests.support.embedded_world import FakeBroker, native_join
from tests.support.engine_bench import GROUP, IDENTITY
from tests.support.reseated_world import reseated_world
from tests.support.round_table import SESSION_MS, join_of
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, MemberId


async def test_newcomers_wait_and_members_pass_on(autojump_clock: trio.testing.MockClock) -> None:
    """A newcomer would move the group; a member is answered by its broker until all are held."""
    async with adopted_world() as world:
        move: RestingGroup[Held] = world.adopting()
        newcomer, beat = world.held(join_of(NO_MEMBER_ID), 0), world.beats()[0]
        move.take(newcomer)
        move.take(beat)
        assert world.codes([newcomer, beat]) == [None, ErrorCode.NONE]
        move.excuse(newcomer.at_ms + 1)
        assert move.take_joins() == [newcomer]


async def test_native_newcomer_waits_too(autojump_clock: trio.testing.MockClock) -> None:
    """For it the broker would make a consumer group of what is about to be adopted, or to be a classic one again."""
    async with adopted_world() as world:
        move: RestingGroup[Held] = world.adopting()
        newcomer = world.held(native_join("new"), 0)
        move.take(newcomer)
        assert world.codes([newcomer]) == [None]
        assert move.take_joins() == [newcomer]


async def test_lost_connection_takes_its_requests_along(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody waits for their answers."""
    async with reseated_world() as world:
        move: RestingGroup[Held] = world.move()
        newcomer = world.adopted.held(join_of(NO_MEMBER_ID), 0)
        move.take(newcomer)
        move.take(world.adopted.held(join_of(NO_MEMBER_ID), 1))
        move.disconnected(newcomer.via.connection)
        assert [one.via.connection for one in move.take_joins()] == [1]


class Proving(RestingGroup[Held]):
    """Proves that it is at rest, and nothing else."""

    async def prove(self) -> Obstacle | None:
        """What stands in the way."""
        return await self._prove_rest()

    async def describe(self, broker: FakeBroker, since_s: float) -> None:
        """Have it described, so long behind the begin of the proof. Raises BrokerUnreachable."""
        self._hold()
        await trio.sleep(since_s)
        await self._described(broker)


async def test_proof_takes_no_longer_than_the_shortest_session_allows(autojump_clock: trio.testing.MockClock) -> None:
    """Heartbeats are held meanwhile, and the session that is taken for a member's may be longer than it is."""
    async with adopted_world() as world:
        unknown = ClassicMember(
            member_id=MemberId("a"),
            instance_id=None,
            client=IDENTITY,
            protocols=(),
            protocol_name="range",
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=60_000,
            generation=UNHEARD_GENERATION,
            using=frozenset(),
        )
        ways = RestingWays(
            pass_on=world.pass_on,
            excuse=world.excuse,
            note=world.note,
            access=lambda via: ClientWay(world.coordinators, via.connection, is_silent=True),
            now_ms=TrioClock().now_ms,
        )
        move = Proving(GROUP, {unknown.member_id: unknown}, {}, ways)
        began_s = trio.current_time()
        found = await move.prove()
        assert found is not None
        assert found.code == "EB-MOVE-224"
        assert trio.current_time() - began_s <= SHORTEST_SESSION_MS / 3_000


async def test_proof_and_description_take_no_longer_together(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody beats for members in either: each had a third of a session, and a scout that was sent then two more."""
    async with reseated_world() as world:
        world.broker.takes_s = [100]
        move = Proving(GROUP, world.adopted.clients(), {}, world.ways())
        began_s, hold_s = trio.current_time(), SESSION_MS / 3_000
        with pytest.raises(BrokerUnreachable):
            await move.describe(world.broker, 0.8 * hold_s)
        assert trio.current_time() - began_s <= 1.01 * hold_s
