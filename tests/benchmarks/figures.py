"""What a benchmark says: a value, its target, and the ratio to a named baseline of the same run.

It must not know how a value was measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The bound of a value; `at_least` tells on which side of it is right."""

    bound: float
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        """Whether a value is on the right side, the bound itself included."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        """The bound with its sign."""
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The same measure of something else, taken in turns with ours."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the report; without a target it is there to be compared."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    baseline: Baseline | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Met, missed, or nothing where nothing is asked."""
        if self.target is None:
            return ""
        return "met" if self.target.is_met(self.value) else "MISSED"

    def cells(self) -> tuple[str, ...]:
        """Name, value with unit, target, ratio to the baseline, verdict, note."""
        target = "" if self.target is None else str(self.target)
        ratio = ""
        if self.baseline is not None:
            name, value = self.baseline.name, self.baseline.value
            ratio = f"{self.value / value:.2f} × {name} ({value:.4g})" if value else f"{name}: 0"
        return (self.name, f"{self.value:.4g} {self.unit}", target, ratio, self.verdict, self.note)


COLUMNS = ("what", "value", "target", "to baseline", "met", "note")


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = [COLUMNS, tuple("-" * len(column) for column in COLUMNS), *(figure.cells() for figure in figures)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def spread(values: Sequence[float]) -> str:
    """How far the rounds lie apart."""
    return f"{len(values)} rounds, {min(values):.3g} to {max(values):.3g}"


def middle(values: Sequence[float]) -> float:
    """The median of the rounds, which one disturbed round doesn't move."""
    return median(values)
