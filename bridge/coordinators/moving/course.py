"""The course of a move: its machine's steps, each effect carried out before the next event.

A whole group's machine asks for one effect at a time and waits for it (`course`); where members are moved one by one,
events come from all sides, also in the middle of a step (`InTurn`).
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic

from translators.machine import EffectT, EventT, StateT, Step


async def course(
    taken: Step[StateT, EffectT],
    step: Callable[[StateT, EventT, int], Step[StateT, EffectT]],
    carry_out: Callable[[EffectT], Awaitable[EventT]],
    now_ms: Callable[[], int],
) -> AsyncIterator[StateT]:
    """Each state as soon as it is reached, until one asks for nothing more; a state asks for one effect at a time."""
    yield taken.state
    while taken.effects:
        (effect,) = taken.effects
        event = await carry_out(effect)
        taken = step(taken.state, event, now_ms())
        yield taken.state


class InTurn(Generic[EventT]):
    """Takes events one behind the other: what happens in the middle of a step waits for its end."""

    def __init__(self, step: Callable[[EventT], None]) -> None:
        self._step = step
        self._events: deque[EventT] = deque()
        self._is_stepping = False

    def take(self, event: EventT) -> bool:
        """Take a step for it, and for what comes of that; whether all is done: not so in the middle of another."""
        self._events.append(event)
        if self._is_stepping:
            return False
        self._is_stepping = True
        try:
            while self._events:
                self._step(self._events.popleft())
        finally:
            self._is_stepping = False
        return True
