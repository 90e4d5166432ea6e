"""Requests of moving groups: to their move, and when that is over to wherever their member is by then."""

from trio.testing import MockClock

from bridge.coordinators.moving.requests import Held
from bridge.migration.route import Road
from tests.support.embedded_world import native_join
from tests.support.moving_world import GENERATION, moving_world
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import MemberId, RequestRef, via_of


class Taking:
    """A move that keeps what it is given."""

    def __init__(self) -> None:
        self.taken: list[Held] = []
        self.lost: list[int] = []

    def take(self, held: Held) -> None:
        """See `groups.Underway`."""
        self.taken.append(held)

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`."""
        self.lost.append(connection)


async def test_a_move_has_the_word_until_it_is_over(autojump_clock: MockClock) -> None:
    """Then whatever was cut for it goes by its member's road, and to the broker if there is none."""
    async with moving_world() as world:
        move, ref = Taking(), RequestRef(0, world.via("a").connection, 1)
        beat = Heartbeat(GROUP, GENERATION, MemberId("a"), None)
        assert world.moving.beat(CLIENT, beat) is False
        world.moving.begin(GROUP, move)
        world.moving.submit(ref, CLIENT, via_of(ref), beat)
        assert [held.request for held in move.taken] == [beat]
        world.moving.disconnected(7)
        assert move.lost == [7]
        world.moving.end(GROUP)
        world.router.place_group(GROUP, Road.UPSTREAM)
        world.router.move_member(GROUP, MemberId("a"), Road.PASS)
        world.moving.submit(ref, CLIENT, via_of(ref), beat)
        world.moving.submit(ref, CLIENT, via_of(ref), native_join("n"))
        assert world.asked("a") == [beat, native_join("n")]
        world.router.return_member(GROUP, MemberId("a"))
        world.router.place_group(GROUP, Road.MOVING)
        world.moving.submit(ref, CLIENT, via_of(ref), beat)
        assert world.asked("a") == [beat, native_join("n"), beat]
