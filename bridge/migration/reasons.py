"""Why a group can't move to another road, or what to know before it does, as values with stable codes.

They hold what was seen, whoever looked.
"""

from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.route import Road
from translators.dialects.ids import MemberId


class Weight(StrEnum):
    """What a reason means for a move."""

    BLOCKS = auto()
    """It stays until somebody changes something."""
    DISTURBS = auto()
    """The move can't be proved harmless: it is made with `--allow-rebalance` only."""
    PASSES = auto()
    """It goes by itself: ask again in a moment."""
    NOTES = auto()
    """It stands in nobody's way, and whoever moves the group should know it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing to know before a move: what was seen, what helps, and which members it concerns, () for the group."""

    code: str
    text: str
    remedy: str
    weight: Weight = Weight.BLOCKS
    members: tuple[MemberId, ...] = ()

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.code}: {self.text}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a group could move to `destination`: reasons in the order in which they were looked for."""

    destination: Road
    reasons: tuple[Reason, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether nothing stands in the way at this moment."""
        return not self.obstacles

    @property
    def obstacles(self) -> tuple[Reason, ...]:
        """What stands in the way."""
        return tuple(reason for reason in self.reasons if reason.weight is not Weight.NOTES)

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What stands in nobody's way."""
        return tuple(reason for reason in self.reasons if reason.weight is Weight.NOTES)

    def allows(self, *, rebalance: bool) -> bool:
        """Whether the move may be made now, also one that may disturb members if `rebalance` is allowed."""
        tolerated = {Weight.DISTURBS} if rebalance else set()
        return all(reason.weight in tolerated for reason in self.obstacles)
