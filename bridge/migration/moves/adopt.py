"""Adopting a classic group: its broker coordinates it until this moment, the bridge's own engine from then on.

Nobody hears of it: every member is proved to be at rest, the engine takes the group in as it stands, and then all seats
at the broker are given up in one request.
"""

from dataclasses import dataclass
from typing import assert_never

from bridge.migration.orders import Obstacle
from translators.machine import Step, Transitions, checked_step

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
    """The broker describes the group: it has these members, with what they have, and no others."""


@dataclass(frozen=True, slots=True)
class TakingIn:
    """The engine takes the group in; it is the bridge's from the moment that the journal has it."""


@dataclass(frozen=True, slots=True)
class LeavingSeats:
    """One LeaveGroup of all seats is on its way to the broker, or to be said again."""


@dataclass(frozen=True, slots=True)
class GivingUp:
    """The broker keeps the seats: the engine forgets the group, and nothing has happened."""

    reason: Obstacle


@dataclass(frozen=True, slots=True)
class Adopted:
    """The group is the bridge's, and empty at the broker."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The group is the broker's, as before."""

    reason: Obstacle


AdoptState = Gathering | Proving | Comparing | TakingIn | LeavingSeats | GivingUp | Adopted | Kept

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


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The engine has the group, and the journal; or it does not take it."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class SeatsLeft:
    """The broker has nobody of the group any more."""


@dataclass(frozen=True, slots=True)
class LeavingUnanswered:
    """It is not known what became of the LeaveGroup: it can be said again, as often as it takes."""


@dataclass(frozen=True, slots=True)
class LeavingRefused:
    """The broker does not let the bridge speak for these members."""

    obstacle: Obstacle


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The engine has forgotten the group."""


AdoptEvent = Gathered | Proved | Compared | TakenIn | SeatsLeft | LeavingUnanswered | LeavingRefused | GivenUp

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


@dataclass(frozen=True, slots=True)
class TakeIn:
    """Let the engine take the group in."""


@dataclass(frozen=True, slots=True)
class LeaveSeats:
    """Ask the broker to let all members go, in one request."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Let the engine forget the group."""


AdoptEffect = Gather | Prove | Compare | TakeIn | LeaveSeats | GiveUp
AdoptStep = Step[AdoptState, AdoptEffect]

TRANSITIONS: Transitions = {
    (Gathering, Gathered): frozenset({Proving, Kept}),
    (Proving, Proved): frozenset({Comparing, Kept}),
    (Comparing, Compared): frozenset({TakingIn, Kept}),
    (TakingIn, TakenIn): frozenset({LeavingSeats, Kept}),
    (LeavingSeats, SeatsLeft): frozenset({Adopted}),
    (LeavingSeats, LeavingUnanswered): frozenset({LeavingSeats}),
    (LeavingSeats, LeavingRefused): frozenset({GivingUp}),
    (GivingUp, GivenUp): frozenset({Kept}),
}
"""Each state but the two ends asks for one thing, and hears how it went."""


def begin() -> AdoptStep:
    """The first step."""
    return Step(Gathering(), (Gather(),))


def resume(*, was_taken_in: bool) -> AdoptStep:
    """The first step after a restart in the middle: what the journal has counts, and the seats may be there still."""
    if was_taken_in:
        return Step(LeavingSeats(), (LeaveSeats(),))
    gone_by = Obstacle(
        "EB-MOVE-220",
        "the move was cut off before the group was taken in; nothing was changed",
        "order the move again",
    )
    return Step(Kept(gone_by))


def _react(state: AdoptState, event: AdoptEvent, _now_ms: int) -> AdoptStep:
    match event:
        case Gathered(obstacle):
            return Step(Proving(), (Prove(),)) if obstacle is None else Step(Kept(obstacle))
        case Proved(obstacle):
            return Step(Comparing(), (Compare(),)) if obstacle is None else Step(Kept(obstacle))
        case Compared(obstacle):
            return Step(TakingIn(), (TakeIn(),)) if obstacle is None else Step(Kept(obstacle))
        case TakenIn(obstacle):
            return Step(LeavingSeats(), (LeaveSeats(),)) if obstacle is None else Step(Kept(obstacle))
        case SeatsLeft():
            return Step(Adopted())
        case LeavingUnanswered():
            return Step(state, (LeaveSeats(),))
        case LeavingRefused(obstacle):
            return Step(GivingUp(obstacle), (GiveUp(),))
        case GivenUp():
            assert isinstance(state, GivingUp), state
            return Step(Kept(state.reason))
        case _:
            assert_never(event)


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent for one that was not asked for."""
