"""Where tables lie, and how rows come into them."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import EVENTS, FLAPS
from bridge.analytics.tables.file_system import FileSystem
from bridge.analytics.tables.store import CHECKPOINT, Store, changed_days, plain


def events(store: Store, *names: str, day: str = "2025-11-21", batch: int = 0) -> DataFrame:
    """Events with these ids."""
    rows = [(name, batch) for name in names]
    frame = store.spark.createDataFrame(rows, "event_id string, batch long")
    return conform(EVENTS, frame.selectExpr("*", f"date '{day}' as date"))


def ids(store: Store) -> list[str]:
    """What is in the table of events."""
    return sorted(row["event_id"] for row in store.read(EVENTS).collect())


def test_table_that_was_never_written_is_empty(store: Store) -> None:
    """It has its columns all the same."""
    assert (store.read(FLAPS).columns, ids(store)) == (list(FLAPS.column_names), [])


def test_batch_is_replaced_not_added_to(store: Store) -> None:
    """What an attempt left goes before the next one; other batches stay."""
    store.append(EVENTS, events(store, "a", batch=0))
    store.append(EVENTS, events(store, "b", batch=1))
    store.append(EVENTS, events(store, "c", batch=1, day="2025-11-22"))
    assert store.last_batch(EVENTS) == 1
    store.clear_batch(EVENTS, 1)
    assert (ids(store), store.last_batch(EVENTS), store.last_batch(FLAPS)) == (["a"], 0, -1)


def test_rows_without_a_date_are_taken_out_and_counted(store: Store) -> None:
    """Those of this batch only."""
    undated = events(store, "x", "y", batch=1).withColumn("date", f.lit(None).cast("date"))
    store.append(EVENTS, events(store, "a", batch=1).union(undated))
    assert [store.take_out_undated(EVENTS, batch) for batch in (0, 1, 1)] == [0, 2, 0]
    assert ids(store) == ["a"]


def test_files_lie_by_date(store: Store) -> None:
    """Issue 5: partitioned by date."""
    store.append(EVENTS, events(store, "a"))
    assert [path.name for path in Path(store.path("events")).iterdir() if path.is_dir()] == ["date=2025-11-21"]


def test_file_of_an_older_schema_is_read(store: Store) -> None:
    """Evolution: a column that it lacks is null, one that we don't know is left out."""
    old = events(store, "a").drop("outcome").withColumnRenamed("sentence", "forgotten")
    old.write.partitionBy("date", "batch").parquet(store.path("events"))
    (row,) = store.read(EVENTS).collect()
    assert (row["event_id"], row["outcome"], row["sentence"], "forgotten" in row) == ("a", None, None, False)


def test_table_is_replaced_as_a_whole(store: Store) -> None:
    """Also by nothing."""
    flap = conform(FLAPS, store.spark.sql("select 'g' group_id, date '2025-11-21' as date"))
    store.replace(FLAPS, flap)
    assert store.read(FLAPS).count() == 1
    store.replace(FLAPS, flap.where("false"))
    assert store.read(FLAPS).count() == 0


def flap(group: str, day: str, owner: str) -> str:
    """A row of the table `flaps`, in SQL."""
    return f"select '{group}' group_id, '{owner}' owner, date '2025-11-{day}' as date"


def flaps(store: Store, *rows: str) -> DataFrame:
    """These rows, in full."""
    return conform(FLAPS, store.spark.sql(" union all ".join(rows)))


def flapped(store: Store) -> list[tuple[str, str, str]]:
    """What is in the table of flaps."""
    rows = store.read(FLAPS).collect()
    return sorted((row["group_id"], row["owner"], str(row["date"])) for row in rows)


def test_groups_are_amended_and_others_keep_their_rows(store: Store) -> None:
    """A day that changed is written again, one that did not keeps its files, one that lost its last row is gone."""
    former = (
        flap("g", "21", "a"),
        flap("h", "21", "b"),
        flap("g", "22", "a"),
        flap("h", "22", "b"),
        flap("g", "23", "a"),
    )
    store.replace(FLAPS, flaps(store, *former))
    untouched = sorted(Path(store.path("flaps", "date=2025-11-22")).glob("*.parquet"))
    new = flaps(store, flap("g", "21", "c"), flap("g", "22", "a"), flap("g", "24", "a"))
    store.amend(FLAPS, new, {"g"})
    days = {"21": ["c", "b"], "22": ["a", "b"], "24": ["a"]}
    assert flapped(store) == sorted(
        (group, owner, f"2025-11-{day}")
        for day, owners in days.items()
        for group, owner in zip("gh", owners, strict=False)
    )
    assert sorted(Path(store.path("flaps", "date=2025-11-22")).glob("*.parquet")) == untouched


def test_table_without_files_is_amended_too(store: Store) -> None:
    """It was empty so far."""
    store.amend(FLAPS, flaps(store, flap("g", "21", "a")), {"g"})
    assert flapped(store) == [("g", "a", "2025-11-21")]


def test_days_differ_by_their_rows_not_by_their_order(store: Store) -> None:
    """Also a row that comes twice makes a day another one."""
    before = flaps(store, flap("g", "21", "a"), flap("g", "21", "b"), flap("g", "22", "a"))
    after = flaps(store, flap("g", "21", "b"), flap("g", "21", "a"), flap("g", "22", "a"), flap("g", "22", "a"))
    assert [str(day) for day in changed_days(before, after)] == ["2025-11-22"]


def test_tables_made_beside_come_into_place_together(store: Store) -> None:
    """A table that they lack is empty from then on; what an attempt before left beside is gone."""
    store.replace(FLAPS, flaps(store, flap("g", "21", "a")))
    store.append(EVENTS, events(store, "a"))
    store.beside().append(EVENTS, events(store, "b"))
    store.beside().append(EVENTS, events(store, "c"))
    assert (ids(store), len(flapped(store))) == (["a"], 1)
    store.take_over([EVENTS, FLAPS])
    assert (ids(store), flapped(store)) == (["c"], [])
    assert [path.name for path in Path(store.path("_next")).iterdir()] == []


def test_tables_that_were_being_put_in_place_are_so_later(store: Store) -> None:
    """The note says which."""
    store.append(EVENTS, events(store, "a"))
    assert not store.is_unsettled()
    store.beside().append(EVENTS, events(store, "b"))
    Path(store.path("_next", "moves-anew")).write_text('[["_next/anew/events", "events"]]')
    assert store.is_unsettled()
    store.settle()
    assert (ids(store), store.is_unsettled()) == (["b"], False)


def test_stream_is_known_by_its_checkpoint(store: Store) -> None:
    """A run must not begin its tables anew."""
    assert not store.has_stream()
    Path(store.path(CHECKPOINT)).mkdir(parents=True)
    assert store.has_stream()


def test_root_below_a_file_is_refused(store: Store, tmp_path: Path) -> None:
    """Java says what is wrong."""
    store.make_root()
    (tmp_path / "file").write_text("")
    with pytest.raises(Py4JJavaError):
        Store(store.spark, str(tmp_path / "file" / "tables")).make_root()


def test_no_dictionary_is_made_of_what_hardly_comes_twice() -> None:
    """Ids of events and times; names come again and again."""
    columns = {name.rpartition("#")[2] for name in plain(EVENTS)}
    assert columns >= {"event_id", "number", "wall_us", "mono_us"}
    assert not columns & {"kind", "group_id", "member_id", "rebalance_id", "boot"}


class Refusing:
    """A file system that moves nothing, as HDFS where the target's folder is gone."""

    def mkdirs(self, _: object) -> bool:
        """Folders it makes."""
        return True

    def rename(self, *_: object) -> bool:
        """Hadoop's way to say no."""
        return False


def test_move_that_is_refused_is_an_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows would be gone without a word."""
    monkeypatch.setattr(FileSystem, "_files", lambda _: Refusing())
    with pytest.raises(PermissionError, match="can't be moved there: 'a'"):
        store.adopt(EVENTS, 0, [("2025-11-21", "a")])
