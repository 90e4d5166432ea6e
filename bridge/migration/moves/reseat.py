"""Reseating a group that was given back: its broker takes it for a consumer group of classic members, and any newcomer
would disturb them all; afterwards it is a classic group again, and nobody has heard of it. Reseating a classic group
whose assignments carry user data, with which no broker lets its members over: afterwards they carry none.

A scout that wants nothing comes and goes: behind the last consumer member a broker makes a classic group of the rest,
and has everybody join. That round the bridge plays. Measured on Apache Kafka 4.1 to 4.3.
"""

from dataclasses import dataclass
from typing import assert_never

from bridge.migration.moves.rest import (
    Compared,
    Comparing,
    Gathered,
    Gathering,
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

# ---------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class Looking:
    """The broker says what the group is: behind static members it may be a classic group already."""


@dataclass(frozen=True, slots=True)
class SendingScout:
    """The scout joins, or joins again under the same id; it may be in after an answer that was lost."""

    may_be_in: bool = False


@dataclass(frozen=True, slots=True)
class CallingScoutBack:
    """The scout leaves, and has to: its session would end in the middle of something else."""


@dataclass(frozen=True, slots=True)
class Playing:
    """The broker has everybody join, and the bridge does so in their place."""


@dataclass(frozen=True, slots=True)
class Reseated:
    """A classic group at its broker."""


@dataclass(frozen=True, slots=True)
class Called:
    """The round could not be played: the members join by themselves, as in any rebalance."""

    reason: Obstacle


ReseatState = RestState | Looking | SendingScout | CallingScoutBack | Playing | Reseated | Called

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Looked:
    """Whether it is a classic group already, and one that is to lose its user data; or there is a reason why it can't
    be made what it is to be.
    """

    is_classic: bool
    obstacle: Obstacle | None = None
    is_to_be_cleared: bool = False


@dataclass(frozen=True, slots=True)
class ComparedClassic:
    """A classic group of just these members, whose round can be played without a scout."""


@dataclass(frozen=True, slots=True)
class ScoutJoined:
    """It is in; or the broker does not let it in."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class ScoutUnanswered:
    """Whether the broker has heard it is not known: it can say the same again until then, for its group waits."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class ScoutGone:
    """It is no member; or the broker still has a consumer group without it."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """Everybody has at the broker what its client has; or the round could not be played."""

    obstacle: Obstacle | None = None


ReseatEvent = RestEvent | Looked | ComparedClassic | ScoutJoined | ScoutUnanswered | ScoutGone | RoundEnded

# ---------------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class Look:
    """Ask the broker to describe the group, and what brokers make of such ones."""


@dataclass(frozen=True, slots=True)
class SendScout:
    """Let a member join that wants no topics, under an id that is the same in every try and every life."""


@dataclass(frozen=True, slots=True)
class CallScoutBack:
    """Let it leave, and ask what the group is then."""


@dataclass(frozen=True, slots=True)
class PlayRound:
    """Give everybody at the broker what its client has, and write down in which generation."""


ReseatEffect = RestEffect | Look | SendScout | CallScoutBack | PlayRound
ReseatStep = Step[ReseatState, ReseatEffect]

TRANSITIONS: Transitions = {
    (Looking, Looked): frozenset({Gathering, Reseated, Kept}),
    **rest_transitions(SendingScout),
    (Comparing, ComparedClassic): frozenset({Playing}),
    (SendingScout, ScoutJoined): frozenset({CallingScoutBack, Kept}),
    (SendingScout, ScoutUnanswered): frozenset({SendingScout, CallingScoutBack}),
    (CallingScoutBack, ScoutGone): frozenset({Playing, Called}),
    (CallingScoutBack, ScoutUnanswered): frozenset({CallingScoutBack, Called}),
    (Playing, RoundEnded): frozenset({Reseated, Called}),
}
"""Each state but the three ends asks for one thing, and hears how it went."""


def begin() -> ReseatStep:
    """The first step."""
    return Step(Looking(), (Look(),))


def resume(*, is_to_be_cleared: bool = False) -> ReseatStep:
    """The first step after a restart in the middle, wherever that was: a scout that comes and goes and a round lead to
    the same end from everywhere, and nothing of a client is on its way. A group that is to be cleared has had no scout.
    """
    if is_to_be_cleared:
        return Step(Playing(), (PlayRound(),))
    return Step(SendingScout(may_be_in=True), (SendScout(),))


def _react(state: ReseatState, event: ReseatEvent, now_ms: int) -> ReseatStep:
    match event:
        case Looked():
            return _looked(event)
        case ComparedClassic():
            return Step(Playing(), (PlayRound(),))
        case Gathered() | Proved() | Compared():
            rest = after_rest(event)
            return Step(SendingScout(), (SendScout(),)) if rest is None else Step(rest.state, rest.effects)
        case ScoutJoined(obstacle):
            assert isinstance(state, SendingScout), state
            if obstacle is not None and not state.may_be_in:
                return Step(Kept(obstacle))
            return Step(CallingScoutBack(), (CallScoutBack(),))
        case ScoutUnanswered(until_ms):
            assert isinstance(state, SendingScout | CallingScoutBack), state
            return _unanswered(state, is_over=now_ms >= until_ms)
        case ScoutGone(obstacle):
            return Step(Playing(), (PlayRound(),)) if obstacle is None else Step(Called(obstacle))
        case RoundEnded(obstacle):
            return Step(Reseated() if obstacle is None else Called(obstacle))
        case _:
            assert_never(event)


def _looked(looked: Looked) -> ReseatStep:
    if looked.obstacle is not None:
        return Step(Kept(looked.obstacle))
    rest = find_rest()
    is_done = looked.is_classic and not looked.is_to_be_cleared
    return Step(Reseated()) if is_done else Step(rest.state, rest.effects)


def _unanswered(state: SendingScout | CallingScoutBack, *, is_over: bool) -> ReseatStep:
    """A scout that may be in is asked back once more, if only for the broker to hear it: nobody waits for longer."""
    if isinstance(state, CallingScoutBack):
        return Step(Called(_silent())) if is_over else Step(state, (CallScoutBack(),))
    if is_over:
        return Step(CallingScoutBack(), (CallScoutBack(),))
    return Step(SendingScout(may_be_in=True), (SendScout(),))


def _silent() -> Obstacle:
    return Obstacle(
        "EB-MOVE-252",
        "the broker has not said whether it let a scout of the bridge in or out; its members join by themselves",
        "see to it that the group's coordinator can be reached, and order the move to pass again",
    )


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent for one that was not asked for."""
