"""The job over files: what it refuses, and what it tells. Whole runs are in tests/pipeline."""

import gzip
from collections.abc import Callable
from errno import EACCES, EIO
from pathlib import Path
from shutil import rmtree
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.delivery import log_files
from bridge.analytics.job_run import (
    Outcome,
    bring_up,
    event_lines,
    open_store,
    open_tables,
    outcome,
    require_input,
    require_output,
    require_unpacked,
    told,
)
from bridge.analytics.tables.definitions import REBALANCES, REJECTED
from bridge.analytics.tables.file_system import FileSystem
from bridge.analytics.tables.ownership import owned
from bridge.analytics.tables.store import Store
from tests.unit.bridge.analytics.tables.test_takeover import OLD


def test_missing_input_is_one_sentence(tmp_path: Path) -> None:
    """A folder of other files is none either; what is elsewhere Spark has to find."""
    (tmp_path / "notes.txt").write_text("x")
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-001: .*name the folder"):
            require_input(str(path))
    require_input("hdfs://cluster/events")


def test_compressed_files_are_one_sentence(tmp_path: Path) -> None:
    """Beside others they would be left out without a word, and as a file of the log they are no events."""
    events = tmp_path / "events"
    events.mkdir()
    packed = events / "events-a-000001.jsonl.gz"
    packed.write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(
        AnalyticsError, match=r"^EB-ANALYTICS-018: .* \(1 of 1\), such as .*\(gzip\).*unpack them there"
    ):
        require_input(str(events))
    (events / "events-a-000002.jsonl").write_text("{}\n")
    (events / "events-a-000003.jsonl.old").write_text("{}\n")
    require_input(str(events))
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-018: .* \(1 of 3\), "):
        require_unpacked(str(events))
    packed.rename(events / "events-a-000001.jsonl")
    for path in (events, events / "events-a-000001.jsonl"):
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-018: .* \(1 of .*events-a-000001\.jsonl \(gzip\)"):
            require_unpacked(str(path))
    (events / "events-a-000001.jsonl").unlink()
    require_unpacked(str(events))
    require_unpacked("hdfs://cluster/events")


def test_only_files_are_files_of_a_log(tmp_path: Path) -> None:
    """Whoever keeps old ones in a folder beside them calls it what they are called."""
    for name in ("events-a-000001.jsonl", "events-a-000001.jsonl.old"):
        (tmp_path / name).mkdir()
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-001: .* has no file events-\*\.jsonl; "):
        require_input(str(tmp_path))
    require_unpacked(str(tmp_path))
    (tmp_path / "events-a-000002.jsonl").write_text("{}\n")
    require_input(str(tmp_path))
    require_unpacked(str(tmp_path))
    log = tmp_path / "events-a-000002.jsonl"
    assert log_files(str(tmp_path)) == (LogFile(str(log), log.name, may_go=True),)


def test_file_that_its_bridge_deletes_in_this_moment_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest make room, also between the look for files and the look into them."""
    for number in (1, 2):
        (tmp_path / f"events-a-00000{number}.jsonl").write_bytes(gzip.compress(b"{}\n"))
    opened = Path.open

    def delete_first(path: Path, mode: str) -> object:
        (tmp_path / "events-a-000001.jsonl").unlink(missing_ok=True)
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", delete_first)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-018: .* such as events-a-000002\.jsonl \(gzip\)"):
        require_unpacked(str(tmp_path))


@pytest.mark.parametrize(("name", "look"), [("is_file", require_input), ("open", require_unpacked)])
@pytest.mark.parametrize("fault", [PermissionError(EACCES, "Permission denied"), OSError(EIO, "Input/output error")])
def test_input_that_can_not_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError, name: str, look: Callable[[str], None]
) -> None:
    """A bridge's files are for its user alone; a disk may be damaged."""
    (tmp_path / "events-a-000001.jsonl").write_text("{}\n")

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Path, name, fail)
    with pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-001: {tmp_path}.* \({fault.strerror}\); make it read"):
        look(str(tmp_path))


def test_input_that_spark_does_not_find_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """As on another file system."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-001: .*PATH_NOT_FOUND"):
        event_lines(spark, f"file://{tmp_path}/nowhere")


def test_lines_come_with_their_file(spark: SparkSession, tmp_path: Path) -> None:
    """Only files of the log are read of a folder; a file that is named is read whatever its name."""
    for name in ("events-a-000001.jsonl", "other.jsonl"):
        (tmp_path / name).write_text(f"{name}\n")
    for path, name in ((tmp_path, "events-a-000001.jsonl"), (tmp_path / "other.jsonl", "other.jsonl")):
        log = event_lines(spark, str(path))
        assert log.lines.collect() == [(name, name)]
        assert log.files == (LogFile(str(tmp_path / name), name, may_go=True),)
    assert event_lines(spark, f"file://{tmp_path}").files == ()


def test_output_that_can_not_be_written_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """Before Spark starts where it is local, by Spark otherwise."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-003: .*name another --out"):
        require_output(str(tmp_path / "file" / "out"))
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-003: "):
        open_store(spark, f"file://{tmp_path}/file/out")


@pytest.mark.parametrize("name", ["a[1]", "{a}", "a*", "a?", "a\\b"])
def test_output_that_spark_reads_as_a_pattern_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It would find none of the files that it wrote, and commit nothing as done; also where the folder is above."""
    out = tmp_path / name
    out.mkdir()
    for path in (str(out), str(out / "tables"), f"hdfs://cluster/{name}"):
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-017: .*name an --out without them"):
            require_output(path)
        with pytest.raises(AnalyticsError, match="EB-ANALYTICS-017"):
            open_store(SparkSession.__new__(SparkSession), path)  # Who only reads names no output.
    monkeypatch.chdir(out)
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-017"):
        require_output("tables")
    assert [*out.iterdir()] == []


def test_reader_takes_over_what_a_version_before_delta_made(spark: SparkSession, tmp_path: Path) -> None:
    """But for one that somebody writes; it reads what belongs together."""
    with ZipFile(OLD) as packed:
        packed.extractall(tmp_path)
    with owned(str(tmp_path)), pytest.raises(AnalyticsError, match="EB-ANALYTICS-014"):
        open_tables(spark, str(tmp_path))
    store = open_tables(spark, str(tmp_path))
    count = store.read(REBALANCES).count()
    Store(spark, store.root).replace(REBALANCES, store.read_files(REBALANCES, ()))
    assert count == store.read(REBALANCES).count() == open_tables(spark, str(tmp_path)).read(REBALANCES).count() > 0


def test_reader_needs_no_right_to_write(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables on a share, or of another user: a comparison of them ended with EB-ANALYTICS-003."""

    def refuse(_: object, path: str, *__: object) -> None:
        raise PermissionError(path)

    store = open_store(spark, str(tmp_path))
    store.append(REBALANCES, spark.range(2).selectExpr("'g' group_id", "date '2025-11-21' as date"))
    for name in ("write", "delete", "make_folder", "move"):
        monkeypatch.setattr(FileSystem, name, refuse)
    assert open_tables(spark, str(tmp_path)).read(REBALANCES).count() == 2


def test_tables_that_a_version_before_delta_was_moving_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside their places lies the only copy. A look into a folder needs no Spark here, and nothing else is asked."""
    (tmp_path / "_next").mkdir()
    note = tmp_path / "_next" / "moves-anew"
    note.write_text('[["_next/anew/events", "events"]]')

    def find(_files: FileSystem, pattern: str) -> list[str]:
        return sorted(str(path) for path in tmp_path.glob(str(Path(pattern).relative_to(tmp_path))))

    def delete(_files: FileSystem, path: str) -> None:
        rmtree(path)

    monkeypatch.setattr(FileSystem, "find", find)
    monkeypatch.setattr(FileSystem, "delete", delete)
    store = Store(SparkSession.__new__(SparkSession), str(tmp_path))
    with pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-038: .*{note} says .*of that version once"):
        bring_up(store)
    assert note.exists()


def test_outcome_counts_what_was_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    """A row may stand for several copies."""
    store = open_store(spark, str(tmp_path))
    row = "'duplicate' reason", "2L count", "date '2025-11-21' as date", "0L batch"
    store.append(REJECTED, spark.range(2).selectExpr(*row))
    assert outcome(store).rejected == {"duplicate": 4}
    for file in store.log(REJECTED).files():
        Path(store.path(REJECTED.name, file.path)).unlink()
    assert store.count(REJECTED) == 2, "the log knows, so that nobody looks into the files of all days"


def test_outcome_is_told_in_lines() -> None:
    """Tables first, then what was set aside."""
    assert told(Outcome({"events": 1234}, {"foreign": 2}), "o") == [
        "events             1,234",
        "set aside: 2 foreign",
        "tables are in o",
    ]
    assert told(Outcome({}, {}), "o")[0] == "set aside: nothing"
