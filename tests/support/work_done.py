"""Counts the work of a call without a clock: lines of Python that ran, and bytes that were allocated on the way.

The same input always gives the same count, on any machine and under any load.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from _typeshed import TraceFunction

GROWTH_MAX = 2.6
"""How much more the step to twice the input may cost than the step before it: linear work has 2, quadratic 4."""
FREE_LINES = 300
FREE_BYTES = 8_192
"""What may come on top: tables that double now and then, an error's text."""


class Work(NamedTuple):
    """Lines and allocated bytes, also of what was freed again: a copy of all that came before shows there."""

    lines: int
    allocated_bytes: int


def work_of(run: Callable[[], object]) -> Work:
    """Count what `run` does; an exception is an end like any other."""
    counter = _Counter()
    before = sys.gettrace()
    # A collection that falls into it would run the finalizers of others, which are lines, too.
    was_collecting = gc.isenabled()
    gc.disable()
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    sys.settrace(counter.trace)
    try:
        with suppress(Exception):
            run()
    finally:
        sys.settrace(before)
        if was_collecting:
            gc.enable()
        counter.count()
        if not was_tracing:
            tracemalloc.stop()
    return Work(counter.lines, counter.allocated_bytes)


def growth_faults(runs: Sequence[Callable[[], object]]) -> list[str]:
    """What grows faster than the input; the runs are of sizes that double. The first call of all warms up caches."""
    runs[0]()
    works = [work_of(run) for run in runs]
    faults = []
    for name, free, counts in (
        ("lines", FREE_LINES, [work.lines for work in works]),
        ("bytes", FREE_BYTES, [work.allocated_bytes for work in works]),
    ):
        steps = [max(0, after - before) for before, after in pairwise(counts)]
        for smaller, larger in pairwise(steps):
            if larger > GROWTH_MAX * smaller + free:
                faults.append(f"{name}: {counts}")
                break
    return faults


class _Counter:
    def __init__(self) -> None:
        self.lines = 0
        self.allocated_bytes = 0
        self._at_bytes = 0

    def trace(self, _frame: FrameType, event: str, _argument: object) -> "TraceFunction":
        if event == "line":
            self.lines += 1
            self.count()
        return self.trace

    def count(self) -> None:
        """Add what the last line needed at its most; it may have given some of that back."""
        now, peak = tracemalloc.get_traced_memory()
        self.allocated_bytes += max(0, peak - self._at_bytes)
        self._at_bytes = now
        tracemalloc.reset_peak()
