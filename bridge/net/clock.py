"""The only place that asks for the time."""

import time

import trio


def now_ms() -> int:
    """Milliseconds of a clock that never goes back; virtual in tests with a mock clock."""
    return int(trio.current_time() * 1000)


now_ns = time.perf_counter_ns
"""Nanoseconds of a fine clock that never goes back, to measure the bridge's own work with.

No function of ours around it: it is asked at each heartbeat.
"""


def wall_ms() -> int:
    """Milliseconds since 1970 by this machine's clock, which may go back."""
    return time.time_ns() // 1_000_000


def deadline_in(seconds: float) -> float:
    """The moment `seconds` from now, as trio's cancel scopes count."""
    return trio.current_time() + seconds


class TrioClock:
    """The clock as a value (`ports.Clock`)."""

    # The functions themselves, not methods that call them: each heartbeat asks for the time.
    now_ms = staticmethod(now_ms)
    now_ns = staticmethod(now_ns)
