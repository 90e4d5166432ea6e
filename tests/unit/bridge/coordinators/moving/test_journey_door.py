"""What is seen of a journey from outside."""

import sys
import threading

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving import journey_door
from bridge.coordinators.moving.journey import Journey
from bridge.coordinators.moving.journey_door import JOURNEY, Life, OrderUnderway, load_journeys, make_journey
from bridge.coordinators.moving.preflight import JUDGEMENT
from bridge.coordinators.moving.surroundings import NoEars, is_not_known
from bridge.migration.orders import MoveOrder, MoveStage
from bridge.migration.route import Road
from bridge.supervision import Failures
from tests.support.moving_world import moving_world
from tests.support.owned_group import GROUP
from translators.dialects.ids import GroupId


def as_seen(journey: Journey) -> OrderUnderway:
    """For mypy, which sees no further than a string at the door: this fails there if a journey is none any more."""
    return journey


async def test_order_stands_behind_the_door_and_has_not_begun(autojump_clock: MockClock) -> None:
    """Whoever ordered it decides whether it starts, or goes on with what the last life began."""
    forgotten: list[GroupId] = []
    async with moving_world() as world, trio.open_nursery() as nursery:
        life = Life(
            nursery=nursery,
            supervised=Failures(),
            reconverts=is_not_known,
            forget=forgotten.append,
            ears=NoEars(),
            write_end=forgotten.append,
        )
        order = MoveOrder(GROUP, Road.UPSTREAM)
        made = make_journey(world.parts, life, order, Road.PASS)
        assert isinstance(made, Journey)
        assert (as_seen(made).progress.now.order, made.progress.now.stage) == (order, MoveStage.PREPARING)
        assert (nursery.child_tasks, forgotten) == (frozenset(), [])


async def test_code_is_loaded_by_a_thread_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop answers heartbeats meanwhile."""
    loaded: list[tuple[str, bool]] = []

    def load(name: str) -> None:
        loaded.append((name, threading.current_thread() is threading.main_thread()))

    monkeypatch.setattr(journey_door, "import_module", load)
    for name in (JUDGEMENT, JOURNEY):
        monkeypatch.setitem(sys.modules, name, sys)
    await load_journeys()
    assert loaded == []
    for name in (JUDGEMENT, JOURNEY):
        monkeypatch.delitem(sys.modules, name)
    await load_journeys()
    assert loaded == [(JUDGEMENT, False), (JOURNEY, False)]
