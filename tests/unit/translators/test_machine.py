"""The check of a step against its declared table. It must not know any real machine."""

from dataclasses import dataclass

import pytest

from translators.machine import Step, UndeclaredTransition, UnexpectedEvent, checked_step


@dataclass(frozen=True, slots=True)
class Off:
    """A lamp that is off."""


@dataclass(frozen=True, slots=True)
class On:
    """A lamp that is on."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """The switch was pressed."""


@dataclass(frozen=True, slots=True)
class Painted:
    """The lamp was painted."""


def toggle(state: Off | On, _event: Pressed | Painted, _now_ms: int) -> Step[Off | On, str]:
    """Turn the lamp off or on."""
    return Step(On(), ("light",)) if isinstance(state, Off) else Step(Off())


step = checked_step({(Off, Pressed): frozenset({On}), (On, Pressed): frozenset({On})}, toggle)


def test_declared_pair_steps() -> None:
    """A step inside its row is what the reaction said."""
    assert step(Off(), Pressed(), 0) == Step(On(), ("light",))


def test_missing_pair_is_unexpected() -> None:
    """A pair the table lacks is never reacted to."""
    with pytest.raises(UnexpectedEvent, match="EB-MACHINE-001: Painted in Off"):
        step(Off(), Painted(), 0)


def test_step_outside_its_row_is_undeclared() -> None:
    """A reaction can't lead where the table does not."""
    with pytest.raises(UndeclaredTransition, match="EB-MACHINE-002: Pressed led from On to Off"):
        step(On(), Pressed(), 0)
