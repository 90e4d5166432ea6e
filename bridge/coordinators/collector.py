"""Python's garbage collector while many things are made that stay.

It must not know what is made.
"""

import gc
from types import TracebackType
from typing import Self

MANY = 200_000
"""Objects that one piece of work may leave behind before looking at them once more costs a pause that members feel."""


class RestingCollector:
    """No looking for garbage in the block, and never at what it made if that is a lot: looking was half its time."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> Self:
        """Begin to rest."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go on as before."""
        del kind, problem, trace
        if gc.get_count()[0] > MANY:
            gc.freeze()
        if self._was_enabled:
            gc.enable()
