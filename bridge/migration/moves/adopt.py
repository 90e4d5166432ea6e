"""Adopting a classic group: its broker coordinates it until this moment, the bridge's own engine from then on.

Nobody hears of it: every member is proved to be at rest, the engine takes the group in as it stands, and then all seats
at the broker are given up in one request.
"""

from dataclasses import dataclass
from typing import assert_never

from bridge.migration.moves.rest import (
    Compared,
    Gathered,
    Kept,
    Proved,
    RestEffect,
    RestEvent,
    RestState,
    after_rest,
    find_rest,
    rest_transitions,
)
from bridge.migration.orders import Obstacle
from translators.machine import Step, Transitions, checked_step

FAREWELL_MS = 60_000
"""For so long the farewell of all seats is said again that was not answered: the clients' sessions are kept meanwhile,
but their commits wait, and a Java client's call gives up after a minute (`default.api.timeout.ms`).
"""

# ---------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class TakingIn:
    """The engine takes the group in; it is the bridge's from the moment that the journal has it."""


@dataclass(frozen=True, slots=True)
class LeavingSeats:
    """One LeaveGroup of all seats is on its way to the broker, or to be said again until then."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class GivingUp:
    """The broker keeps the seats: the engine forgets the group, and nothing has happened."""

    reason: Obstacle


@dataclass(frozen=True, slots=True)
class Adopted:
    """The group is the bridge's, and empty at the broker."""


AdoptState = RestState | TakingIn | LeavingSeats | GivingUp | Adopted

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The engine has the group, and the journal; or it does not take it."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class SeatsLeft:
    """The broker has nobody of the group any more."""


@dataclass(frozen=True, slots=True)
class LeavingUnanswered:
    """It is not known what became of the LeaveGroup: it can be said again for FAREWELL_MS."""


@dataclass(frozen=True, slots=True)
class LeavingRefused:
    """The broker does not let the bridge speak for these members."""

    obstacle: Obstacle


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The engine has forgotten the group."""


AdoptEvent = RestEvent | TakenIn | SeatsLeft | LeavingUnanswered | LeavingRefused | GivenUp

# ---------------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class TakeIn:
    """Let the engine take the group in."""


@dataclass(frozen=True, slots=True)
class LeaveSeats:
    """Ask the broker to let all members go, in one request."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Let the engine forget the group."""


AdoptEffect = RestEffect | TakeIn | LeaveSeats | GiveUp
AdoptStep = Step[AdoptState, AdoptEffect]

TRANSITIONS: Transitions = {
    **rest_transitions(TakingIn),
    (TakingIn, TakenIn): frozenset({LeavingSeats, Kept}),
    (LeavingSeats, SeatsLeft): frozenset({Adopted}),
    (LeavingSeats, LeavingUnanswered): frozenset({LeavingSeats, GivingUp}),
    (LeavingSeats, LeavingRefused): frozenset({GivingUp}),
    (GivingUp, GivenUp): frozenset({Kept}),
}
"""Each state but the two ends asks for one thing, and hears how it went."""


def begin() -> AdoptStep:
    """The first step."""
    rest = find_rest()
    return Step(rest.state, rest.effects)


def resume(now_ms: int, *, was_taken_in: bool) -> AdoptStep:
    """The first step after a restart in the middle: what the journal has counts, and the seats may be there still."""
    if was_taken_in:
        return _leave_seats(now_ms)
    gone_by = Obstacle(
        "EB-MOVE-220",
        "the move was cut off before the group was taken in; nothing was changed",
        "order the move again",
    )
    return Step(Kept(gone_by))


def _react(state: AdoptState, event: AdoptEvent, now_ms: int) -> AdoptStep:
    match event:
        case Gathered() | Proved() | Compared():
            rest = after_rest(event)
            return Step(TakingIn(), (TakeIn(),)) if rest is None else Step(rest.state, rest.effects)
        case TakenIn(obstacle):
            return _leave_seats(now_ms) if obstacle is None else Step(Kept(obstacle))
        case SeatsLeft():
            return Step(Adopted())
        case LeavingUnanswered():
            assert isinstance(state, LeavingSeats), state
            return Step(state, (LeaveSeats(),)) if now_ms < state.until_ms else _give_up(_unanswered())
        case LeavingRefused(obstacle):
            return _give_up(obstacle)
        case GivenUp():
            assert isinstance(state, GivingUp), state
            return Step(Kept(state.reason))
        case _:
            assert_never(event)


def _leave_seats(now_ms: int) -> AdoptStep:
    return Step(LeavingSeats(now_ms + FAREWELL_MS), (LeaveSeats(),))


def _give_up(reason: Obstacle) -> AdoptStep:
    return Step(GivingUp(reason), (GiveUp(),))


def _unanswered() -> Obstacle:
    return Obstacle(
        "EB-MOVE-250",
        f"for {FAREWELL_MS // 1000} s the broker has not said whether it let the group's members go; the group is its"
        " own again, and whoever it has let go joins anew",
        "see to it that the group's coordinator can be reached, and order the move again",
    )


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent for one that was not asked for."""
