"""The one clock of every event log: the host's CLOCK_MONOTONIC, which all processes of a machine share.
It must not know what is timed.
"""

import time


def now_ns() -> int:
    """Nanoseconds on CLOCK_MONOTONIC, comparable between processes of one host."""
    return time.monotonic_ns()


def wall_ms_to_now_ns(wall_ms: int) -> int:
    """The monotonic instant of a wall-clock stamp (milliseconds since 1970) taken lately on this host; never in the
    future.
    """
    seen_ns = time.monotonic_ns()
    return min(seen_ns, wall_ms * 1_000_000 - time.time_ns() + seen_ns)
