"""A machine's steps, one effect behind the other."""

from collections.abc import Awaitable, Callable

import pytest
import trio

from bridge.coordinators.moving.course import InTurn, course
from translators.machine import Step


def count_down(state: int, event: str, now_ms: int) -> Step[int, str]:
    """A machine that asks until nothing is left."""
    left = state - len(event) - now_ms
    return Step(left, ("ask",) if left > 0 else ())


def answering(*events: str) -> tuple[list[str], Callable[[str], Awaitable[str]]]:
    """What was asked, and who answers it."""
    asked, answers = list[str](), iter(events)

    async def carry_out(effect: str) -> str:
        await trio.lowlevel.checkpoint()
        asked.append(effect)
        return next(answers)

    return asked, carry_out


async def test_every_state_is_told_once_it_is_reached() -> None:
    """The first, which nothing led to, and the last, which asks for nothing, too."""
    asked, carry_out = answering("a", "bc", "d")
    states = [state async for state in course(Step(7, ("ask",)), count_down, carry_out, lambda: 1)]
    assert (states, asked) == ([7, 5, 2, 0], ["ask"] * 3)


async def test_machine_that_asks_for_nothing_is_over() -> None:
    """As after a restart behind which nothing is left to be done."""
    asked, carry_out = answering()
    assert [state async for state in course(Step(0), count_down, carry_out, lambda: 1)] == [0]
    assert asked == []


async def test_failure_leaves_the_state_before_it() -> None:
    """A move goes on from there."""
    states: list[int] = []

    async def fail(_effect: str) -> str:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError

    async def go() -> None:
        async for state in course(Step(7, ("ask",)), count_down, fail, lambda: 1):
            states.append(state)

    with pytest.raises(ZeroDivisionError):
        await go()
    assert states == [7]


def test_what_happens_in_the_middle_of_a_step_waits_for_its_end() -> None:
    """Whoever carries an effect out may be answered at once; the state it would see then is not there yet."""
    told: list[tuple[str, bool]] = []

    def step(event: str) -> None:
        told.append((f"{event} begins", True))
        if event == "first":
            told.append(("second came", in_turn.take("second")))
        told.append((f"{event} ends", True))

    in_turn = InTurn(step)
    assert in_turn.take("first")
    assert [word for word, _ in told] == ["first begins", "second came", "first ends", "second begins", "second ends"]
    assert ("second came", False) in told


def test_events_go_on_behind_a_step_that_failed() -> None:
    """A bug in one of them ends that step; what comes next is not taken for something in its middle."""
    taken: list[int] = []

    def step(event: int) -> None:
        taken.append(1 // event)

    in_turn = InTurn(step)
    with pytest.raises(ZeroDivisionError):
        in_turn.take(0)
    assert in_turn.take(1)
    assert taken == [1]
