"""Values that are quick to make, and like any other frozen dataclass for whoever uses them."""

from dataclasses import fields, replace
from typing import ClassVar

import pytest

from bridge.telemetry.schema.facts import unguarded


@unguarded()
class Told:
    """Something."""

    name: str
    count: int = 1


@unguarded(kw_only=True)
class ToldMore(Told):
    """More of it."""

    kind: ClassVar[str] = "more"
    reason: str
    topics: tuple[str, ...] = ()


def test_value_made_by_position_name_and_default() -> None:
    """As the class says."""
    told = ToldMore("a", 2, reason="r")
    assert (told.kind, told.name, told.count, told.reason, told.topics) == ("more", "a", 2, "r", ())
    assert [each.name for each in fields(told)] == ["name", "count", "reason", "topics"]


def test_values_compared_hashed_and_replaced() -> None:
    """Nobody sees the difference."""
    told = ToldMore("a", reason="r")
    assert told == ToldMore(name="a", reason="r", topics=())
    assert len({told, replace(told, count=1), replace(told, topics=("t",))}) == 2
    assert repr(Told("a")) == "Told(name='a', count=1)"


def test_value_without_a_field_refused() -> None:
    """By position none of those that go by name only."""
    with pytest.raises(TypeError, match="reason"):
        ToldMore("a", 1)  # type: ignore[call-arg]  # what is tested
    with pytest.raises(TypeError, match="positional"):
        ToldMore("a", 1, "r", reason="r")  # type: ignore[misc]  # what is tested


def test_value_has_no_room_for_more() -> None:
    """A name that is no field is an error as before."""
    with pytest.raises(AttributeError, match="title"):
        object.__setattr__(Told("a"), "title", "b")
