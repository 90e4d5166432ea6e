"""Who may watch the embedded groups: a seam that costs nothing while nobody does.

It must not know who watches, nor let a watcher change anything.
"""

from typing import Protocol

from bridge.engine.outcome import Outcome
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import MemberRef


class Watcher(Protocol):
    """Hears what the engine did and why machines gave their members up; must not raise."""

    def advanced(self, outcome: Outcome) -> None:
        """The engine carried out commands; its records are applied."""
        ...

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """A classic client's member is about to leave the engine."""
        ...


class Unwatched:
    """Nobody watches."""

    def advanced(self, outcome: Outcome) -> None:
        """See `Watcher`."""

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """See `Watcher`."""
