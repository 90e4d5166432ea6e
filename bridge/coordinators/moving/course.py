"""The course of a move of a whole group: its machine's steps, each effect carried out before the next event."""

from collections.abc import AsyncIterator, Awaitable, Callable

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
