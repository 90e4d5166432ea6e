"""What owners measure of their turns, by a clock that stands still until it is moved."""

import pytest

from bridge.coordinators.turn_times import BOUNDS_NS, WINDOW_NS, BusyTime, TurnTimes

MS = 1_000_000


class HandClock:
    """Nanoseconds that pass when told."""

    def __init__(self) -> None:
        self.at_ns = 1_000

    def now_ns(self) -> int:
        """See `ports.Clock`."""
        return self.at_ns

    def move(self, by_ns: int) -> None:
        """Let time pass."""
        self.at_ns += by_ns


def test_each_that_waits_is_counted_once_with_its_own_time() -> None:
    """Two come, later a third; all get the same turn. What is dropped never waited for one."""
    clock = HandClock()
    times = TurnTimes(clock.now_ns)
    times.queued(2)
    clock.move(2 * MS)
    times.queued(1)
    clock.move(1 * MS)
    times.taken()
    times.taken()
    assert times.queue.total_ns == 7 * MS
    assert sum(times.queue.counts) == 3
    assert times.queue.counts[BOUNDS_NS.index(1 * MS)] == 1, "a bound holds what took exactly as long"
    times.queued(5)
    times.dropped()
    times.taken()
    assert sum(times.queue.counts) == 3


def test_turn_counts_though_it_raises() -> None:
    """A bug takes time, too."""
    clock = HandClock()
    times = TurnTimes(clock.now_ns)

    def turn() -> None:
        with times:
            clock.move(3 * MS)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        turn()
    assert times.processing.total_ns == 3 * MS
    clock.move(3 * MS)
    assert times.busy_ratio() == 0.5


def test_loads_are_measured_from_begin_to_end() -> None:
    """Longer than every bound is counted last."""
    clock = HandClock()
    times = TurnTimes(clock.now_ns)
    since_ns = times.begin_load()
    clock.move(BOUNDS_NS[-1] + 1)
    times.end_load(since_ns)
    assert times.loading.counts[-1] == 1
    assert times.loading.total_ns == BOUNDS_NS[-1] + 1


def test_busy_ratio_forgets_what_is_older_than_two_windows() -> None:
    """Nothing before the first moment, then this window and the one before, and 0 after a long rest."""
    busy = BusyTime(0)
    assert busy.ratio(0) == 0
    busy.add(WINDOW_NS // 2, WINDOW_NS // 2)
    assert busy.ratio(WINDOW_NS // 2) == 1
    assert busy.ratio(WINDOW_NS) == 0.5, "the window before still counts"
    assert busy.ratio(WINDOW_NS * 3 // 2) == pytest.approx(1 / 3)
    assert busy.ratio(2 * WINDOW_NS) == 0, "both windows are idle"
    busy.add(WINDOW_NS // 4, 10 * WINDOW_NS)
    assert busy.ratio(10 * WINDOW_NS) == 0.25, "an idle window goes before"


def test_turn_longer_than_both_windows_is_all_busy() -> None:
    """Never more than the time that there was."""
    busy = BusyTime(0)
    busy.add(9 * WINDOW_NS, 9 * WINDOW_NS)
    assert busy.ratio(9 * WINDOW_NS) == 1
