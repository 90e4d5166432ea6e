"""What every state machine of ours shares: the step as a value, and the check of a step against a declared table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")
EffectT = TypeVar("EffectT")

Transitions = Mapping[tuple[type, type], frozenset[type]]
"""(type of state, type of event) -> types of the states that may follow; a missing pair can't happen."""


@dataclass(frozen=True, slots=True)
class Step(Generic[StateT, EffectT]):
    """What an event did: the state that follows, and what the world must do, in this order."""

    state: StateT
    effects: tuple[EffectT, ...] = ()


class UnexpectedEvent(Exception):
    """An event came to a state that has no answer to it: a bug in who sent it."""

    def __init__(self, state: object, event: object, cause: str = "the table has no row for this pair") -> None:
        super().__init__(
            f"EB-MACHINE-001: {type(event).__name__} in {type(state).__name__}: {cause}; "
            f"find who sent {event!r}, the state stands as it was"
        )


class UndeclaredTransition(Exception):
    """A step led where its table does not allow: a bug in the machine."""

    def __init__(self, state: object, event: object, following: object) -> None:
        super().__init__(
            f"EB-MACHINE-002: {type(event).__name__} led from {type(state).__name__} to {type(following).__name__}, "
            "which the table of transitions does not declare; declare it or mend the reaction"
        )


def checked_step(
    transitions: Transitions,
    react: Callable[[StateT, EventT, int], Step[StateT, EffectT]],
) -> Callable[[StateT, EventT, int], Step[StateT, EffectT]]:
    """Make the `step(state, event, now_ms)` of a machine from its table and its reactions.

    The result raises UnexpectedEvent for a pair the table lacks, and UndeclaredTransition for a step outside its row.
    """

    def step(state: StateT, event: EventT, now_ms: int) -> Step[StateT, EffectT]:
        allowed = transitions.get((type(state), type(event)))
        if allowed is None:
            raise UnexpectedEvent(state, event)
        taken = react(state, event, now_ms)
        if type(taken.state) not in allowed:
            raise UndeclaredTransition(state, event, taken.state)
        return taken

    return step
