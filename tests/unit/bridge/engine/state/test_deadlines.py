"""Tests of deadlines that move: the earliest is always the true one."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.state import Deadlines
from tests.support.engine_bench import GROUP
from translators.dialects.ids import MemberId

KEYS = [DeadlineKey(DeadlineKind.SESSION, GROUP, MemberId(name)) for name in "abc"]
CHANGES = st.lists(st.tuples(st.sampled_from(KEYS), st.none() | st.integers(0, 50)), max_size=40)


@given(changes=CHANGES, now_ms=st.integers(0, 60))
def test_any_moves_then_earliest_and_passed_match_the_plain_table(
    changes: list[tuple[DeadlineKey, int | None]], now_ms: int
) -> None:
    """The heap is only a shortcut: a plain dictionary gives the same answers, before and after asking."""
    deadlines = Deadlines()
    plain: dict[DeadlineKey, int] = {}
    for key, at_ms in changes:
        if at_ms is None:
            deadlines.drop(key)
            plain.pop(key, None)
        else:
            deadlines.put(key, at_ms)
            plain[key] = at_ms
        assert deadlines.earliest() == min(plain.values(), default=None)
    due = {key for key, at_ms in plain.items() if at_ms <= now_ms}
    assert set(deadlines.passed(now_ms)) == due
    assert [plain[key] for key in deadlines.passed(now_ms)] == sorted(plain[key] for key in due)
    assert deadlines.due == plain


def test_deadline_moved_later_many_times_keeps_one_heap_entry() -> None:
    """A heartbeat costs a dictionary write, not a heap entry."""
    deadlines = Deadlines()
    for at_ms in range(1_000):
        deadlines.put(KEYS[0], at_ms)
    assert len(deadlines._heap) == 1
