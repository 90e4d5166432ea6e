"""Virtual time."""

from functools import partial

from tests.support.simulation.timeline import Timeline


def _note(seen: list[tuple[int, str]], timeline: Timeline, name: str) -> None:
    seen.append((timeline.now_ms, name))


def test_actions_happen_by_time_and_then_in_the_order_planned() -> None:
    """Reliability 3.6: deterministic ties."""
    timeline = Timeline()
    seen: list[tuple[int, str]] = []
    for due_ms, name in ((20, "c"), (10, "a"), (10, "b")):
        timeline.at(due_ms, partial(_note, seen, timeline, name))
    timeline.run_until(20)
    assert seen == [(10, "a"), (10, "b"), (20, "c")]
    assert timeline.steps == 3


def test_action_planned_for_the_past_happens_next() -> None:
    """Time never runs backwards."""
    timeline = Timeline()
    seen: list[int] = []
    timeline.run_until(50)
    timeline.at(10, lambda: seen.append(timeline.now_ms))
    timeline.run_until(50)
    assert seen == [50]


def test_run_ends_at_its_end_and_leaves_the_rest() -> None:
    """What an action plans within the span happens too, what lies behind it does not."""
    timeline = Timeline()
    seen: list[int] = []
    timeline.after(5, lambda: timeline.after(5, lambda: seen.append(timeline.now_ms)))
    timeline.after(31, lambda: seen.append(timeline.now_ms))
    timeline.run_until(30)
    assert (seen, timeline.now_ms) == ([10], 30)
