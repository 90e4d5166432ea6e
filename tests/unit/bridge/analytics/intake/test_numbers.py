"""Numbers of a run as bits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.analytics.intake.numbers import (
    BITS_WRITTEN_MAX,
    NOTE_MAX,
    SPAN_MAX,
    Numbers,
    Seen,
    grown,
    read_seen,
    written_seen,
)

SMALL = st.sets(st.integers(1, 90), min_size=1)


def numbers_of(values: set[int]) -> Numbers:
    """As files say it."""
    lowest = min(values)
    return Numbers(lowest, sum(1 << (value - lowest) for value in values))


def values_of(seen: Seen) -> set[int]:
    """All numbers that came."""
    above = {seen.through + 1 + place for place in range(seen.above.bit_length()) if seen.above >> place & 1}
    return {*range(1, seen.through + 1), *above}


@given(st.lists(SMALL, max_size=6))
def test_numbers_are_new_if_no_set_before_has_them(batches: list[set[int]]) -> None:
    """As sets say it; what is not sure is left as it was."""
    seen, came = Seen(), set[int]()
    for batch in batches:
        more = seen.adding(numbers_of(batch))
        assert (more is None) == bool(came & batch)
        if more is not None:
            seen, came = more, came | batch
        assert (values_of(seen), seen.highest) == (came, max(came, default=0))
        assert not seen.above & 1, "what follows without a gap is no exception"


@given(SMALL, SMALL, st.integers(-5, 95))
def test_numbers_may_be_included_that_came_before(first: set[int], second: set[int], floor: int) -> None:
    """What is not above the floor counts as come."""
    seen = Seen().including(numbers_of(first), -5).including(numbers_of(second), floor)
    assert values_of(seen) == {*first, *second, *range(1, floor + 1)}


@pytest.mark.parametrize("numbers", [Numbers(0, 1), Numbers(-7, 0b10000000001), Numbers(SPAN_MAX + 2, 1)])
def test_numbers_that_no_run_gives_are_not_sure(numbers: Numbers) -> None:
    """From 1, and not as far away as that: Spark looks."""
    assert Seen().adding(numbers) is None


def test_runs_grow_apart_and_together() -> None:
    """What is not sure of one is not sure of all, and changes nothing."""
    seen = {"a": Seen(3), "b": Seen(1)}
    assert grown(seen, [("a", Numbers(5, 1)), ("c", Numbers(1, 3)), ("a", Numbers(4, 1))]) == {
        "a": Seen(5),
        "c": Seen(2),
    }
    assert grown(seen, [("a", Numbers(5, 1)), ("b", Numbers(1, 1))]) is None
    assert grown(seen, [("a", Numbers(5, 1)), ("a", Numbers(5, 1))]) is None
    assert seen == {"a": Seen(3), "b": Seen(1)}


def test_what_came_is_written_and_read_again() -> None:
    """Unless it is too long to stand in the log of a table."""
    seen = {"b1": Seen(7, 0b101), "b2": Seen()}
    assert read_seen(written_seen(seen)) == seen
    assert written_seen({"b1": Seen(0, int("a" * NOTE_MAX, 16))}) == ""


@given(st.lists(st.integers(1, BITS_WRITTEN_MAX * 3), min_size=1, max_size=7))
def test_long_stretches_that_did_not_come_are_written_shortly(lengths: list[int]) -> None:
    """What a stream has missed is one: nothing was written behind a million events, and every restart read all events,
    for ever.
    """
    above, place = 0, 0
    for number, length in enumerate(lengths):
        above |= ((1 << length) - 1) << place if number % 2 else 0
        place += length
    seen = {"b1": Seen(7, above)}
    text = written_seen(seen)
    assert read_seen(text) == seen
    assert len(text) < BITS_WRITTEN_MAX / 4 + 100
