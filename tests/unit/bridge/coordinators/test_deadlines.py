"""Deadlines that move."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.deadlines import Deadlines


def test_deadline_that_moved_later_is_noted_anew() -> None:
    """A heartbeat costs no entry; the old one finds the new time."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 10)
    deadlines.note("a", 20)
    assert deadlines.next_ms() == 10
    assert deadlines.take_due(10, {"a": 20}.get) == []
    assert deadlines.next_ms() == 20
    assert deadlines.take_due(20, {"a": 20}.get) == ["a"]
    assert deadlines.next_ms() is None


def test_deadline_that_moved_earlier_is_found_in_time() -> None:
    """Never too late."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 20)
    deadlines.note("a", 10)
    assert deadlines.take_due(10, {"a": 10}.get) == ["a"]


def test_key_without_a_deadline_is_forgotten() -> None:
    """What is gone is not looked at."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 10)
    deadlines.note("b", None)
    assert deadlines.take_due(10, {"b": 1}.get) == []
    assert deadlines.next_ms() is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50))))
def test_due_keys_are_those_whose_time_has_come(moves: list[tuple[str, int]]) -> None:
    """Against a dictionary."""
    deadlines, truth = Deadlines[str](), dict[str, int]()
    for key, at_ms in moves:
        truth[key] = at_ms
        deadlines.note(key, at_ms)
    for now_ms in range(51):
        due = {key for key, at_ms in truth.items() if at_ms <= now_ms}
        assert set(deadlines.take_due(now_ms, truth.get)) == due
        for key in due:
            del truth[key]
