"""Executors are asked whether they can make columns, and do: those of this machine stand for a cluster's.

What a cluster makes is in tests/pipeline/test_cluster.py.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from pyspark.cloudpickle import dumps

from bridge.analytics.intake import column_files, executors
from bridge.analytics.intake.batches import Intake
from bridge.analytics.intake.columns import FILE_SCHEMA, Errand, LogFile, Piece, make_columns
from bridge.analytics.intake.delivery import Delivery, delivery_of
from bridge.analytics.intake.executors import make_on_executors, prober, why_not
from bridge.analytics.stretches.clocks import by_run
from bridge.analytics.tables.definitions import EVENTS
from bridge.analytics.tables.store import Store
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.spark import lines_of
from tests.unit.bridge.analytics.intake.test_column_files import dirty_files, rows
from tests.unit.bridge.analytics.intake.test_reading import GOOD

COLUMNS = ",".join(FILE_SCHEMA.names)
SITE = str(Path(pyspark.__file__).parents[1])
"""Where PySpark is; what is installed there for work on it is found by other ways only."""


@pytest.fixture(name="afar")
def _afar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is taken for a cluster, with pieces that are small enough for many tasks."""
    monkeypatch.setattr(column_files, "is_at_hand", lambda _: False)
    monkeypatch.setattr(column_files, "ERRAND_BYTES", 20_000)


@pytest.mark.usefixtures("afar")
def test_executors_bring_what_processes_bring(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in both tables, strangers and all, and it is said who read the lines."""
    delivery = delivery_of(store.spark, dirty_files(tmp_path / "events"))
    other = Store(store.spark, str(tmp_path / "other"))
    intake = Intake(store, {})
    by_executors = intake.take(delivery, 0)
    assert capsys.readouterr().err == "executors read the lines by Arrow\n"
    monkeypatch.undo()
    processes = Intake(other, {})
    assert by_executors == processes.take(delivery, 0)
    assert (rows(store), intake.seen) == (rows(other), processes.seen)
    assert not any(Path(store.root).glob("_next/*/*"))


@pytest.mark.usefixtures("afar")
def test_executors_tell_of_tables_as_processes_do(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they read all that there are; each attempt in files of its own."""
    write_log(tmp_path / "events", FleetPlan(seed=5, groups=2, rebalances=4), files=3)
    delivery = delivery_of(store.spark, map(str, (tmp_path / "events").glob("*.jsonl")))
    told = Intake(store, {}, is_anew=True).take(delivery, 0).told
    monkeypatch.undo()
    other = Store(store.spark, str(tmp_path / "other"))
    wanted = Intake(other, {}, is_anew=True).take(delivery, 0).told
    assert told is not None
    assert wanted is not None
    assert by_run(told.clocks) == by_run(wanted.clocks)
    assert all(Path(path).is_file() for path in told.paths)
    assert {one.table for one in told.tables} == {one.table for one in wanted.tables}


@pytest.mark.usefixtures("afar")
def test_spark_reads_the_lines_where_executors_can_not(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, and nobody is asked again; what executors began and did not end counts for nothing."""
    files = dirty_files(tmp_path / "events")
    asked: list[int] = []

    def make(context: object, errands: object) -> str:
        asked.append(1)
        assert isinstance(make_on_executors(store.spark.sparkContext, _errands(files[0], tmp_path)), list)
        return "a disk is full"

    monkeypatch.setattr(column_files, "make_on_executors", make)
    intake = Intake(store, {})
    intake.take(delivery_of(store.spark, files[:2]), 0)
    intake.take(delivery_of(store.spark, files[2:]), 1)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "executors read the lines by Arrow",
        "Spark reads the lines itself, which is slower: a disk is full",
    ]
    assert asked == [1]
    other = Store(store.spark, str(tmp_path / "other"))
    monkeypatch.undo()
    Intake(other, {}).take(delivery_of(store.spark, files), 0)
    assert [sum(one.values()) for one in rows(store)] == [sum(one.values()) for one in rows(other)]


@pytest.mark.usefixtures("afar")
def test_lines_from_elsewhere_ask_nobody(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """There are no files that executors could look at."""
    Intake(store, {}).take(Delivery(lines_of(store.spark, [GOOD])), 0)
    assert (store.count(EVENTS), capsys.readouterr().err) == (1, "")


def _errands(path: str, folder: Path) -> list[Errand]:
    piece = Piece(LogFile(path, "x"), 0, Path(path).stat().st_size)
    return [Errand((piece,), str(folder / "part"), 0)]


def test_what_asks_an_executor_needs_nothing_of_ours_there() -> None:
    """Else one without our code would end the job with pages of Java, and not with an answer."""
    program = f"import pickle, sys; sys.path.append({SITE!r}); print(pickle.load(sys.stdin.buffer)(0)[1:])"
    asked = dumps(prober("w", "n", {}, "c"))  # type: ignore[no-untyped-call]  # PySpark has no types for it
    answer = subprocess.run([sys.executable, "-I", "-S", "-c", program], input=asked, capture_output=True, check=True)
    assert answer.stdout == b"(\"No module named 'bridge'\", '')\n"


def test_executor_says_what_it_lacks(tmp_path: Path) -> None:
    """Other code, another disk, a file that is not there or is shorter, no right to write."""
    word, log = tmp_path / "word", tmp_path / "log"
    word.write_text("me")
    log.write_bytes(b"12")
    sizes = {str(log): 2}
    _, why, path = prober(str(word), "me", sizes, COLUMNS)(7)
    assert (why, Path(path).is_file()) == ("", True)
    for asked, said in (
        (prober(str(word), "me", sizes, "event_id"), "its code has other columns than that of the driver"),
        (prober(str(word), "you", sizes, COLUMNS), f"{word} is another file there"),
        (prober(str(word), "me", {str(log): 3}, COLUMNS), f"{log} is another file there"),
        (
            prober(str(tmp_path / "no"), "me", sizes, COLUMNS),
            f"[Errno 2] No such file or directory: '{tmp_path / 'no'}'",
        ),
    ):
        _, why, path = asked(7)
        assert (why, path) == (said, "")


def test_what_an_executor_writes_has_to_come_here(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the same name on its own disk takes everything, and the driver finds nothing."""
    files = [LogFile(path, "x") for path in dirty_files(tmp_path / "events")]
    context = store.spark.sparkContext
    assert why_not(context, files, tmp_path) == ""
    assert why_not(context, files, tmp_path / "nowhere").startswith("[Errno 2] No such file or directory")
    monkeypatch.setattr(executors, "_is_away", bool)
    assert why_not(context, files, tmp_path).endswith(f": what it writes to {tmp_path} does not come here")
    made = make_on_executors(context, _errands(files[0].path, tmp_path))
    assert str(made).endswith(" is not here though an executor wrote it")


def test_errand_that_fails_on_executors_is_a_reason(store: Store, tmp_path: Path) -> None:
    """And no end of the job: Spark may read what they could not."""
    missing = Errand((Piece(LogFile(str(tmp_path / "gone"), "x"), 0, 9),), str(tmp_path / "part"), 0)
    made = make_on_executors(store.spark.sparkContext, [missing])
    assert str(made).startswith("FileNotFoundError: ")
    assert make_on_executors(store.spark.sparkContext, []) == []


def test_task_that_runs_twice_writes_files_of_its_own(store: Store, tmp_path: Path) -> None:
    """Spark may have two executors do the same (speculation), and takes the answer of one."""
    errand = _errands(dirty_files(tmp_path / "events")[0], tmp_path)[0]
    found = [make_on_executors(store.spark.sparkContext, [errand]) for _ in range(2)]
    days = [path for made in found if isinstance(made, list) for columns in made for _, path in columns.days]
    assert len(days) == len(set(days)) == 2
    assert days[0] not in {path for _, path in make_columns(replace(errand, stem=f"{errand.stem}-x")).days}
