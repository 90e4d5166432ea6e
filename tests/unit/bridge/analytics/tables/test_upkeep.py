"""What tables need from time to time, without Spark."""

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from itertools import count
from pathlib import Path
from typing import ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable

from bridge.analytics.tables import upkeep
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DAILY, DATE, EVENTS, FLAPS, GAPS, Table
from bridge.analytics.tables.snapshot import pinned_log, read_snapshot, write_snapshot
from bridge.analytics.tables.table_log import GROUP, DataFile, TableLog
from bridge.analytics.tables.upkeep import (
    FILE_BYTES,
    SMALL_FILES_MIN,
    Tended,
    Upkeep,
    days_to_gather,
    first_live_day,
    tend,
)

TODAY = date(2025, 11, 21)


def written(root: Path, table: Table, day: str, groups: Iterable[str]) -> None:
    """A file of the table for each group, each by a commit of its own."""
    folder = root / table.name
    log = TableLog(str(folder), table)
    schema = pa.schema([field for field in arrow_schema(table) if field.name != DATE])
    for group in groups:
        place = f"{DATE}={day}/{group}.parquet"
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        columns = {GROUP: group, "source": group}
        rows = [{field.name: columns.get(field.name) for field in schema}] * 3
        pa.parquet.write_table(pa.Table.from_pylist(rows, schema), folder / place)
        size_bytes = (folder / place).stat().st_size
        least = {GROUP: group} if GROUP in schema.names else {}
        log.commit([DataFile(path=place, size_bytes=size_bytes, day=day, rows=3, least=least, most=least)], note="n")


def published(root: Path, **more: object) -> None:
    """A snapshot of what is there."""
    logs = {table.name: TableLog(f"{root}/{table.name}", table) for table in (EVENTS, FLAPS, DAILY, GAPS)}
    write_snapshot(str(root), {"versions": {name: log.version for name, log in logs.items() if log.version}, **more})


def groups_of(root: Path, table: Table) -> list[str]:
    """The groups in a table, as other readers of Delta find them, in the order of its files."""
    return [str(name) for name in DeltaTable(f"{root}/{table.name}").to_pyarrow_table()[GROUP].to_pylist()]


def test_small_files_of_a_day_become_one_by_group(tmp_path: Path) -> None:
    """Today's only if they are many; rows, note and snapshot stay what they were."""
    for day, names in (("2025-11-20", "hg"), ("2025-11-21", "kl")):
        written(tmp_path, EVENTS, day, names)
    published(tmp_path, history={"last_batch": 3})
    assert tend(str(tmp_path), Upkeep(), TODAY) == [
        Tended(table="events", expired=0, gathered=("2025-11-20",), removed=0)
    ]
    files = {file.day: file for file in pinned_log(str(tmp_path), EVENTS).files() if file.day == "2025-11-20"}
    assert [(one.rows, one.least[GROUP], one.most[GROUP]) for one in files.values()] == [(6, "g", "h")]
    rows = pa.parquet.read_table(tmp_path / "events" / files["2025-11-20"].path)
    assert rows[GROUP].to_pylist() == ["g"] * 3 + ["h"] * 3
    assert sorted(groups_of(tmp_path, EVENTS)) == sorted("ghkl" * 3)
    assert TableLog(f"{tmp_path}/events", EVENTS).note() == "n"
    assert read_snapshot(str(tmp_path))["history"] == {"last_batch": 3}
    assert tend(str(tmp_path), Upkeep(), TODAY) == [Tended(table="events", expired=0, gathered=(), removed=0)]


def test_table_without_groups_is_gathered_too(tmp_path: Path) -> None:
    """It lies as it came."""
    written(tmp_path, GAPS, "2025-11-20", "ab")
    tend(str(tmp_path), Upkeep(), TODAY)
    assert [file.rows for file in TableLog(f"{tmp_path}/gaps", GAPS).files()] == [6]


def test_old_days_go_table_by_table(tmp_path: Path) -> None:
    """What is made of events from then on leaves the days alone of which events are gone."""
    for table in (EVENTS, DAILY):
        for day in ("2025-11-18", "2025-11-19", "2025-11-20"):
            written(tmp_path, table, day, "g")
    published(tmp_path)
    tended = tend(str(tmp_path), Upkeep(keep_days={"events": 1}), TODAY)
    assert {one.table: one.expired for one in tended} == {"events": 2, "daily": 0}
    assert (len(groups_of(tmp_path, EVENTS)), len(groups_of(tmp_path, DAILY))) == (3, 9)
    assert first_live_day(read_snapshot(str(tmp_path))) == "2025-11-21"
    tend(str(tmp_path), Upkeep(keep_days={"events": 2}), TODAY)
    assert first_live_day(read_snapshot(str(tmp_path))) == "2025-11-21"


def test_files_that_have_left_go_unless_the_snapshot_needs_them(tmp_path: Path) -> None:
    """A table that is being changed has readers of its former version; what a kill left behind goes, too."""
    written(tmp_path, FLAPS, "2025-11-21", "gh")
    published(tmp_path)
    log = TableLog(f"{tmp_path}/flaps", FLAPS)
    first, second = sorted(log.files(), key=lambda file: file.path)
    log.commit([], [second])
    orphan = tmp_path / "flaps" / f"{DATE}=2025-11-21" / "orphan.parquet"
    orphan.write_bytes((tmp_path / "flaps" / first.path).read_bytes())
    (tended,) = tend(str(tmp_path), Upkeep(spared_hours=0), TODAY)
    assert tended.removed == 1
    assert not orphan.exists()
    assert [(tmp_path / "flaps" / file.path).exists() for file in pinned_log(str(tmp_path), FLAPS).files()] == [
        True
    ] * 2
    published(tmp_path)
    (tended,) = tend(str(tmp_path), Upkeep(spared_hours=0), TODAY)
    assert tended.removed == 1
    assert not (tmp_path / "flaps" / second.path).exists()
    assert groups_of(tmp_path, FLAPS) == ["g"] * 3


def test_table_that_is_being_changed_stays_another_one_than_the_snapshot_says(tmp_path: Path) -> None:
    """Somebody died while the tables were made: they don't belong together, whatever is done to their files."""
    written(tmp_path, FLAPS, "2025-11-20", "g")
    published(tmp_path)
    version = pinned_log(str(tmp_path), FLAPS).version
    written(tmp_path, FLAPS, "2025-11-20", "hi")
    tend(str(tmp_path), Upkeep(), TODAY)
    assert pinned_log(str(tmp_path), FLAPS).version == version
    assert len(TableLog(f"{tmp_path}/flaps", FLAPS).files()) == 1


def test_days_are_gathered_by_the_number_of_their_small_files() -> None:
    """Large ones are let be, and so is a rest."""
    small, large = 1_000, FILE_BYTES
    sizes = {
        "2025-11-18": [small, large, large],
        "2025-11-19": [small, small],
        "2025-11-20": [large, large],
        "2025-11-21": [small] * (SMALL_FILES_MIN - 1),
        "2025-11-22": [small] * SMALL_FILES_MIN,
    }
    files = [
        DataFile(path=f"{day}-{place}", size_bytes=size, day=day)
        for day, listed in sizes.items()
        for place, size in enumerate(listed)
    ]
    undated = [DataFile(path=str(place), size_bytes=small, day=None) for place in range(SMALL_FILES_MIN)]
    assert [*days_to_gather([*files, *undated], str(TODAY))] == ["2025-11-19", "2025-11-22"]


def test_who_dies_after_days_have_gone_has_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next refresh would make the tables of those days of no events."""
    for day in ("2025-11-18", "2025-11-20"):
        written(tmp_path, EVENTS, day, "gh")
    published(tmp_path)

    def die(*_: object, **__: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(TableLog, "gather", die)
    with pytest.raises(InterruptedError):
        tend(str(tmp_path), Upkeep(keep_days={"events": 1}), TODAY)
    assert first_live_day(read_snapshot(str(tmp_path))) == "2025-11-21"


def test_snapshot_keeps_up_with_vacuum(tmp_path: Path) -> None:
    """It writes into the log; a stream that finds another version makes all tables anew."""
    written(tmp_path, FLAPS, "2025-11-21", "gh")
    log = TableLog(f"{tmp_path}/flaps", FLAPS)
    log.commit([], log.files()[:1])
    published(tmp_path)
    (tended,) = tend(str(tmp_path), Upkeep(spared_hours=0), TODAY)
    assert tended.removed == 1
    assert pinned_log(str(tmp_path), FLAPS).version == TableLog(f"{tmp_path}/flaps", FLAPS).version


def test_day_that_grows_is_not_written_anew_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files of today stay."""
    monkeypatch.setattr("bridge.analytics.tables.upkeep.FILE_BYTES", 2)
    written(tmp_path, FLAPS, str(TODAY), "abcdefghi")
    before = {file.path for file in TableLog(f"{tmp_path}/flaps", FLAPS).files()}
    monkeypatch.setattr("bridge.analytics.tables.upkeep.SMALL_FILES_MIN", 0)
    tend(str(tmp_path), Upkeep(), TODAY)
    assert {file.path for file in TableLog(f"{tmp_path}/flaps", FLAPS).files()} == before


def test_table_that_a_stream_changes_meanwhile_is_left_until_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that comes again takes out a file that is being gathered: the others are tended, and nobody is ended."""
    for table in (EVENTS, FLAPS):
        written(tmp_path, table, "2025-11-20", "gh")
    published(tmp_path)
    gather = TableLog.gather

    def cross(log: TableLog, day: str, size_bytes: int, *, by_group: bool) -> None:
        for other in others:
            other.commit([], other.files()[:1])
        others.clear()
        gather(log, day, size_bytes, by_group=by_group)

    others = [TableLog(f"{tmp_path}/events", EVENTS)]
    monkeypatch.setattr(TableLog, "gather", cross)
    assert tend(str(tmp_path), Upkeep(), TODAY) == [
        Tended(table="events", expired=0, gathered=(), removed=0, is_crossed=True),
        Tended(table="flaps", expired=0, gathered=("2025-11-20",), removed=0),
    ]
    monkeypatch.undo()
    assert len(TableLog(f"{tmp_path}/events", EVENTS).files()) == 1


def log_files(root: Path, table: Table) -> list[str]:
    """The commits in the log of a table."""
    return sorted(file.name for file in (root / table.name / "_delta_log").glob("*.json"))


def let_pass(root: Path, table: Table, hours: int) -> None:
    """Make everything in the log so much older."""
    for file in (root / table.name / "_delta_log").iterdir():
        before_s = file.stat().st_mtime - hours * 3_600
        os.utime(file, (before_s, before_s))


def test_log_is_as_long_as_versions_are_spared(tmp_path: Path) -> None:
    """However long a stream runs; what is spared can still be looked at, and a note of the last batch stays."""
    for round_ in range(3):
        written(tmp_path, EVENTS, str(TODAY), [f"g{round_}-{place}" for place in range(2)])
        DeltaTable(f"{tmp_path}/events").create_checkpoint()
        published(tmp_path)
        tend(str(tmp_path), Upkeep(spared_hours=60), TODAY)
        let_pass(tmp_path, EVENTS, 50)
    tend(str(tmp_path), Upkeep(spared_hours=60), TODAY)
    kept = log_files(tmp_path, EVENTS)
    oldest = int(kept[0].removesuffix(".json"))
    assert oldest > 0
    assert len(kept) < (TableLog(f"{tmp_path}/events", EVENTS).version or 0)
    assert 2 <= len(DeltaTable(f"{tmp_path}/events", version=oldest).file_uris()) < 6
    assert len(DeltaTable(f"{tmp_path}/events").file_uris()) == 6
    assert TableLog(f"{tmp_path}/events", EVENTS).note() == "n"
    assert (
        DeltaTable(f"{tmp_path}/events").metadata().configuration["delta.logRetentionDuration"] == "interval 60 hours"
    )


def test_log_keeps_what_a_refresh_that_died_goes_back_to(tmp_path: Path) -> None:
    """However old; and two days in any case, because batches go on without the snapshot."""
    written(tmp_path, FLAPS, "2025-11-20", "g")
    published(tmp_path)
    written(tmp_path, FLAPS, "2025-11-20", "hi")
    DeltaTable(f"{tmp_path}/flaps").create_checkpoint()
    let_pass(tmp_path, FLAPS, 500)
    tend(str(tmp_path), Upkeep(spared_hours=1), TODAY)
    assert len(pinned_log(str(tmp_path), FLAPS).files()) == 1
    published(tmp_path)
    tend(str(tmp_path), Upkeep(spared_hours=1), TODAY)
    assert DeltaTable(f"{tmp_path}/flaps").metadata().configuration["delta.logRetentionDuration"] == "interval 48 hours"
    assert len(TableLog(f"{tmp_path}/flaps", FLAPS).files()) == 1


def test_log_keeps_the_version_of_the_snapshot_that_batches_have_left_behind(tmp_path: Path) -> None:
    """A stream that died before it made tables of its last batches stays readable, however late it is started again."""
    written(tmp_path, EVENTS, "2025-11-20", "g")
    published(tmp_path)
    written(tmp_path, EVENTS, "2025-11-20", "hi")
    DeltaTable(f"{tmp_path}/events").create_checkpoint()
    let_pass(tmp_path, EVENTS, 500)
    for _ in range(2):
        tend(str(tmp_path), Upkeep(spared_hours=1), TODAY)
        assert len(pinned_log(str(tmp_path), EVENTS).files()) == 1
    published(tmp_path)
    tend(str(tmp_path), Upkeep(spared_hours=1), TODAY)
    assert log_files(tmp_path, EVENTS)[0] > f"{1:020}.json"


P = ParamSpec("P")
T = TypeVar("T")


class Killed(Exception):
    """The process is gone."""


def mortal(monkeypatch: pytest.MonkeyPatch, effects: int) -> None:
    """Let who tends the tables die behind so many changes of what lies on the disk."""
    lives = [effects]

    def dying(change: Callable[P, T]) -> Callable[P, T]:
        def changed(*args: P.args, **kwargs: P.kwargs) -> T:
            if lives[0] == 0:
                raise Killed
            lives[0] -= 1
            return change(*args, **kwargs)

        return changed

    for name in ("expire", "gather", "forget", "vacuum"):
        monkeypatch.setattr(TableLog, name, dying(getattr(TableLog, name)))
    monkeypatch.setattr(upkeep, "write_snapshot", dying(write_snapshot))


def shown(root: Path) -> dict[str, list[object]]:
    """The groups that readers find in the tables by the snapshot; every file of those has to be there."""
    told = {}
    for table in (EVENTS, FLAPS, DAILY):
        log = pinned_log(str(root), table)
        files = [pa.parquet.ParquetFile(f"{root}/{table.name}/{file.path}").read() for file in log.files()]
        told[table.name] = sorted(group for file in files for group in file[GROUP].to_pylist())
    return told


def test_upkeep_that_is_killed_anywhere_leaves_tables_that_can_be_read_and_the_next_one_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the snapshot a table is what it was or what it becomes, with nothing in between, and no file of it is gone."""
    wanted = Upkeep(keep_days={"events": 1, "flaps": 2}, spared_hours=1)
    for table in (EVENTS, FLAPS, DAILY):
        for day, groups in (("2025-11-18", "ab"), ("2025-11-20", "hg")):
            written(tmp_path / "begin", table, day, groups)
    published(tmp_path / "begin")
    whole = shutil.copytree(tmp_path / "begin", tmp_path / "whole")
    tend(str(whole), wanted, TODAY)
    before, after = shown(tmp_path / "begin"), shown(whole)
    assert before != after
    for effects in count():
        root = shutil.copytree(tmp_path / "begin", tmp_path / str(effects))
        with monkeypatch.context() as patched:
            mortal(patched, effects)
            with suppress(Killed):
                tend(str(root), wanted, TODAY)
                break
        assert all(rows in (before[name], after[name]) for name, rows in shown(root).items()), effects
        tend(str(root), wanted, TODAY)
        assert shown(root) == after, effects
    assert effects > 15
