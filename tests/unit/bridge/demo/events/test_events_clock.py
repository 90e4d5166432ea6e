"""The event logs' clock. It must not know what is timed."""

import time

from bridge.demo.events import now_ns


def test_clock_asked_is_the_hosts_monotonic_clock() -> None:
    """Times of different processes compare only if all use CLOCK_MONOTONIC."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert before <= now_ns() <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
