"""The tables as SQL views of their names, read only, whoever answers.

The words of a question are those that Spark SQL and DuckDB both know and mean alike. Where they don't agree by
themselves, the question says it: `NULLS FIRST` or `LAST` in every order, `CAST(floor(…) AS BIGINT)` and not a cast of a
fraction, a row by its place in an order and not by `max_by`, which passes over nulls in one and not in the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS

VIEWS = (PHASES, REBALANCES, STALLS, MEMBERS)
"""The tables that questions are about."""
T = TypeVar("T")
SUM_MAX = 2**63 - 1


class QuestionRefused(Exception):
    """The question has words that the engine does not know, or that do not go together; its reason in one line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an answer, its values by the names of their columns: text, whole numbers, truth values, or None."""

    values: Mapping[str, object]

    def text(self, name: str) -> str:
        """A text; raise TypeError if it is none."""
        value = self.values[name]
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}, not a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A text that may be null."""
        return None if self.values[name] is None else self.text(name)

    def number(self, name: str) -> int:
        """A whole number, or a truth value; raise TypeError if it is neither."""
        value = self.values[name]
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}, not a whole number")
        return value


class Views(Protocol):
    """The tables below a folder, of all groups or of one."""

    def of_group(self, group: str) -> "Views":
        """The same with the rows of one group only."""

    def keep(self, name: str, question: str) -> None:
        """Answer once, as a view of that name; raise QuestionRefused where its words are at fault."""

    def ask(self, question: str, shape: Callable[[Row], T]) -> list[T]:
        """The answer, each row made into something."""


def percentile(column: str, share: float) -> str:
    """The words for an exact percentile between neighbours as a whole number, rounded down.

    Both engines compute with fractions, each in its own order, and may come out a hair below a whole number: twentieths
    of a microsecond are told apart, a hair is not.
    """
    return f"CAST(floor(percentile_cont({share}) WITHIN GROUP (ORDER BY {column}) + 0.001) AS BIGINT)"


def total(column: str, over: str = "") -> str:
    """The words for a sum as a whole number, the most that can be told where it is more, null of nothing.

    Of a sum that is too large Spark makes an error, and DuckDB a number that fits into no column.
    """
    exact = f"sum(CAST({column} AS DECIMAL(38, 0))){over}"
    return f"CAST(CASE WHEN {exact} > {SUM_MAX} THEN {SUM_MAX} ELSE {exact} END AS BIGINT)"
