"""One table by its log, without Spark."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables import table_log
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import (
    BATCH,
    CARRIED,
    CHAIN_HEAD,
    DATE,
    EVENTS,
    FLAPS,
    REBALANCES,
    REJECTED,
    STORMS,
    Table,
)
from bridge.analytics.tables.table_log import GROUP, NOTES_AT_MOST, NOTHING_YET, DataFile, TableLog, statistics

DAY = "2025-11-21"


def data_file(folder: Path, name: str, *groups: str, day: str = DAY) -> DataFile:
    """A file of the table `flaps` in its place."""
    path = folder / f"{DATE}={day}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table({GROUP: list(groups)}), path)
    size_bytes = path.stat().st_size
    return DataFile(
        path=f"{DATE}={day}/{name}",
        size_bytes=size_bytes,
        day=day,
        rows=len(groups),
        least={GROUP: min(groups)},
        most={GROUP: max(groups)},
    )


def test_table_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    """Nor is it made by who looks."""
    log = TableLog(str(tmp_path / "flaps"), FLAPS)
    assert (log.version, log.files(), log.done(), log.note()) == (None, [], NOTHING_YET, None)
    assert not (tmp_path / "flaps").exists()


@pytest.mark.parametrize(
    ("table", "way"),
    [
        (FLAPS, "or remove {folder}: the next run, or stream, makes that table anew"),
        (REJECTED, "or remove {folder}: what it listed is gone then"),
        (EVENTS, "or make the tables anew from the event log, with another --out"),
    ],
)
@pytest.mark.parametrize("left", [b"", b"{", b"\0" * 200])
def test_log_that_is_damaged_says_which_and_what_to_do(tmp_path: Path, table: Table, way: str, left: bytes) -> None:
    """A disk that lost its end leaves the last commit empty, cut, or of nothing but zeros."""
    folder = tmp_path / table.name
    log = TableLog(str(folder), table)
    log.commit([])
    (folder / "_delta_log" / f"{log.version:020}.json").write_bytes(left)
    with pytest.raises(AnalyticsError) as told:
        TableLog(str(folder), table)
    sentence = str(told.value)
    assert sentence.startswith(f"EB-ANALYTICS-040: the log of the table {table.name} can't be read (")
    assert f"{folder}/_delta_log" in sentence
    assert way.format(folder=folder) in sentence


def test_table_that_was_known_and_has_no_log_is_not_empty(tmp_path: Path) -> None:
    """A report would say that nothing ever happened."""
    with pytest.raises(
        AnalyticsError, match=r"^EB-ANALYTICS-040: .*\(version 3 of the table was known, and there is no"
    ):
        TableLog(str(tmp_path / "flaps"), FLAPS, 3)


def test_files_come_and_go_at_once(tmp_path: Path) -> None:
    """With all that is known of them, also to who opens the table later; others than ours read it, too."""
    first, second = data_file(tmp_path, "a", "g", "h"), data_file(tmp_path, "b", "i", day="2025-11-22")
    log = TableLog(str(tmp_path), FLAPS)
    log.commit([first])
    version = log.version
    log.commit([second], [first])
    assert log.files() == TableLog(str(tmp_path), FLAPS).files() == [second]
    assert TableLog(str(tmp_path), FLAPS, version).files() == [first]
    rows = DeltaTable(str(tmp_path)).to_pyarrow_table(columns=[GROUP, "owner"]).to_pylist()
    assert rows == [{GROUP: "i", "owner": None}]


def test_table_of_an_earlier_release_knows_what_later_files_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of which it had no statistics, and one that it did not have; what a batch has noted stays."""
    fewer = tuple(name for name in table_log.STATISTICS if name != "wall_us")
    lacking = tuple(column for column in CARRIED.columns if column.name != CHAIN_HEAD)
    one = DataFile(path="a", size_bytes=1, day=None, rows=1, least={"wall_us": 5}, most={"wall_us": 7})
    with monkeypatch.context() as earlier:
        earlier.setattr(table_log, "STATISTICS", fewer)
        TableLog(str(tmp_path), replace(CARRIED, columns=lacking)).commit([], done=3, note="x")
    log = TableLog(str(tmp_path), CARRIED)
    log.commit([one])
    reopened = TableLog(str(tmp_path), CARRIED)
    assert (reopened.files(), reopened.note(), reopened.done()) == ([one], "x", 3)
    version = reopened.version
    reopened.made()
    assert reopened.version == version


def test_batch_and_note_are_of_their_commit(tmp_path: Path) -> None:
    """A commit without leaves them; a note is looked for in the last ones only."""
    log = TableLog(str(tmp_path), FLAPS)
    log.commit([data_file(tmp_path, "a", "g")], done=3, note="x")
    log.commit([])
    assert (log.done(), log.note()) == (3, "x")
    for _ in range(NOTES_AT_MOST):
        log.commit([])
    reopened = TableLog(str(tmp_path), FLAPS)
    assert (reopened.done(), reopened.note()) == (3, None)


def test_commits_at_the_same_time_both_count(tmp_path: Path) -> None:
    """A stream takes batches while files are gathered; only a file that both took out is a fault."""
    first, second, third = (data_file(tmp_path, name, "g") for name in "abc")
    TableLog(str(tmp_path), FLAPS).commit([first])
    taking, gathering, late = (TableLog(str(tmp_path), FLAPS) for _ in range(3))
    gathering.commit([second], [first])
    taking.commit([third], done=7)
    assert {file.path for file in taking.files()} == {second.path, third.path}
    with pytest.raises(CommitFailedError, match="concurrent"):
        late.commit([], [first])
    stale = TableLog(str(tmp_path), FLAPS)
    taking.commit([first])
    stale.gather(DAY, 2**20, by_group=True)
    assert sorted(file.rows or 0 for file in TableLog(str(tmp_path), FLAPS).files()) == [1, 2]


def test_file_without_a_day_and_without_figures_is_one(tmp_path: Path) -> None:
    """Rows that are set aside may have no time; on other machines nobody counts them."""
    file = DataFile(path=f"{DATE}=__HIVE_DEFAULT_PARTITION__/a", size_bytes=1, day=None)
    log = TableLog(str(tmp_path), FLAPS)
    log.commit([file])
    assert log.files() == [file]
    assert file.may_hold(GROUP, ["g"])
    assert file.may_hold_batches(0, 1)


def test_table_of_an_older_schema_gets_its_new_columns(tmp_path: Path) -> None:
    """Evolution: what older files lack is null to everybody."""
    older = pa.schema([field for field in arrow_schema(FLAPS) if field.name != "via"])
    DeltaTable.create(str(tmp_path), Schema.from_arrow(older), partition_by=[DATE])
    file = data_file(tmp_path, "a", "g")
    TableLog(str(tmp_path), FLAPS).commit([file])
    table = DeltaTable(str(tmp_path))
    assert {field.name for field in table.schema().fields} == {*FLAPS.column_names}
    assert table.to_pyarrow_table(columns=[GROUP, "via"]).to_pylist() == [{GROUP: "g", "via": None}]


@pytest.mark.parametrize(("asked", "is_there"), [("a", False), ("g", True), ("h", True), ("k", True), ("l", False)])
def test_file_is_passed_over_by_its_least_and_greatest(asked: str, is_there: bool) -> None:
    """Whatever lies between them may be in it."""
    file = DataFile(path="a", size_bytes=1, day=DAY, least={GROUP: "g", BATCH: 2}, most={GROUP: "k", BATCH: 4})
    assert file.may_hold(GROUP, ["", asked]) is is_there
    spans = {
        (after, through): file.may_hold_batches(after, through) for after, through in ((-1, 1), (1, 2), (3, 9), (4, 9))
    }
    assert spans == {(-1, 1): False, (1, 2): True, (3, 9): True, (4, 9): False}


def test_statistics_are_of_columns_that_a_table_has() -> None:
    """Every table has groups, those that batches bring know which, and what lasts knows when."""
    of_events, of_rebalances = [GROUP, BATCH, "boot", "number", "wall_us"], [GROUP, "began_us", "ended_us"]
    assert (statistics(EVENTS), statistics(REBALANCES)) == (of_events, of_rebalances)
    assert all(statistics(table) for table in (FLAPS, STORMS))


def test_note_of_an_earlier_batch_is_none(tmp_path: Path) -> None:
    """A batch came while files were gathered: what its run brought is not what the note of the one before says."""
    log = TableLog(str(tmp_path), FLAPS)
    log.commit([data_file(tmp_path, "a", "g"), data_file(tmp_path, "b", "g")], done=1, note="one")
    gathering = TableLog(str(tmp_path), FLAPS)
    said = gathering.note()
    TableLog(str(tmp_path), FLAPS).commit([data_file(tmp_path, "c", "g")], done=2, note="two")
    gathering.gather(DAY, 2**20, by_group=True)
    reopened = TableLog(str(tmp_path), FLAPS)
    assert (said, reopened.done(), reopened.note()) == ("one", 2, "two")


def test_file_that_left_before_is_not_replaced_again(tmp_path: Path) -> None:
    """Two that wrote it anew would both be there, and its rows twice."""
    first, second, third = (data_file(tmp_path, name, "g") for name in "abc")
    TableLog(str(tmp_path), FLAPS).commit([first])
    TableLog(str(tmp_path), FLAPS).commit([second], [first])
    with pytest.raises(CommitFailedError, match="concurrent"):
        TableLog(str(tmp_path), FLAPS).commit([third], [first])


def test_batch_that_two_bring_at_once_comes_once(tmp_path: Path) -> None:
    """Also where a store on another machine has taken it, and did not say so."""
    TableLog(str(tmp_path), FLAPS).commit([data_file(tmp_path, "a", "g")], done=1)
    one, other = (TableLog(str(tmp_path), FLAPS) for _ in range(2))
    one.commit([data_file(tmp_path, "b", "g")], done=2)
    other.commit([data_file(tmp_path, "c", "g")], done=2)
    assert len(TableLog(str(tmp_path), FLAPS).files()) == 2
