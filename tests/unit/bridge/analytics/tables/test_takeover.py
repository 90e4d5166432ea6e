"""Tables of a stream of an epochbridge before Delta: `data/before-delta.zip`, two batches and what came of them."""

from collections import Counter
from pathlib import Path
from shutil import copytree, rmtree
from zipfile import ZipFile

import pytest
from pyarrow import dataset

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables import takeover
from bridge.analytics.tables.current_files import BEFORE, current_files
from bridge.analytics.tables.definitions import BATCH, DATE, EVENTS, REBALANCES, TABLES, Table
from bridge.analytics.tables.publishing import pinned, publish
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import TableLog
from bridge.analytics.tables.takeover import is_old, take_over

OLD = Path(__file__).parent / "data" / "before-delta.zip"
FILLED = ("events", "phases", "rebalances", "stalls", "members", "daily", "rejected")


@pytest.fixture(name="old")
def _old(store: Store) -> Store:
    """A store of that version."""
    with ZipFile(OLD) as packed:
        packed.extractall(store.root)
    return store


def old_rows(root: str, table: Table) -> Counter[tuple[str, ...]]:
    """The rows of an old table, without Spark; those of a batch lie in a folder of its own."""
    kept = [name for name in table.column_names if name not in {DATE, BATCH}]
    found = dataset.dataset(f"{root}/{table.name}", format="parquet", exclude_invalid_files=True, partitioning=None)
    rows = found.to_table([name for name in kept if name in found.schema.names]).to_pylist()
    return Counter(tuple(str(row.get(name)) for name in kept) for row in rows)


def new_rows(store: Store, table: Table) -> Counter[tuple[str, ...]]:
    """The same of a table of today."""
    kept = [name for name in table.column_names if name not in {DATE, BATCH}]
    return Counter(tuple(str(row[name]) for name in kept) for row in store.read(table).collect())


def test_rows_are_taken_over_and_the_stream_goes_on(old: Store) -> None:
    """All of them, with their days and batches; what was there before is gone."""
    before = {name: old_rows(old.root, TABLES[name]) for name in FILLED}
    assert is_old(old)
    take_over(old)
    assert {name: new_rows(old, TABLES[name]) for name in FILLED} == before
    batches = {(str(row[DATE]), row[BATCH]) for row in old.read(EVENTS).select(DATE, BATCH).distinct().collect()}
    assert batches == {("2025-11-17", 0), ("2025-11-17", 1)}
    assert (old.log(EVENTS).done(), is_old(old), old.has_stream()) == (1, False, True)
    assert not Path(old.path(BEFORE)).exists()
    assert len(current_files(old.root, EVENTS)) == 2


def test_batch_that_was_not_noted_as_done_is_left_to_the_stream(old: Store) -> None:
    """It may be there in part, and comes again."""
    Path(old.path("_checkpoint", "commits", "1")).unlink()
    take_over(old)
    assert {row[BATCH] for row in old.read(EVENTS).select(BATCH).distinct().collect()} == {0}
    assert old.log(EVENTS).done() == 0


def test_who_dies_meanwhile_leaves_everything_to_the_next_one(old: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever tables stand by then."""
    before = old_rows(old.root, REBALANCES)

    def die(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(takeover, "publish", die)
        with pytest.raises(InterruptedError):
            take_over(old)
    assert is_old(old)
    take_over(old)
    assert (new_rows(old, REBALANCES), is_old(old)) == (before, False)


def test_who_has_no_spark_is_told(old: Store) -> None:
    """It would find no row."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-033: .*events is of an epochbridge that had no Delta"):
        current_files(old.root, EVENTS)


def test_who_dies_while_files_come_into_a_table_leaves_the_old_one_whole(
    old: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files by day without a log look like an old table: they must not be moved into the one that is kept."""
    before = {name: old_rows(old.root, TABLES[name]) for name in FILLED}

    def die(*_: object, **__: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(TableLog, "_commit", die)
        with pytest.raises(InterruptedError):
            take_over(old)
    assert is_old(old)
    take_over(old)
    assert {name: new_rows(old, TABLES[name]) for name in FILLED} == before


def test_files_by_day_that_an_interrupted_takeover_left_are_no_old_table(old: Store) -> None:
    """Hadoop would move a folder into the one of that name."""
    before = old_rows(old.root, REBALANCES)
    Path(old.path(BEFORE)).mkdir()
    Path(old.path(REBALANCES.name)).rename(old.path(BEFORE, REBALANCES.name))
    copytree(old.path(BEFORE, REBALANCES.name), old.path(REBALANCES.name))
    take_over(old)
    assert new_rows(old, REBALANCES) == before


def test_table_that_has_lost_its_log_is_no_old_one(store: Store) -> None:
    """Among its files are those that had left it: all of them would come into it again."""
    store.append(REBALANCES, store.spark.range(2).selectExpr("'g' group_id", "date '2025-11-21' as date"))
    publish(store)
    rmtree(store.path(REBALANCES.name, "_delta_log"))
    assert not is_old(store)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-040: the log of the table rebalances can't be read"):
        pinned(store).read(REBALANCES)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-040: "):
        current_files(store.root, REBALANCES)
