"""How fast an event log becomes tables, by a run and by a stream, against reading the same files and counting lines.

It must not know how a table is made.
"""

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from bridge.analytics.job_run import derive, event_lines, make_tables, open_store
from bridge.analytics.job_stream import EVERYTHING, Stream
from bridge.analytics.session import SessionSettings, open_session
from bridge.analytics.sources import FolderSource
from bridge.analytics.tables import EVENTS
from tests.benchmarks.broker import BenchBroker
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.processes import BenchmarkError
from tests.support.fleet_files import write_runs
from tests.support.fleet_log import FleetPlan

RUN_EVENTS, STREAM_EVENTS = 10_000_000, 2_000_000
RUN_S = Target(bound=90)
STREAM_RATE = Target(bound=200_000, at_least=True)
BATCH_FILES = 16
PLAN = FleetPlan(groups=10, members=8, partitions=24, rebalances=60)
SETTINGS = {"spark.driver.memory": "6g"}
BASELINE = "reading and counting lines"


def measure_pipeline(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Ten million events to all tables on local[2], and two million through a stream; the session start not counted."""
    spark = open_session(SessionSettings(master="local[2]", settings=SETTINGS))
    try:
        return [*_measure_run(spark, directory / "run"), *_measure_stream(spark, directory / "stream")]
    finally:
        spark.stop()


def _measure_run(spark: SparkSession, folder: Path) -> list[Figure]:
    truth, runs = write_runs(folder / "events", PLAN, RUN_EVENTS)
    count = truth.events * runs
    lines = event_lines(spark, str(folder / "events"))
    lines.limit(1000).count()
    baseline_s = _seconds(lines.count)
    store = open_store(spark, str(folder / "tables"))
    steps: dict[str, float] = {}
    run_s = _seconds(lambda: make_tables(store, lines, _stop_watch(steps)))
    _require(store.read(EVENTS).count(), count)
    slowest = ", ".join(f"{name} {begun:.0f}" for name, begun in steps.items())
    return [
        Figure(
            name=f"{count / 1e6:.1f} million events to all tables",
            value=run_s,
            unit="s",
            target=RUN_S,
            baseline=Baseline(name=BASELINE, value=baseline_s),
            note=f"begun at s: {slowest}",
        )
    ]


def _measure_stream(spark: SparkSession, folder: Path) -> list[Figure]:
    truth, runs = write_runs(folder / "events", PLAN, STREAM_EVENTS)
    count = truth.events * runs
    baseline_s = _seconds(lambda: event_lines(spark, str(folder / "events")).count())
    store = open_store(spark, str(folder / "tables"))
    source = FolderSource(folder=str(folder / "events"), batch_files=BATCH_FILES)
    stream_s = _seconds(lambda: Stream(store).start(source, is_once=True).awaitTermination())
    _require(store.read(EVENTS).count(), count)
    tables_s = _seconds(lambda: derive(store, EVERYTHING, lambda _: None))
    return [
        Figure(
            name=f"stream of {count / 1e6:.1f} million events",
            value=count / stream_s,
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name=BASELINE, value=count / baseline_s),
            note=f"{BATCH_FILES} files a micro-batch; then {tables_s:.0f} s for the tables",
        )
    ]


def _stop_watch(steps: dict[str, float]) -> Callable[[str], None]:
    begin = time.monotonic()

    def note(name: str) -> None:
        steps[name] = time.monotonic() - begin

    return note


def _seconds(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def _require(found: int, expected: int) -> None:
    if found != expected:
        raise BenchmarkError(f"{found} of {expected} events came into the table")
