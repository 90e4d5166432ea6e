"""When plans are opened: with the bridge if its journal has one, else by whoever asks for them."""

from dataclasses import replace

import trio
from trio.testing import MockClock

from bridge.admin.contracts import AdminSources
from bridge.app.events import watched
from bridge.app.plan_door import FACT, begin_plans
from bridge.app.reloading import Configured
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.coordinators.placement import GroupPlaces
from bridge.migration.plans.journal import encode_plans
from bridge.migration.route import Router
from bridge.net.clock import TrioClock
from tests.support.admin_views import still_sources
from tests.support.embedded_world import FakeBroker, World, embedded_world
from tests.support.obedient_moves import ObedientMoves
from tests.support.obedient_plans import PLAN, planned

CONFIG = Config(Settings(metrics_rebalances=False))


def begun(nursery: trio.Nursery, world: World, sources: AdminSources) -> AdminSources:
    """The sources of a bridge that has these groups."""
    places = GroupPlaces(Router(()), FakeBroker(), lambda _: None, lambda _: False, TrioClock().now_ms)
    configured = Configured(CONFIG, lambda: CONFIG, places, lambda: ())
    with watched(CONFIG, world.groups.owner) as watch:
        return begin_plans(nursery, sources, world.groups, watch, configured)


async def test_nobody_drives_plans_until_somebody_asks_for_them(autojump_clock: MockClock) -> None:
    """Then they are driven once, however often they are opened."""
    async with embedded_world() as world, trio.open_nursery() as nursery:
        sources = begun(nursery, world, still_sources(moves=ObedientMoves()))
        assert sources.open_plans is not None
        assert len(nursery.child_tasks) == 0
        plans = sources.open_plans()
        assert (plans.all(), sources.open_plans() is plans, len(nursery.child_tasks)) == ((), True, 1)
        nursery.cancel_scope.cancel()


async def test_plan_of_the_journal_is_driven_from_the_start(autojump_clock: MockClock) -> None:
    """Its groups were told when they would move, and nobody may ask before that."""
    async with embedded_world() as world, trio.open_nursery() as nursery:
        world.groups.keep_fact(f"{FACT}{PLAN.name}", encode_plans({PLAN.name: planned()}))
        sources = begun(nursery, world, still_sources(moves=ObedientMoves()))
        assert len(nursery.child_tasks) == 1
        assert sources.open_plans is not None
        assert sources.open_plans().plan(PLAN.name) == planned()
        nursery.cancel_scope.cancel()


async def test_there_are_no_plans_where_nobody_moves_groups(autojump_clock: MockClock) -> None:
    """Whoever asks for them is told so."""
    async with embedded_world() as world, trio.open_nursery() as nursery:
        sources = replace(still_sources(), moves=None)
        assert begun(nursery, world, sources) == sources
