"""What questions and answers have in common, whoever answers."""

from pathlib import Path

import pytest

from bridge.analytics.engines.views import Row, percentile
from bridge.analytics.tables.definitions import STALLS
from tests.support.table_files import duckdb_over


def test_row_gives_what_is_asked_for_or_says_what_it_has() -> None:
    """A column of another type is a fault of ours, and is not passed on."""
    row = Row({"name": "anna", "count": 3, "is_so": True, "nothing": None})
    assert (row.text("name"), row.number("count"), row.number("is_so")) == ("anna", 3, 1)
    assert (row.text_or_none("name"), row.text_or_none("nothing")) == ("anna", None)
    with pytest.raises(TypeError, match="count is 3, not a text"):
        row.text("count")
    with pytest.raises(TypeError, match="nothing is None, not a whole number"):
        row.number("nothing")


@pytest.mark.parametrize(("values", "share", "found"), [((1, 2, 9), 0.95, 8), ((10, 30), 0.05, 11), ((1, 2), 0.5, 1)])
def test_percentile_is_exact_and_rounded_down(
    tmp_path: Path, values: tuple[int, ...], share: float, found: int
) -> None:
    """Between neighbours; what a fraction lacks to a whole number is not lost."""
    views = duckdb_over(tmp_path, {STALLS: [{"stall_us": value} for value in values]})
    assert views.ask(f"SELECT {percentile('stall_us', share)} AS p FROM stalls", lambda row: row.number("p")) == [found]
