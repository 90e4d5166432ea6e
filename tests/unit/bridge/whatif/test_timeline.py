"""What happens when."""

from functools import partial

import pytest

from bridge.whatif.timeline import Timeline, next_beat_us


def test_actions_happen_in_order_of_time_then_of_planning() -> None:
    """What is past happens now."""
    timeline, seen = Timeline(10), list[str]()

    def happen(name: str) -> None:
        seen.append(f"{name}@{timeline.now_us}")

    for at_us, name in ((30, "c"), (20, "a"), (20, "b"), (5, "late")):
        timeline.at(at_us, partial(happen, name))
    while timeline.next_us() is not None:
        timeline.step()
    assert seen == ["late@10", "a@20", "b@20", "c@30"]


def test_action_may_plan_another() -> None:
    """As clients do."""
    timeline, seen = Timeline(0), list[int]()
    timeline.at(1, lambda: timeline.at(timeline.now_us + 4, lambda: seen.append(timeline.now_us)))
    timeline.step()
    assert timeline.next_us() == 5
    timeline.step()
    assert (seen, timeline.next_us()) == ([5], None)


@pytest.mark.parametrize(("now_us", "due_us"), [(100, 110), (109, 110), (110, 110), (111, 120), (50, 110)])
def test_beats_keep_their_step(now_us: int, due_us: int) -> None:
    """Of one that beat at 100, every 10: never twice at once, and what is due now is done now."""
    assert next_beat_us(100, 10, now_us) == due_us
