"""Stamps of Java's VerifiableConsumer on the clock of the fleet's other logs."""

import time

from bridge.demo.events import now_ns
from tests.support.clients.java_translator import wall_ms_to_now_ns


def test_wall_stamp_of_a_second_ago_maps_to_a_second_ago() -> None:
    """Stamps in wall-clock milliseconds are shifted to the monotonic clock, to the millisecond."""
    stamp_ms = time.time_ns() // 1_000_000 - 1000
    assert abs(now_ns() - wall_ms_to_now_ns(stamp_ms) - 1_000_000_000) < 50_000_000


def test_wall_stamp_in_the_future_maps_to_now() -> None:
    """A stamp never lies after the moment it was read."""
    assert wall_ms_to_now_ns(time.time_ns() // 1_000_000 + 60_000) <= now_ns()
