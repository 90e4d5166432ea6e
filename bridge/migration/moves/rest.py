"""How moves of groups that stand at their broker begin: everybody was heard, is at rest, and is whom the broker names.

Until all of that is proved nothing has changed, and whatever stands in the way leaves the group as it was.
"""

from dataclasses import dataclass
from typing import assert_never

from bridge.migration.orders import Obstacle
from translators.machine import Step, Transitions

# ---------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class Gathering:
    """Requests pass on as ever, until every member was heard: by which connection, and in which generation."""


@dataclass(frozen=True, slots=True)
class Proving:
    """Requests are held. A Heartbeat in each member's place tells that it is at rest, and that nothing is on its way:
    its broker answers what came by one connection in order.
    """


@dataclass(frozen=True, slots=True)
class Comparing:
    """The broker describes the group: it has just these members, with what they have, and no others."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The group is where and what it was."""

    reason: Obstacle


RestState = Gathering | Proving | Comparing | Kept

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Gathered:
    """Every member was heard; or somebody was not in time, or the move was stopped."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class Proved:
    """Every Heartbeat was answered as that of a member at rest; or one was not."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """The broker's word is the bridge's; or they differ in something."""

    obstacle: Obstacle | None = None


RestEvent = Gathered | Proved | Compared

# ---------------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class Gather:
    """Wait until every member was heard."""


@dataclass(frozen=True, slots=True)
class Prove:
    """Hold requests, and send a Heartbeat in each member's place by the connection that it came by."""


@dataclass(frozen=True, slots=True)
class Compare:
    """Ask the broker to describe the group."""


RestEffect = Gather | Prove | Compare


def rest_transitions(following: type) -> Transitions:
    """The rows of these states in the table of a move that goes on with `following`."""
    return {
        (Gathering, Gathered): frozenset({Proving, Kept}),
        (Proving, Proved): frozenset({Comparing, Kept}),
        (Comparing, Compared): frozenset({following, Kept}),
    }


def find_rest() -> Step[Gathering, Gather]:
    """The first step."""
    return Step(Gathering(), (Gather(),))


def after_rest(event: RestEvent) -> Step[Proving | Comparing | Kept, RestEffect] | None:
    """What follows an event of these; None: all is proved, and the move goes on in its own way."""
    if event.obstacle is not None:
        return Step(Kept(event.obstacle))
    match event:
        case Gathered():
            return Step(Proving(), (Prove(),))
        case Proved():
            return Step(Comparing(), (Compare(),))
        case Compared():
            return None
        case _:
            assert_never(event)
