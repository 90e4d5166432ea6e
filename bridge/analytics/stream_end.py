"""How a stream ends that is told to: what is begun is finished, within a bound.

Whoever ends in the middle leaves what a kill leaves, and that is made up for by the next start; so behind the bound the
process just goes.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bridge.analytics.errors import tell

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what systemd, Kubernetes and `kill` send. In the middle of a word with the JVM an exception would leave
both waiting for each other, and an end of the process the tables without their last refresh.
"""


class Ending:
    """Whether somebody has told the process to end; then it has `within_s` seconds for that.

    Who tells it a second time will not wait.
    """

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s
        self._limit: threading.Timer | None = None

    def is_asked(self) -> bool:
        """Whether somebody has."""
        return self._limit is not None

    def note(self, number: int, _frame: FrameType | None) -> None:
        """A signal came."""
        if self._limit is not None:
            go(f"{signal.Signals(number).name} once more")
        self._limit = threading.Timer(self._within_s, go, (f"{self._within_s:g} s are over",))
        self._limit.daemon = True
        self._limit.start()
        tell("interrupted: making the tables for the last time")

    def over(self) -> None:
        """All is done: nobody has to look at the time any more."""
        if self._limit is not None:
            self._limit.cancel()


def go(why: str) -> None:
    """End the process at once, whatever its threads wait for, as if all were done: nothing is lost."""
    try:
        tell(f"{why}: what was taken is safe, and the next start brings the tables up to it")
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


@contextmanager
def ending(within_s: float) -> Iterator[Ending]:
    """Who is told by one of `SIGNALS` that the process is to end, from now to the end of the block."""
    told = Ending(within_s)
    former = {number: signal.signal(number, told.note) for number in SIGNALS}
    try:
        yield told
    finally:
        told.over()
        for number, was in former.items():
            signal.signal(number, was)
