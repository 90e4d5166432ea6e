"""Where tables lie, and how rows come into them."""

from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables import store as store_module
from bridge.analytics.tables.definitions import CARRIED, DAY_US, EVENTS, FLAPS, STORMS
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


def test_rows_of_a_batch_take_the_place_of_those_it_had(store: Store) -> None:
    """Also those that share a file with others; other batches stay."""
    store.append(EVENTS, events(store, "a", batch=0).union(events(store, "b", batch=1)))
    store.put_batch(EVENTS, events(store, "c", batch=2), 2)
    store.put_batch(EVENTS, events(store, "d", "e", batch=1, day="2025-11-22"), 1)
    assert ids(store) == ["a", "c", "d", "e"]
    store.put_batch(EVENTS, events(store, batch=2), 2)
    assert ids(store) == ["a", "d", "e"]


def test_batches_are_read_without_the_files_of_others(store: Store) -> None:
    """The log knows which of them each file holds."""
    for batch, name in enumerate("abc"):
        store.append(EVENTS, events(store, name, batch=batch))
    first = store.log(EVENTS).files()
    Path(store.path("events", next(one.path for one in first if one.most["batch"] == 0))).unlink()
    rows = store.read_batches(EVENTS, 0, 1).collect()
    assert [row["event_id"] for row in rows] == ["b"]


def test_rows_without_a_date_are_known_before_they_are_in_a_table(store: Store) -> None:
    """They are none of ours."""
    undated = events(store, "x", "y").withColumn("date", f.lit(None).cast("date"))
    staged = store.stage(EVENTS, events(store, "a").union(undated))
    assert store.count_staged([one for one in staged if one.day is None]) == 2
    assert ids(store) == []
    store.commit(EVENTS, staged)
    assert ids(store) == ["a", "x", "y"]


def test_rows_that_did_not_come_here_are_missed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors with disks of their own said that all was well, and the batch was taken with nothing in it."""
    monkeypatch.setattr(store_module, "is_spread", lambda _: True)
    store.append(EVENTS, events(store, "a"))
    store.replace(FLAPS, store.read(FLAPS))
    store.put_batch(EVENTS, events(store).where("event_id = 'none'"), 7)
    known = FileSystem.sizes
    monkeypatch.setattr(FileSystem, "sizes", lambda files, pattern: dict(list(known(files, pattern).items())[1:]))
    version = store.log(EVENTS).version
    both = events(store, "b").union(events(store, "c", day="2025-11-22"))
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-042: executors wrote 2 rows to .*, and 1 of them are"):
        store.append(EVENTS, both)
    assert (store.log(EVENTS).version, ids(store)) == (version, ["a"])


def test_only_a_path_of_one_machine_may_be_another_disk_elsewhere(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in HDFS or an object store is so for everybody, and one machine has one disk."""
    roots = (store.root, f"file://{store.root}", "hdfs://far/away")
    assert [Store(store.spark, root).has_far_disks for root in roots] == [False, False, False]
    monkeypatch.setattr(store_module, "is_spread", lambda _: True)
    assert [Store(store.spark, root).has_far_disks for root in roots] == [True, True, False]


def test_tables_of_a_version_stay_as_they_were(store: Store) -> None:
    """Whoever reads them while others are written."""
    store.append(EVENTS, events(store, "a"))
    before = Store(store.spark, store.root, {"events": store.log(EVENTS).version or 0})
    store.replace(EVENTS, events(store, "b"))
    assert (ids(before), ids(store)) == (["a"], ["b"])


def test_files_lie_by_date(store: Store) -> None:
    """Partitioned by date (issue 5)."""
    store.append(EVENTS, events(store, "a"))
    names = {path.name for path in Path(store.path("events")).iterdir()}
    assert names == {"_delta_log", "date=2025-11-21"}


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
    untouched = [file for file in store.log(FLAPS).files() if file.day == "2025-11-22"]
    new = flaps(store, flap("g", "21", "c"), flap("g", "22", "a"), flap("g", "24", "a"))
    store.amend(FLAPS, new, {"g"})
    days = {"21": ["c", "b"], "22": ["a", "b"], "24": ["a"]}
    assert flapped(store) == sorted(
        (group, owner, f"2025-11-{day}")
        for day, owners in days.items()
        for group, owner in zip("gh", owners, strict=False)
    )
    assert [file for file in store.log(FLAPS).files() if file.day == "2025-11-22"] == untouched


def test_table_without_files_is_amended_too(store: Store) -> None:
    """It was empty so far."""
    store.amend(FLAPS, flaps(store, flap("g", "21", "a")), {"g"})
    assert flapped(store) == [("g", "a", "2025-11-21")]


def test_days_differ_by_their_rows_not_by_their_order(store: Store) -> None:
    """Also a row that comes twice makes a day another one."""
    before = flaps(store, flap("g", "21", "a"), flap("g", "21", "b"), flap("g", "22", "a"))
    after = flaps(store, flap("g", "21", "b"), flap("g", "21", "a"), flap("g", "22", "a"), flap("g", "22", "a"))
    assert [str(day) for day in changed_days(before, after)] == ["2025-11-22"]


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
    """Rows would be gone without a word: on another file system, and on this machine, where Spark is not asked."""
    (staged,) = store.stage(EVENTS, events(store, "a"))
    with pytest.raises(OSError, match="gone"):
        store.commit(EVENTS, [replace(staged, path=f"{staged.path}-gone")])
    monkeypatch.setattr(Store, "is_here", property(lambda _: False))
    monkeypatch.setattr(FileSystem, "size_bytes", lambda *_: 0)
    monkeypatch.setattr(FileSystem, "_files", lambda _: Refusing())
    with pytest.raises(PermissionError, match="can't be moved there"):
        store.commit(EVENTS, [staged])


def storms(store: Store, *rows: tuple[str, int, int, int]) -> DataFrame:
    """Storms (group, began, rebalances, day of November)."""
    frame = store.spark.createDataFrame(list(rows), "group_id string, began_us long, rebalances long, day int")
    return conform(STORMS, frame.selectExpr("*", "make_date(2025, 11, day) as date").coalesce(1))


def stormed(store: Store) -> list[tuple[str, int, int]]:
    """What is in the table of storms."""
    rows = store.read(STORMS).select("group_id", "began_us", "rebalances").collect()
    return sorted((row[0], row[1], row[2]) for row in rows)


@pytest.mark.parametrize("anew_bytes", [0, 2**20])
def test_rows_take_the_place_of_those_of_their_key(
    store: Store, monkeypatch: pytest.MonkeyPatch, anew_bytes: int
) -> None:
    """Rows of other keys stay, and days that are no longer live; of large files those that come out the same, and files
    without one that changes.
    """
    monkeypatch.setattr(store_module, "WRITTEN_ANEW_BYTES", anew_bytes)
    for rows in ([("g", 1, 10, 20), ("h", 1, 10, 20)], [("g", 2, 10, 21)], [("g", 3, 10, 21)]):
        store.append(STORMS, storms(store, *rows))
    held = {file.path for file in store.log(STORMS).files()}
    made = storms(store, ("g", 1, 11, 20), ("g", 2, 10, 21), ("g", 4, 11, 21))
    paths = store.merge(STORMS, made, storms(store, ("g", 1, 0, 20), ("g", 2, 0, 21)).select(*STORMS.key))
    assert stormed(store) == [("g", 1, 11), ("g", 2, 10), ("g", 3, 10), ("g", 4, 11), ("h", 1, 10)]
    assert len(held & {file.path for file in store.log(STORMS).files()}) == (0 if anew_bytes else 2)
    changed = store.read_files(STORMS, [file for file in store.log(STORMS).files() if file.path in paths])
    told = sorted((row["group_id"], row["began_us"]) for row in changed.collect())
    assert (told == [("g", 1), ("g", 4)]) if not anew_bytes else {("g", 1), ("g", 4)} <= {*told}
    store.merge(STORMS, storms(store, ("g", 1, 12, 20), ("g", 2, 12, 21)), made.select(*STORMS.key), "2025-11-21")
    assert stormed(store) == [("g", 1, 11), ("g", 2, 12), ("g", 3, 10), ("g", 4, 11), ("h", 1, 10)]


@pytest.mark.parametrize("anew_bytes", [0, 2**20])
def test_known_rows_go_that_are_not_made_again(store: Store, monkeypatch: pytest.MonkeyPatch, anew_bytes: int) -> None:
    """If all of them are asked for; what only comes in needs no look at what is there."""
    monkeypatch.setattr(store_module, "WRITTEN_ANEW_BYTES", anew_bytes)
    store.merge(STORMS, storms(store, ("g", 1, 10, 20), ("g", 2, 10, 20), ("h", 2, 10, 20)), None)
    known = storms(store, ("g", 1, 0, 20), ("g", 2, 0, 20)).select(*STORMS.key, "date")
    store.merge(STORMS, storms(store, ("g", 1, 10, 20)), known, is_all=True)
    assert stormed(store) == [("g", 1, 10), ("h", 2, 10)]
    known = storms(store, ("h", 2, 0, 20)).select(*STORMS.key, "date")
    store.merge(STORMS, storms(store), known, is_all=True)
    assert stormed(store) == [("g", 1, 10)]


def test_groups_have_what_they_were_given_last(store: Store) -> None:
    """Of a table without days; other groups keep what is live, and a file of which nothing is, is gone."""
    live_us, dead_us = DAY_US + 5, DAY_US - 4
    told = (("g", "a", live_us), ("h", "b", live_us), ("h", "old", dead_us), ("once", "older", dead_us))
    store.append(CARRIED, carried_rows(store, *told))
    store.append(CARRIED, carried_rows(store, ("z", "of-a-file-that-is-never-touched-again", dead_us)))
    store.put_groups(CARRIED, carried_rows(store, ("g", "c", live_us)), ["g"], "1970-01-02")
    assert sorted((row["group_id"], row["event_id"]) for row in store.read(CARRIED).collect()) == [
        ("g", "c"),
        ("h", "b"),
    ]
    assert {file.day for file in store.log(CARRIED).files()} == {None}
    assert {file.least["wall_us"] for file in store.log(CARRIED).files()} == {live_us}


def test_many_small_files_of_groups_become_few(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups with a name for one run, each later than all before it, share no file with one that changes."""
    monkeypatch.setattr(store_module, "FILES_SPARED", 3)
    for place in range(8):
        store.put_groups(CARRIED, carried_rows(store, (f"run-{place}", f"e{place}", 5)), [f"run-{place}"])
    assert len(store.log(CARRIED).files()) <= 4
    assert store.read(CARRIED).count() == 8


def carried_rows(store: Store, *rows: tuple[str, str, int]) -> DataFrame:
    """What is carried of groups."""
    columns = "group_id string, event_id string, wall_us long"
    return conform(CARRIED, store.spark.createDataFrame(list(rows), columns)).coalesce(1)


def test_chunks_are_read_without_the_files_of_other_runs(store: Store) -> None:
    """Every run counts from one; nor is what a later batch has brought, be it in a file with others."""
    for boot, number in (("b1", 5), ("b2", 5), ("b1", 90)):
        frame = store.spark.createDataFrame(
            [(boot, number, 0), (boot, number + 1, 1)], "boot string, number long, batch long"
        )
        store.append(EVENTS, conform(EVENTS, frame.selectExpr("*", "date '2025-11-21' as date").coalesce(1)))
    told = {through: store.read_chunks(EVENTS, {"b1": [(0, 9)]}, through).collect() for through in (0, 1)}
    assert [(row["boot"], row["number"]) for row in told[0]] == [("b1", 5)]
    assert sorted((row["boot"], row["number"]) for row in told[1]) == [("b1", 5), ("b1", 6)]


def test_batches_that_lie_alone_in_their_files_are_not_looked_at(store: Store) -> None:
    """A plan without the numbers of the batches is compiled once for all refreshes."""
    for batch, name in enumerate("abc"):
        store.append(EVENTS, events(store, name, batch=batch))
    store.append(EVENTS, events(store, "d", batch=2).union(events(store, "e", batch=3)).coalesce(1))
    plans = {through: _plan(store.read_batches(EVENTS, 0, through)) for through in (1, 2)}
    assert {through: "Filter (" in plan for through, plan in plans.items()} == {1: False, 2: True}
    assert sorted(row["event_id"] for row in store.read_batches(EVENTS, 0, 2).collect()) == ["b", "c", "d"]


def test_small_files_are_read_in_one_piece(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of them is not moved between partitions; of large ones it is."""
    for name in "abc":
        store.append(EVENTS, events(store, name))

    def plan() -> str:
        return _plan(store.read(EVENTS).groupBy("kind").count())

    assert "Exchange" not in plan()
    assert store.is_small(EVENTS, -1, 0)
    monkeypatch.setattr(store_module, "ONE_PIECE_BYTES", 100)
    assert "Exchange" in plan()
    assert not store.is_small(EVENTS, -1, 0)


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_small_files_that_only_come_in_become_one_before_they_are_many(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh reads the files of its days: there was one more each time, until somebody gathered them."""
    monkeypatch.setattr(store_module, "FILES_A_DAY", 2)
    counts: list[int] = []
    for place in range(8):
        store.merge(STORMS, storms(store, ("g", place, 10, 20 + place % 2)), None)
        counts.append(len(store.log(STORMS).files()))
    assert max(counts) <= 6, counts
    assert counts[-1] <= counts[4], counts
    assert stormed(store) == [("g", place, 10) for place in range(8)]
    monkeypatch.setattr(store_module, "WRITTEN_ANEW_BYTES", 0)
    for place in range(8, 11):
        store.merge(STORMS, storms(store, ("g", place, 10, 20)), None)
    assert len(store.log(STORMS).files()) == counts[-1] + 3, "large ones are the upkeep's"


@pytest.mark.parametrize("is_known", [False, True], ids=["only coming in", "beside rows that may change"])
def test_small_files_of_a_large_day_become_one_too(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """It is not written anew as a whole, and had one file more with each refresh until the upkeep came."""
    monkeypatch.setattr(store_module, "FILES_A_DAY", 1)
    monkeypatch.setattr(store_module, "WRITTEN_ANEW_BYTES", 4_000)
    counts: list[int] = []
    for place in range(6):
        known = storms(store, ("h", 0, 0, 20)).select(*STORMS.key, "date") if is_known else None
        store.merge(STORMS, storms(store, ("g", place, 10, 20)), known)
        counts.append(len(store.log(STORMS).files()))
    assert max(counts) <= 3, counts
    assert stormed(store) == [("g", place, 10) for place in range(6)]
