"""Releasing a group: the bridge's own engine coordinates it until this moment, its broker from then on.

Nobody hears of it: a round is played that gives every member at the broker what its client has, and from then on its
requests are mapped to the id and generation of its seat there.
"""

from dataclasses import dataclass
from typing import assert_never

from bridge.migration.orders import Obstacle
from translators.machine import Step, Transitions, checked_step

WITHDRAWAL_MS = 60_000
"""For so long the farewell of seats is said again that was not taken: commits wait meanwhile, and behind it the broker
ends by their sessions those for whom nobody beats.
"""

# ---------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class ComingToRest:
    """Commits are held, everything else goes on: until none is on its way and every member has what it is to have."""


@dataclass(frozen=True, slots=True)
class TakingFirstSeat:
    """The first member joins at the broker alone, and waits there for as long as the broker lets the first join of an
    empty group wait. Commits are held: a simple one counts in an empty group only.
    """


@dataclass(frozen=True, slots=True)
class Settling:
    """Everything is held: whoever moved meanwhile comes to rest."""


@dataclass(frozen=True, slots=True)
class Playing:
    """The round of all members is played."""


@dataclass(frozen=True, slots=True)
class HandingOver:
    """Seats and roads are written down, and the engine forgets the group."""


@dataclass(frozen=True, slots=True)
class Withdrawing:
    """The seats that were taken at the broker are given up again, and asked for until then."""

    reason: Obstacle
    until_ms: int


@dataclass(frozen=True, slots=True)
class Released:
    """The group is the broker's."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The group is the bridge's, as before."""

    reason: Obstacle


ReleaseState = ComingToRest | TakingFirstSeat | Settling | Playing | HandingOver | Withdrawing | Released | Kept

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class CameToRest:
    """Every member has what it is to have, and no commit is on its way; or that did not come about."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class FirstSeatTaken:
    """The broker has the first member; or it does not."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """Every member has its seat; or the round failed."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The journal has it."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The broker has nobody of the group any more."""


@dataclass(frozen=True, slots=True)
class WithdrawalUnanswered:
    """It is not known what became of the LeaveGroup, or the broker did not take it: it can be said again."""


ReleaseEvent = CameToRest | FirstSeatTaken | RoundEnded | HandedOver | Withdrawn | WithdrawalUnanswered

# ---------------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class AwaitRest:
    """Wait until the group is at rest; `holds_all` if nobody's requests go on meanwhile."""

    holds_all: bool


@dataclass(frozen=True, slots=True)
class TakeFirstSeat:
    """Play a round for the first member alone."""


@dataclass(frozen=True, slots=True)
class PlayAll:
    """Play a round for all members."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Write down where everybody is, and let the engine forget the group."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Ask the broker to let everybody go that was seated there, in one request."""


ReleaseEffect = AwaitRest | TakeFirstSeat | PlayAll | HandOver | Withdraw
ReleaseStep = Step[ReleaseState, ReleaseEffect]

TRANSITIONS: Transitions = {
    (ComingToRest, CameToRest): frozenset({TakingFirstSeat, Kept}),
    (TakingFirstSeat, FirstSeatTaken): frozenset({Settling, Withdrawing}),
    (Settling, CameToRest): frozenset({Playing, Withdrawing}),
    (Playing, RoundEnded): frozenset({HandingOver, Withdrawing}),
    (HandingOver, HandedOver): frozenset({Released}),
    (Withdrawing, Withdrawn): frozenset({Kept}),
    (Withdrawing, WithdrawalUnanswered): frozenset({Withdrawing, Kept}),
}
"""Each state but the two ends asks for one thing, and hears how it went."""


def begin() -> ReleaseStep:
    """The first step."""
    return Step(ComingToRest(), (AwaitRest(holds_all=False),))


def resume(now_ms: int) -> ReleaseStep:
    """The first step after a restart in the middle, where the journal still has the group here: whoever sits at the
    broker was seated by the life before.
    """
    gone_by = Obstacle(
        "EB-MOVE-230",
        "the bridge was restarted before the group was the broker's; the group is where it was",
        "order the move again",
    )
    return _withdraw(gone_by, now_ms)


def _react(state: ReleaseState, event: ReleaseEvent, now_ms: int) -> ReleaseStep:
    match event:
        case CameToRest(obstacle):
            if isinstance(state, Settling):
                return Step(Playing(), (PlayAll(),)) if obstacle is None else _withdraw(obstacle, now_ms)
            return Step(TakingFirstSeat(), (TakeFirstSeat(),)) if obstacle is None else Step(Kept(obstacle))
        case FirstSeatTaken(obstacle):
            return Step(Settling(), (AwaitRest(holds_all=True),)) if obstacle is None else _withdraw(obstacle, now_ms)
        case RoundEnded(obstacle):
            return Step(HandingOver(), (HandOver(),)) if obstacle is None else _withdraw(obstacle, now_ms)
        case HandedOver():
            return Step(Released())
        case Withdrawn():
            assert isinstance(state, Withdrawing), state
            return Step(Kept(state.reason))
        case WithdrawalUnanswered():
            assert isinstance(state, Withdrawing), state
            return Step(state, (Withdraw(),)) if now_ms < state.until_ms else Step(Kept(_unanswered(state.reason)))
        case _:
            assert_never(event)


def _withdraw(reason: Obstacle, now_ms: int) -> ReleaseStep:
    return Step(Withdrawing(reason, now_ms + WITHDRAWAL_MS), (Withdraw(),))


def _unanswered(reason: Obstacle) -> Obstacle:
    return Obstacle(
        "EB-MOVE-251",
        f"{reason.sentence}; and for {WITHDRAWAL_MS // 1000} s the broker has not taken back the seats that the bridge"
        " had there: until it ends them by their sessions it refuses commits of the group",
        "see to it that the group's coordinator can be reached, and look at the group there before the next move",
    )


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent for one that was not asked for."""
