"""How fast an event log becomes tables, by a run and by a stream, against reading the same files and counting lines.

Wall times are what the targets are about; CPU seconds bear a machine that is not quiet.

It must not know how a table is made.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.intake.sources import FolderSource
from bridge.analytics.job_run import do_stages, event_lines, make_tables, open_store
from bridge.analytics.job_stream import Stream
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import BATCH, EVENTS
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.store import Store
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.processes import BenchmarkError
from tests.support.fleet_files import like_real, write_runs

RUN_EVENTS, STREAM_EVENTS = 10_000_000, 6_000_000
RUN_S = Target(bound=60)
STREAM_RATE = Target(bound=200_000, at_least=True)
BATCH_FILES = 32
"""Some million events, as a micro-batch from the topic has; files of a bridge that serves are five times bigger."""
PLAN = replace(like_real(groups=10, members=8, partitions=24, rebalances=60), is_lasting=False)
"""Every run is of other groups: the runs lie side by side."""
SETTINGS = {"spark.driver.memory": "6g"}
BASELINE = "reading and counting lines"


def measure_pipeline(directory: Path) -> list[Figure]:
    """Ten million events to all tables on local[2], and six million through a stream; the session start not counted."""
    spark = open_session(SessionSettings(master="local[2]", settings=SETTINGS))
    try:
        return [*_measure_run(spark, directory / "run"), *_measure_stream(spark, directory / "stream")]
    finally:
        spark.stop()


def _measure_run(spark: SparkSession, folder: Path) -> list[Figure]:
    truth, runs = write_runs(folder / "events", PLAN, RUN_EVENTS)
    count = truth.events * runs
    log = event_lines(spark, str(folder / "events"))
    log.lines.limit(1000).count()
    baseline_s, baseline_cpu_s = spent(log.lines.count)
    store = open_store(spark, str(folder / "tables"))
    steps: dict[str, float] = {}
    run_s, run_cpu_s = spent(lambda: make_tables(store, log, _stop_watch(steps)))
    require_count(store.read(EVENTS).count(), count)
    slowest = ", ".join(f"{name} {begun:.0f}" for name, begun in steps.items())
    return [
        Figure(
            name=f"{count / 1e6:.1f} million events to all tables",
            value=run_s,
            unit="s",
            target=RUN_S,
            baseline=Baseline(name=BASELINE, value=baseline_s),
            note=f"begun at s: {slowest}",
        ),
        Figure(
            name="the same, CPU of all processes",
            value=run_cpu_s,
            unit="s",
            baseline=Baseline(name=BASELINE, value=baseline_cpu_s),
        ),
    ]


def _measure_stream(spark: SparkSession, folder: Path) -> list[Figure]:
    truth, runs = write_runs(folder / "events", PLAN, STREAM_EVENTS)
    count = truth.events * runs
    log = event_lines(spark, str(folder / "events"))
    baseline_s, baseline_cpu_s = spent(log.lines.count)
    store = open_store(spark, str(folder / "tables"))
    source = FolderSource(folder=str(folder / "events"), batch_files=BATCH_FILES)
    stream = Stream(store)
    stream_s, stream_cpu_s = spent(lambda: stream.start(source, is_once=True).awaitTermination())
    require_count(store.read(EVENTS).count(), count)
    return [
        Figure(
            name=f"stream of {count / 1e6:.1f} million events",
            value=count / stream_s,
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name=BASELINE, value=count / baseline_s),
            note=f"{BATCH_FILES} files a micro-batch",
        ),
        Figure(
            name="the same, per CPU second of all processes",
            value=count / stream_cpu_s,
            unit="events/s",
            baseline=Baseline(name=BASELINE, value=count / baseline_cpu_s),
        ),
        *_measure_refreshes(store, stream.last_batch),
    ]


def _measure_refreshes(store: Store, last_batch: int) -> list[Figure]:
    """The tables brought up batch by batch: the last refresh beside the second, which has the least history behind it.

    The first makes everything, and warms Spark up.
    """
    history = History(store)

    def refresh(batch: int) -> None:
        do_stages(Derivation(store, batch, history.advance(batch)), lambda _: None)

    times = [spent(partial(refresh, batch)) for batch in range(last_batch + 1)]
    sizes = [store.read(EVENTS).where(f.col(BATCH) == batch).count() for batch in (1, last_batch)]
    (early_s, early_cpu_s), (late_s, late_cpu_s) = times[1], times[last_batch]
    return [
        Figure(
            name=f"refresh after {last_batch + 1} micro-batches, CPU per million events of the last",
            value=late_cpu_s / sizes[1] * 1e6,
            unit="s",
            baseline=Baseline(name="after 2 micro-batches", value=early_cpu_s / sizes[0] * 1e6),
            note=f"wall {late_s:.1f} and {early_s:.1f} s",
        )
    ]


def _stop_watch(steps: dict[str, float]) -> Callable[[str], None]:
    begin = time.monotonic()

    def note(name: str) -> None:
        steps[name] = time.monotonic() - begin

    return note


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall time and of CPU that it took: this process, Spark's, and those that read files."""
    begin_s, before_s = time.monotonic(), _cpu_s()
    work()
    return time.monotonic() - begin_s, _cpu_s() - before_s


def _cpu_s() -> float:
    """All that this process has used, with what it started, whether that is still there or not."""
    living = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    return sum(sum(times[:4]) for times in living) + sum(os.times()[:4])


def require_count(found: int, expected: int) -> None:
    """Raise BenchmarkError if events are missing, or too many."""
    if found != expected:
        raise BenchmarkError(f"{found} of {expected} events came into the table")
