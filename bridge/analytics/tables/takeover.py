"""Tables of versions before Delta, folders of Parquet files by day and batch, become Delta tables once.

Whoever dies meanwhile leaves the old folders beside, and the next process does the rest.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.tables.current_files import BEFORE, MOVES
from bridge.analytics.tables.definitions import BATCH, DATE, EVENTS, ON_DEMAND, TABLES, Table
from bridge.analytics.tables.publishing import publish, published
from bridge.analytics.tables.snapshot import versions_of
from bridge.analytics.tables.store import CHECKPOINT, NEXT, Store
from bridge.analytics.tables.table_log import NOTHING_YET

ALL = (*TABLES.values(), *ON_DEMAND)


def is_old(store: Store) -> bool:
    """Whether there are tables that have to be taken over."""
    return (
        store.files.exists(store.path(BEFORE))
        or bool(store.files.find(store.path(MOVES)))
        or any(_is_old(store, table) for table in ALL)
    )


def require_moved(store: Store) -> None:
    """Raise AnalyticsError if a version before Delta died while tables changed places: some are below `NEXT` only."""
    notes = store.files.find(store.path(MOVES))
    if notes:
        raise AnalyticsError(
            f"EB-ANALYTICS-038: an epochbridge that had no Delta tables was ended while it put tables in place in "
            f"{store.root}, and {notes[0]} says what is left to be moved; run `epochbridge analytics report` of that "
            "version once, which moves it, and then this command again, or remove that directory and make the tables "
            "anew"
        )


def take_over(store: Store) -> None:
    """Read what is old once, and let Delta tables stand in its place; only for who knows that nobody else does."""
    done = last_noted(store) if store.has_stream() else None
    store.files.make_folder(store.path(BEFORE))
    for table in ALL:
        if not _is_old(store, table):
            continue
        if store.files.exists(store.path(BEFORE, table.name)):
            # What who died had moved there; Hadoop would move it into the old table.
            store.clear_folder(table.name)
        else:
            store.files.move(store.path(table.name), store.path(BEFORE, table.name))
    for table in ALL:
        if store.files.exists(store.path(BEFORE, table.name)) and not store.log(table).version:
            _convert(store, table, done)
    publish(store)
    store.files.delete(store.path(BEFORE))


def _is_old(store: Store, table: Table) -> bool:
    """A table of which a snapshot knows a version has lost its log: in its folder are files that have left it, too."""
    is_without = store.log(table).version is None and table.name not in versions_of(published(store))
    return is_without and bool(store.files.find(store.path(table.name, f"{DATE}=*")))


def _convert(store: Store, table: Table, done: int | None) -> None:
    """The rows of an old table; of a stream's those of batches that were whole, for the next one comes again."""
    rows: DataFrame = store.spark.read.schema(table_schema(table)).parquet(store.path(BEFORE, table.name))
    if done is not None and BATCH in table.column_names:
        rows = rows.where(f.col(BATCH) <= done)
    is_begun = table is EVENTS and done not in {None, NOTHING_YET}
    store.commit(table, store.stage(table, rows), done=done if is_begun else None)
    store.clear_folder(NEXT)


def last_noted(store: Store) -> int:
    """The last batch that Spark has noted as done for a stream: one that was begun after it may be there in part."""
    found = store.files.find(store.path(CHECKPOINT, "commits", "[0-9]*"))
    return max((int(path.rpartition("/")[2]) for path in found), default=NOTHING_YET)
