"""Stretches, and numbers in the place of texts."""

import numpy as np
import pyarrow as pa
import pytest

from bridge.analytics.intake.numbers import SPAN_MAX
from bridge.analytics.stretches import coding
from bridge.analytics.stretches.coding import Coded, coded, firsts, keyed, last_place, lasts, place_of, stretches_of


def stretched(*parts: list[tuple[str, int]]) -> list[list[int]] | None:
    """Where the rows of parts lie."""
    found = stretches_of(
        [(pa.array([b for b, _ in one], pa.string()), pa.array([n for _, n in one], pa.int64())) for one in parts]
    )
    return None if found is None else [one.places.tolist() for one in found]


def test_stretch_ends_where_a_number_is_missing_and_with_the_run() -> None:
    """Whatever part the numbers between are in."""
    assert stretched([("b1", 1), ("b1", 3)], [("b1", 2)]) == [[0, 0], [0]]
    assert stretched([("b1", 1), ("b1", 3), ("b1", 4)], [("b2", 5)]) == [[0, 1, 1], [2]]
    assert stretched([], [("b1", 7)]) == [[], [0]]


def test_stretch_is_known_by_its_first_and_last_number() -> None:
    """Those of all parts together, in the order in which stretches are counted."""
    boots, numbers = pa.array(["b2", "b1", "b1", "b1"]), pa.array([5, 4, 1, 3])
    found = stretches_of([(boots[:2], numbers[:2]), (boots[2:], numbers[2:])])
    assert found is not None
    assert [one.places.tolist() for one in found] == [[0, 2], [1, 2]]
    assert all((one.first.tolist(), one.last.tolist()) == ([5, 1, 3], [5, 1, 4]) for one in found)


def test_what_came_twice_or_lies_too_far_apart_is_not_told() -> None:
    """Nobody knows then what is between two events."""
    assert stretched([("b1", 1), ("b1", 1)]) is None
    assert stretched([("b1", 1)], [("b1", 1 + SPAN_MAX)]) is None
    assert stretched([("b1", 1)], [("b1", SPAN_MAX)]) == [[0], [1]]


def test_rows_have_the_same_key_where_all_their_values_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Null is a value of its own; also where the values are too many for one number."""
    columns = [coded(pa.array(["a", "a", None, "b", "a"])), coded(pa.array(["x", "y", "x", "x", "x"]))]
    for most in (coding.CODES_MAX, 2):
        monkeypatch.setattr(coding, "CODES_MAX", most)
        keys = keyed(*columns).tolist()
        assert [keys.index(key) for key in keys] == [0, 1, 2, 3, 0]


def test_coded_rows_say_what_the_column_says() -> None:
    """Null where it was null."""
    column = coded(pa.array(["a", None, "b"]))
    assert column.at(np.array([2, 1, 0])).to_pylist() == ["b", None, "a"]
    assert (place_of(column, "b"), place_of(column, "c") in column.places) == (1, False)


def test_places_of_rows_that_belong_together() -> None:
    """The first and the last of each key, and the last wanted one before each row."""
    keys, wanted = np.array([4, 4, 4, 7, 9, 9]), np.array([True, False, True, True, False, False])
    assert firsts(keys).tolist() == [0, 0, 0, 3, 4, 4]
    assert lasts(keys).tolist() == [2, 2, 2, 3, 5, 5]
    assert last_place(wanted, firsts(keys)).tolist() == [-1, 0, 0, -1, -1, -1]
    assert firsts(keys[:0]).tolist() == lasts(keys[:0]).tolist() == last_place(wanted[:0], keys[:0]).tolist() == []
    assert Coded(np.array([-1]), pa.array(["a"])).count == 2
