"""Whether there are tables to be read, without Spark."""

from pathlib import Path

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.current_files import BEFORE, MOVES
from bridge.analytics.tables.definitions import REBALANCES


def require_tables(out: str) -> None:
    """Raise AnalyticsError unless tables are below a folder of this machine, where the report can lie beside them."""
    place = Path(out)
    is_there = any((place / name).is_dir() for name in (REBALANCES.name, BEFORE)) or any(place.glob(MOVES))
    if "://" in out or not is_there:
        raise AnalyticsError(
            f"EB-ANALYTICS-009: {out} holds no tables on this machine; "
            "make them with `epochbridge analytics run` or `analytics stream`, and name their --out"
        )
