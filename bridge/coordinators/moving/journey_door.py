"""The door to journeys: what they are made with, what others see of them, and when their code is loaded."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import trio

from bridge.coordinators.moving.candidates import Candidates
from bridge.coordinators.moving.groups import MovingGroups
from bridge.coordinators.moving.places import Places
from bridge.coordinators.moving.preflight import JUDGEMENT
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.surroundings import MoveEars
from bridge.coordinators.moving.unfinished import UnfinishedMove
from bridge.coordinators.placement import GroupPlaces
from bridge.migration.moves.itinerary import Itinerary
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from bridge.ports import Clock, Coordinators
from bridge.supervision import Failures
from translators.dialects.ids import GroupId

JOURNEY = "bridge.coordinators.moving.journey"
"""Behind it stand the moves with their machines: one of seven classes of a bridge, and most bridges move nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What journeys are made with."""

    candidates: Candidates
    stays: GroupPlaces
    moving: MovingGroups
    places: Places
    coordinators: Coordinators
    clock: Clock
    wall_ms: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The life of the bridge that journeys are made in, and what they tell it of their end."""

    nursery: trio.Nursery
    supervised: Failures
    reconverts: Callable[[], Awaitable[bool | None]]
    """Whether brokers make a classic group of a consumer group."""
    forget: Callable[[GroupId], None]
    """The journey of this group is over."""
    ears: MoveEars
    write_end: Callable[[GroupId], None]
    """What it came to is to be written down."""


class OrderUnderway(Protocol):
    """A journey, as those see it who ordered it (`journey.Journey`)."""

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        ...

    def start(self) -> None:
        """Look whether it can be made, and make it."""
        ...

    def stop(self) -> None:
        """Move nobody any more of whom nothing was asked yet."""
        ...

    def go_on(self, unfinished: UnfinishedMove) -> None:
        """Go on with what the last life of the bridge began."""
        ...

    def look(self) -> None:
        """Do what is due by time."""
        ...


class _MakeJourney(Protocol):
    def __call__(
        self, parts: Parts, life: Life, order: MoveOrder, origin: Road, way: Itinerary | None = None
    ) -> OrderUnderway: ...


async def load_journeys() -> None:
    """Have a thread load the code, once: it takes some 70 ms, in which heartbeats of all groups go on."""
    for name in (JUDGEMENT, JOURNEY):
        if name not in sys.modules:
            await trio.to_thread.run_sync(import_module, name)


def make_journey(
    parts: Parts, life: Life, order: MoveOrder, origin: Road, way: Itinerary | None = None
) -> OrderUnderway:
    """A journey that has yet to start, or to go on; its code is loaded by now, or everybody waits for that."""
    make: _MakeJourney = import_module(JOURNEY).Journey
    return make(parts, life, order, origin, way)
