"""What moves groups, put together: roads for every request, and places that are recalled before clients come."""

from trio.testing import MockClock

from bridge.app.moves import Between, put_together, seats_of_all
from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.places import FACTS
from bridge.coordinators.placement import GroupPlaces
from bridge.coordinators.upstream.seat_names import SeatNames
from bridge.migration.route import Road, Router
from bridge.net.clock import TrioClock
from bridge.net.reply_routes import ReplyRoutes
from bridge.session.counters import Counters
from tests.support.embedded_world import FakeVia, embedded_world
from tests.support.engine_coordinators import EngineCoordinators
from tests.support.owned_group import GROUP
from tests.support.proxy import SeenGroups
from tests.support.upstream_world import upstream_world
from translators.dialects.ids import MemberId, MemberRef


async def test_roads_of_all_requests_and_recalled_places(autojump_clock: MockClock) -> None:
    """A group that was moved in an earlier life is where it was, and nothing else is."""
    async with upstream_world() as upstream, embedded_world() as embedded:
        router, clock = Router(()), TrioClock()
        stays = GroupPlaces(router, upstream.broker, lambda _: None, lambda _: False, clock.now_ms)
        moving = put_together(
            Between(
                router=router,
                stays=stays,
                reply_routes=ReplyRoutes(Counters()),
                embedded=embedded.groups,
                upstream=upstream.groups,
                requests_of_embedded=embedded.groups,
                requests_of_upstream=upstream.groups,
                broker=upstream.broker,
                coordinators=EngineCoordinators(),
                clock=clock,
                wall_ms=clock.now_ms,
                passing=SeenGroups(),
            )
        )
        assert moving.roads.keys() == {Road.EMBEDDED, Road.UPSTREAM, Road.MAPPED, Road.MOVING}
        assert await embedded.groups.facts_written()
        embedded.groups.keep_fact(FACTS + GROUP, '{"road":"upstream"}')
        moving.recall()
        assert (router.place(GROUP), moving.live.all()) == (Road.UPSTREAM, [])
        moving.roads[Road.MOVING].disconnected(1)


def test_members_under_other_ids_are_found_by_those_of_their_clients() -> None:
    """Of those that are mapped at their brokers, and those that the bridge makes consumer members."""
    clients = Clients(lambda _ref, _reply: None, lambda _via: FakeVia(connection=1))
    mapped, names = MappedGroups(clients, lambda _member, _goes_on: None), SeatNames(lambda _: FakeVia(connection=1))
    mapped.put(GROUP, MappedSeat(member_id=MemberId("a"), generation=1, seat_id=MemberId("x"), seat_generation=2))
    names.put(MemberRef(GROUP, MemberId("b")), MemberId("y"))
    assert seats_of_all(mapped, names) == {GROUP: {"a": "x", "b": "y"}}
