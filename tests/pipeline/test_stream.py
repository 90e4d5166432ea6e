"""Streams that are killed and started again give the tables of a run over the same input."""

import random
import signal
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bridge.analytics import job_stream
from bridge.analytics.intake import column_files
from bridge.analytics.intake.column_files import TOLD
from bridge.analytics.intake.delivery import Delivery, delivery_of
from bridge.analytics.intake.sources import FolderSource
from bridge.analytics.job_run import do_stages, event_lines, make_tables
from bridge.analytics.job_stream import Stream, drain, follow
from bridge.analytics.spark.progress import Say
from bridge.analytics.stream_end import ending
from bridge.analytics.tables import store as store_module
from bridge.analytics.tables.definitions import DERIVED, EVENTS
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.store import NEXT, Store
from tests.support.fleet_files import write_history, write_log
from tests.support.fleet_log import MINUTE_US, FleetPlan
from tests.support.mortal_store import Killed, MortalStore
from tests.support.spark import lines_of
from tests.support.table_truth import contents

KILLS = 10
SECONDS = 300


def dirty_log(folder: Path) -> None:
    """A log in six files: the third comes twice, the fourth has lines of the second once more, and strangers."""
    write_log(folder, FleetPlan(seed=3, groups=2, rebalances=6), files=4)
    files = sorted(folder.glob("*.jsonl"))
    (folder / "events-b1-000005.jsonl").write_bytes(files[2].read_bytes())
    late = files[1].read_bytes().splitlines(keepends=True)[:20]
    (folder / "events-b1-000006.jsonl").write_bytes(b"".join(late) + b"stranger\n" + late[3][:40])


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A folder with such a log."""
    dirty_log(tmp_path / "events")
    return tmp_path / "events"


@pytest.fixture
def expected(spark: SparkSession, tmp_path: Path, events: Path) -> Store:
    """The tables of a run."""
    store = Store(spark, str(tmp_path / "run"))
    make_tables(store, event_lines(spark, str(events)), lambda _: None)
    return store


def test_stream_killed_ten_times_gives_the_tables_of_a_run(
    spark: SparkSession, tmp_path: Path, events: Path, expected: Store
) -> None:
    """Issue, done when 2: at ten random points, with duplicates within and across batches."""
    draw = random.Random(2)
    root = str(tmp_path / "stream")
    source = FolderSource(folder=str(events), batch_files=1)
    for _ in range(KILLS):
        stream = Stream(MortalStore(spark, root, lives=[draw.randrange(1, 5)]))
        query = stream.start(source, is_once=True)
        with pytest.raises(StreamingQueryException, match="Killed"):
            query.awaitTermination()
    store = Store(spark, root)
    drain(store, source)
    assert contents(store) == contents(expected)


def test_stream_that_is_started_again_makes_what_is_new(
    spark: SparkSession, tmp_path: Path, events: Path, expected: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not everything once more, and nothing where nothing is new; a run over the same directory is refused."""
    asked: list[bool] = []

    def noted(derivation: Derivation, say: Say) -> None:
        asked.append(derivation.extent is None)
        do_stages(derivation, say)

    monkeypatch.setattr(job_stream, "do_stages", noted)
    store, source = Store(spark, str(tmp_path / "stream")), FolderSource(folder=str(events), batch_files=3)
    late = sorted(events.iterdir())[3:]
    for file in late:
        file.rename(tmp_path / file.name)
    drain(store, source)
    for file in late:
        (tmp_path / file.name).rename(file)
    for _ in range(2):
        drain(store, source)
    assert asked == [True, False]
    assert contents(store) == contents(expected)
    assert store.has_stream()


def test_stream_that_goes_on_makes_the_tables_of_who_died_before_them(
    spark: SparkSession, tmp_path: Path, events: Path, expected: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing more comes."""

    def die(*_: object) -> None:
        raise Killed

    store, source = Store(spark, str(tmp_path / "stream")), FolderSource(folder=str(events), batch_files=3)
    with monkeypatch.context() as patched:
        patched.setattr(job_stream, "do_stages", die)
        with pytest.raises(Killed):
            drain(store, source)
    with ending(1_000) as told_to_end:
        follow(store, source, 1_000, lambda: signal.raise_signal(signal.SIGINT), told_to_end)
    assert contents(store) == contents(expected)


@pytest.mark.timeout(900)
def test_tables_brought_up_batch_by_batch_are_those_of_a_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of a second bridge, late and repeated lines, the end of a file that was cut: only what changed is made,
    also by who goes on after a refresh was killed.
    """
    asked: list[bool] = []
    draw = random.Random(6)

    def noted(derivation: Derivation, say: Say) -> None:
        asked.append(derivation.extent is None)
        do_stages(derivation, say)

    monkeypatch.setattr(job_stream, "do_stages", noted)
    folder, run, stream = (
        tmp_path / "events",
        Store(spark, str(tmp_path / "run")),
        Store(spark, str(tmp_path / "stream")),
    )
    for boot in ("b1", "b2"):
        write_log(folder, FleetPlan(boot=boot, seed=5, groups=2, rebalances=4))
    first, second = (file.read_bytes().splitlines(keepends=True) for file in sorted(folder.glob("*.jsonl")))
    parts = [first[:200] + first[220:300], second, first[200:220] + first[290:] + second[:5]]
    taking = Stream(stream)
    for batch, part in enumerate(parts):
        lines = spark.createDataFrame(
            [(line.decode(), f"file-{batch}") for line in part], "value string, source string"
        )
        taking.take(Delivery(lines), batch)
        if batch:
            with pytest.raises(Killed):
                Stream(MortalStore(spark, stream.root, lives=[draw.randrange(3, 24)])).refresh(batch)
        Stream(stream).refresh(batch)
    whole = [(line.decode(), f"file-{batch}") for batch, part in enumerate(parts) for line in part]
    everything = spark.createDataFrame(whole, "value string, source string")
    make_tables(run, Delivery(everything), lambda _: None)
    assert contents(stream) == contents(run)
    assert asked == [True, *[False] * 4]


@pytest.mark.timeout(900)
def test_tables_of_what_readers_tell_are_those_of_a_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of batches that count as large Spark looks at what stretches leave, and what they told of is gone afterwards."""
    monkeypatch.setattr(column_files, "UNTOLD_BYTES", 0)
    monkeypatch.setattr(store_module, "ONE_PIECE_BYTES", 0)
    told: list[bool] = []

    def noted(derivation: Derivation, say: Say) -> None:
        told.append(derivation.telling is not None)
        do_stages(derivation, say)

    monkeypatch.setattr(job_stream, "do_stages", noted)
    folder, stream = tmp_path / "events", Store(spark, str(tmp_path / "stream"))
    for boot in ("b1", "b2"):
        write_log(folder, FleetPlan(boot=boot, seed=5, groups=3, rebalances=8), files=3)
    taking, files = Stream(stream), sorted(map(str, folder.iterdir()))
    for batch in range(3):
        taking.take(delivery_of(spark, files[2 * batch : 2 * batch + 2]), batch)
        taking.refresh(batch)
        assert not [*Path(stream.path(NEXT, TOLD)).iterdir()]
    run = Store(spark, str(tmp_path / "run"))
    make_tables(run, event_lines(spark, str(folder)), lambda _: None)
    assert contents(stream) == contents(run)
    assert told == [False, True, True]


@pytest.mark.timeout(900)
def test_refresh_after_a_restart_reads_no_event_of_days_that_are_over(spark: SparkSession, tmp_path: Path) -> None:
    """Their files may be gone: what later events need of the earlier ones is carried."""
    folder, run, stream = tmp_path / "events", Store(spark, str(tmp_path / "run")), str(tmp_path / "stream")
    plan = FleetPlan(groups=2, rebalances=6, pause_us=240 * MINUTE_US)
    first, second = (path for path, _ in write_history(folder, plan, 700))
    make_tables(run, event_lines(spark, str(folder)), lambda _: None)
    made = contents(run)
    for batch, path in enumerate((first, second)):
        taking = Stream(Store(spark, stream))
        taking.take(Delivery(lines_of(spark, path.read_text().splitlines(), path.name)), batch)
        taking.refresh(batch)
        files = Store(spark, stream).log(EVENTS).files()
        over = [file for file in files if str(file.day) < max(str(one.day) for one in files)]
        for file in over:
            Path(stream, EVENTS.name, file.path).unlink(missing_ok=True)
        assert over
    assert contents(Store(spark, stream), DERIVED) == {table.name: made[table.name] for table in DERIVED}
