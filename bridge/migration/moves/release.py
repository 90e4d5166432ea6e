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

    has_waited: bool = False
    """Here and in the states behind it: whether the broker was given the time to forget an id already."""


@dataclass(frozen=True, slots=True)
class TakingFirstSeat:
    """The first member joins at the broker alone, and waits there for as long as the broker lets the first join of an
    empty group wait. Commits are held: a simple one counts in an empty group only.
    """

    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class Settling:
    """Everything is held: whoever moved meanwhile comes to rest."""

    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class Playing:
    """The round of all members is played."""

    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class HandingOver:
    """Seats and roads are written down, and the engine forgets the group."""


@dataclass(frozen=True, slots=True)
class Withdrawing:
    """The seats that were taken at the broker are given up again, and asked for until then; behind that the move ends,
    or begins anew when the broker has had `lapse_ms` to forget an id for which it holds rounds up.
    """

    reason: Obstacle
    until_ms: int
    lapse_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AwaitingLapse:
    """The broker holds rounds up for somebody who does not join, until a session is over. Nothing is held meanwhile."""


@dataclass(frozen=True, slots=True)
class Released:
    """The group is the broker's."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The group is the bridge's, as before."""

    reason: Obstacle


ReleaseState = (
    ComingToRest | TakingFirstSeat | Settling | Playing | HandingOver | Withdrawing | AwaitingLapse | Released | Kept
)

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class CameToRest:
    """Every member has what it is to have, and no commit is on its way; or that did not come about."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class FirstSeatTaken:
    """The broker has the first member; or it does not, but may have it when it had `lapse_ms` to forget an id."""

    obstacle: Obstacle | None = None
    lapse_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """Every member has its seat; or the round failed, and could be played when the broker had `lapse_ms` to forget."""

    obstacle: Obstacle | None = None
    lapse_ms: int | None = None


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The journal has it; or the engine could not be asked to forget the group, and has it still."""

    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The broker has nobody of the group any more."""


@dataclass(frozen=True, slots=True)
class WithdrawalUnanswered:
    """It is not known what became of the LeaveGroup, or the broker did not take it: it can be said again."""


@dataclass(frozen=True, slots=True)
class Lapsed:
    """The broker has forgotten whoever has not joined by now; or the move was stopped."""

    obstacle: Obstacle | None = None


ReleaseEvent = CameToRest | FirstSeatTaken | RoundEnded | HandedOver | Withdrawn | WithdrawalUnanswered | Lapsed

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


@dataclass(frozen=True, slots=True)
class AwaitLapse:
    """Let everything go on for so long, and say what is waited for."""

    lapse_ms: int


ReleaseEffect = AwaitRest | TakeFirstSeat | PlayAll | HandOver | Withdraw | AwaitLapse
ReleaseStep = Step[ReleaseState, ReleaseEffect]

TRANSITIONS: Transitions = {
    (ComingToRest, CameToRest): frozenset({TakingFirstSeat, Kept}),
    (TakingFirstSeat, FirstSeatTaken): frozenset({Settling, Withdrawing}),
    (Settling, CameToRest): frozenset({Playing, Withdrawing}),
    (Playing, RoundEnded): frozenset({HandingOver, Withdrawing}),
    (HandingOver, HandedOver): frozenset({Released, Withdrawing}),
    (Withdrawing, Withdrawn): frozenset({Kept, AwaitingLapse}),
    (Withdrawing, WithdrawalUnanswered): frozenset({Withdrawing, Kept}),
    (AwaitingLapse, Lapsed): frozenset({ComingToRest, Kept}),
}
"""Each state but the two ends asks for one thing, and hears how it went."""


def begin() -> ReleaseStep:
    """The first step."""
    return _come_to_rest(has_waited=False)


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
            return _came_to_rest(state, obstacle, now_ms)
        case FirstSeatTaken(obstacle, lapse_ms) | RoundEnded(obstacle, lapse_ms):
            return _played(state, obstacle, lapse_ms, now_ms)
        case HandedOver(obstacle):
            return Step(Released()) if obstacle is None else _withdraw(obstacle, now_ms)
        case Withdrawn():
            assert isinstance(state, Withdrawing), state
            lapse_ms = state.lapse_ms
            return Step(Kept(state.reason)) if lapse_ms is None else Step(AwaitingLapse(), (AwaitLapse(lapse_ms),))
        case Lapsed(obstacle):
            return _come_to_rest(has_waited=True) if obstacle is None else Step(Kept(obstacle))
        case WithdrawalUnanswered():
            assert isinstance(state, Withdrawing), state
            return Step(state, (Withdraw(),)) if now_ms < state.until_ms else Step(Kept(_unanswered(state.reason)))
        case _:
            assert_never(event)


def _come_to_rest(*, has_waited: bool) -> ReleaseStep:
    return Step(ComingToRest(has_waited), (AwaitRest(holds_all=False),))


def _came_to_rest(state: ReleaseState, obstacle: Obstacle | None, now_ms: int) -> ReleaseStep:
    if isinstance(state, Settling):
        return _withdraw(obstacle, now_ms) if obstacle is not None else Step(Playing(state.has_waited), (PlayAll(),))
    assert isinstance(state, ComingToRest), state
    return Step(Kept(obstacle)) if obstacle is not None else Step(TakingFirstSeat(state.has_waited), (TakeFirstSeat(),))


def _played(state: ReleaseState, obstacle: Obstacle | None, lapse_ms: int | None, now_ms: int) -> ReleaseStep:
    assert isinstance(state, TakingFirstSeat | Playing), state
    if obstacle is not None:
        return _withdraw(obstacle, now_ms, None if state.has_waited else lapse_ms)
    if isinstance(state, TakingFirstSeat):
        return Step(Settling(state.has_waited), (AwaitRest(holds_all=True),))
    return Step(HandingOver(), (HandOver(),))


def _withdraw(reason: Obstacle, now_ms: int, lapse_ms: int | None = None) -> ReleaseStep:
    return Step(Withdrawing(reason, now_ms + WITHDRAWAL_MS, lapse_ms), (Withdraw(),))


def _unanswered(reason: Obstacle) -> Obstacle:
    return Obstacle(
        "EB-MOVE-251",
        f"{reason.sentence}; and for {WITHDRAWAL_MS // 1000} s the broker has not taken back the seats that the bridge"
        " had there: until it ends them by their sessions it refuses commits of the group",
        "see to it that the group's coordinator can be reached, and look at the group there before the next move",
    )


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent for one that was not asked for."""
