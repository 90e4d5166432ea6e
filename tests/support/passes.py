"""How often trio goes over the tasks that can run: what waits in a line, one behind the other, takes a pass each.

It must not know what the tasks do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Passes(trio.abc.Instrument):
    """Their number so far."""

    def __init__(self) -> None:
        self.count = 0

    def before_io_wait(self, timeout: float) -> None:
        """One pass is over."""
        self.count += 1


@contextmanager
def count_passes() -> Iterator[Passes]:
    """Count them until the end of the block."""
    passes = Passes()
    trio.lowlevel.add_instrument(passes)
    try:
        yield passes
    finally:
        trio.lowlevel.remove_instrument(passes)
