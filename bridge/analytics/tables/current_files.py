"""Which Parquet files make up a table now, for who reads them without Spark."""

from collections.abc import Mapping
from pathlib import Path

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import DATE, Table
from bridge.analytics.tables.snapshot import pinned_log

BEFORE = "_before-delta"
"""The folder of tables that are being taken over."""
MOVES = "_next/moves-*"
"""Notes of a version before Delta of tables that change places: what is still beside its place is there only."""


def current_files(root: str, table: Table, told: Mapping[str, object] | None = None) -> tuple[str, ...]:
    """The files of a table below a root of this machine, absolute and in order; none where it was never written.

    Tables belong together that are asked for with the same snapshot; none means the newest. Columns are known by their
    names: files that were written under an older schema lack some, and those of a newer one have more than the table
    says. `date` is told by the names of the folders (`date=…`).
    Raise AnalyticsError where the tables are of a version before Delta.
    """
    folder = Path(root).resolve() / table.name
    log = pinned_log(str(folder.parent), table, told)
    if (log.version is None and any(folder.glob(f"{DATE}=*"))) or _is_between(folder.parent):
        raise AnalyticsError(
            f"EB-ANALYTICS-033: {folder} is of an epochbridge that had no Delta tables; "
            "run `epochbridge analytics report --engine spark` once, which takes them over"
        )
    return tuple(sorted(str(folder / file.path) for file in log.files()))


def _is_between(root: Path) -> bool:
    """Whether tables of a version before Delta are on their way into a place, this one or that of a take-over."""
    return (root / BEFORE).exists() or any(root.glob(MOVES))
