"""Whether there are tables to be read, and which files they are, for who reads them without Spark."""

from pathlib import Path

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.current_files import current_files
from bridge.analytics.tables.definitions import REBALANCES, Table

UNSETTLED = "_next/moves-*"
"""The notes of tables that are being put in place (`tables.placing`)."""


def settled_files(out: str, table: Table) -> tuple[str, ...]:
    """The files of a table; raise AnalyticsError while tables are being put in place."""
    if any(Path(out).glob(UNSETTLED)):
        raise AnalyticsError(
            f"EB-ANALYTICS-051: the tables in {out} are being exchanged for new ones, or who did that was ended; wait, "
            "or if nobody does, let Spark put them in place: the same command with --engine spark"
        )
    return current_files(out, table)


def require_tables(out: str) -> None:
    """Raise AnalyticsError unless tables are below a folder of this machine, where the report can lie beside them."""
    place = Path(out)
    if "://" in out or not ((place / REBALANCES.name).is_dir() or any(place.glob(UNSETTLED))):
        raise AnalyticsError(
            f"EB-ANALYTICS-009: {out} holds no tables on this machine; "
            "make them with `epochbridge analytics run` or `analytics stream`, and name their --out"
        )
