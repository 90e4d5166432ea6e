"""What the tables cost by the size and the shape of the log: memory, many groups or one, long histories, a cluster.

Logs are shaped like those of real services: some 440 bytes an event, the same groups over all of the time. Whole
commands are measured as users give them; only a stream is driven batch by batch.

It must not know how a table is made.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from pyspark.sql import SparkSession

from bridge.analytics.intake.sources import FolderSource
from bridge.analytics.job_run import open_store
from bridge.analytics.job_stream import Stream
from bridge.analytics.spark.session import SessionSettings, open_session
from deploy.spark.package import pack
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.pipeline import spent
from tests.benchmarks.processes import BenchmarkError
from tests.support.fleet_files import like_real, write_history
from tests.support.fleet_log import FleetPlan
from tests.support.spark_cluster import ClusterError, cluster, submission

SIZES = (1_000_000, 10_000_000, 30_000_000)
SHAPE_EVENTS = 3_000_000
CLUSTER_SIZES = (3_000_000, 10_000_000)
"""Starting five Javas is a good part of the first; the second is what one machine is asked for."""
MANY_GROUPS, BIG_GROUP = 10_000, 300
BATCHES, BATCH_EVENTS = 100, 1_000_000
EARLY_BATCH = 10
AROUND = 2
"""So many batches on each side of one count with it: one of them may be disturbed."""
SERVICES = like_real(groups=50, members=8, partitions=24, rebalances=36)
"""Some 100,000 events a run."""
MEMORY = "spark.driver.memory=6g"
WATCH_S = 0.2
RUN_S = Target(bound=60)
STREAM_RATE = Target(bound=100_000, at_least=True)
HISTORY_MAX, CLUSTER_MIN = 1.2, 1.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a command with all that it started: seconds, CPU seconds, and the most that was resident at once.

    A page that several processes share counts for each of them.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int


def measure_table_sizes(directory: Path) -> list[Figure]:
    """A run over 1, 10 and 30 million events on local[2]: time, and the most memory."""
    figures: list[Figure] = []
    first: Cost | None = None
    for size in SIZES:
        cost = _run(directory / "sizes", SERVICES, size, "local[2]")
        first = first or cost
        name = f"{size / 1e6:g} million events to all tables"
        figures += [
            Figure(name=name, value=cost.wall_s, unit="s", target=RUN_S if size == 10_000_000 else None),
            Figure(name="the same, CPU of all processes", value=cost.cpu_s, unit="s"),
            Figure(
                name="the same, the most that was resident",
                value=cost.peak_bytes / 2**20,
                unit="MiB",
                baseline=Baseline(name=f"at {SIZES[0] / 1e6:g} million", value=first.peak_bytes / 2**20),
                note=f"{MEMORY}; all processes",
            ),
        ]
    return figures


def measure_table_shapes(directory: Path) -> list[Figure]:
    """As many events of 10,000 small groups, and of one big one."""
    many = like_real(groups=MANY_GROUPS, members=3, partitions=6, rebalances=2)
    one = like_real(groups=1, members=BIG_GROUP, partitions=BIG_GROUP, rebalances=60)
    of_many, of_one = (_run(directory / "shapes", plan, SHAPE_EVENTS, "local[2]") for plan in (many, one))
    return [
        Figure(
            name=f"{SHAPE_EVENTS / 1e6:g} million events of {MANY_GROUPS:,} groups to all tables, {what}",
            value=value,
            unit=unit,
            baseline=Baseline(name=f"of one group of {BIG_GROUP}", value=other),
        )
        for what, unit, value, other in (
            ("wall", "s", of_many.wall_s, of_one.wall_s),
            ("CPU", "s", of_many.cpu_s, of_one.cpu_s),
            ("the most that was resident", "MiB", of_many.peak_bytes / 2**20, of_one.peak_bytes / 2**20),
        )
    ]


def measure_table_history(directory: Path) -> list[Figure]:
    """A stream of the same groups with its tables kept up: the 100th micro-batch beside the 10th."""
    folder = directory / "history"
    inbox = folder / "events"
    spark = open_session(SessionSettings(master="local[2]", settings=dict([MEMORY.split("=")])))
    try:
        stream = Stream(open_store(spark, str(folder / "tables")))
        files = write_history(inbox, SERVICES, BATCHES * BATCH_EVENTS * 2)
        count = 0
        takes: list[tuple[float, float]] = []
        refreshes: list[tuple[float, float]] = []
        counts = [counts_of(spark)]
        for batch in range(BATCHES):
            sizes = [next(files)[1]]
            while sum(sizes) < BATCH_EVENTS:
                sizes.append(next(files)[1])
            count = sum(sizes)
            takes.append(spent(taker(stream, FolderSource(folder=str(inbox), batch_files=len(sizes)))))
            refreshes.append(spent(refresher(stream, batch)))
            counts.append(counts_of(spark))
            for path in inbox.iterdir():
                path.unlink()
        stream.close()
        return [*_history_figures(count, takes, refreshes), *_count_figures(counts)]
    finally:
        spark.stop()


def measure_table_cluster(directory: Path) -> list[Figure]:
    """The same job submitted to local[1], and to a standalone cluster of two workers of one core."""
    folder = directory / "cluster"
    folder.mkdir(parents=True)
    package = folder / "epochbridge.zip"
    pack(package)
    figures: list[Figure] = []
    for size in CLUSTER_SIZES:
        at = folder / f"{size}"
        _write(at / "events", SERVICES, size)
        alone = _submitted("local[1]", package, at)
        try:
            with cluster(at) as url:
                shared = _submitted(url, package, at)
        except ClusterError as problem:
            raise BenchmarkError(str(problem)) from problem
        shutil.rmtree(at)
        figures.append(
            Figure(
                name=f"{size / 1e6:g} million events to all tables on two workers, to local[1] alone",
                value=alone.wall_s / shared.wall_s,
                unit="×",
                target=Target(bound=CLUSTER_MIN, at_least=True),
                note=f"{shared.wall_s:.0f} and {alone.wall_s:.0f} s, starts included",
            )
        )
    return figures


def _submitted(master: str, package: Path, folder: Path) -> Cost:
    """What the job costs that makes tables of the events in a folder; they are gone behind it."""
    tables = folder / "tables"
    job = ["run", "--events", str(folder / "events"), "--out", str(tables)]
    try:
        return _cost([*submission(master, package), *job], folder)
    finally:
        shutil.rmtree(tables, ignore_errors=True)


def _history_figures(
    count: int, takes: Sequence[tuple[float, float]], refreshes: Sequence[tuple[float, float]]
) -> list[Figure]:
    early, late = EARLY_BATCH - 1, len(takes) - 1
    rates = [count / (take[0] + refresh[0]) for take, refresh in zip(takes, refreshes, strict=True)]
    cpu_s = [refresh[1] / count * 1e6 for refresh in refreshes]
    before_s = _around(cpu_s, early)
    return [
        Figure(
            name=f"stream with its tables kept up, micro-batch {late + 1} of {count / 1e6:.2g} million events",
            value=_around(rates, late),
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name=f"micro-batch {EARLY_BATCH}", value=_around(rates, early)),
        ),
        Figure(
            name="refresh, CPU per million new events there",
            value=_around(cpu_s, late),
            unit="s",
            target=Target(bound=round(before_s * HISTORY_MAX, 1)),
            baseline=Baseline(name=f"micro-batch {EARLY_BATCH}", value=before_s),
            note=f"{(late + 1) * count / 1e6:.3g} million events of history",
        ),
    ]


def counts_of(spark: SparkSession) -> tuple[int, int]:
    """How many jobs Spark has begun so far, and how many classes it has generated and compiled."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    compiled = gateway.jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()), int(compiled.getCount())


def _count_figures(counts: Sequence[tuple[int, int]]) -> list[Figure]:
    """What a micro-batch takes whatever is in it: its intake and its refresh together."""
    last, early = len(counts) - 2, EARLY_BATCH - 1
    return [
        Figure(
            name=f"{what} for micro-batch {last + 1}",
            value=counts[last + 1][place] - counts[last][place],
            unit="",
            baseline=Baseline(
                name=f"for micro-batch {EARLY_BATCH}", value=counts[early + 1][place] - counts[early][place]
            ),
        )
        for place, what in enumerate(("jobs of Spark", "classes that Spark compiled"))
    ]


def _around(values: Sequence[float], place: int) -> float:
    return median(values[max(0, place - AROUND) : place + AROUND + 1])


def taker(stream: Stream, source: FolderSource) -> Callable[[], object]:
    """Takes what is in a folder."""
    return lambda: stream.start(source, is_once=True).awaitTermination()


def refresher(stream: Stream, batch: int) -> Callable[[], object]:
    """Brings the tables up to a batch."""
    return lambda: stream.refresh(batch)


def _run(folder: Path, plan: FleetPlan, events: int, master: str) -> Cost:
    """What `analytics run` costs over so many events; nothing of it stays."""
    _write(folder / "events", plan, events)
    paths = ("--events", str(folder / "events"), "--out", str(folder / "tables"))
    analytics = (sys.executable, "-m", "bridge", "analytics", "run")
    try:
        return _cost([*analytics, *paths, "--master", master, "--setting", MEMORY], folder)
    finally:
        shutil.rmtree(folder)


def _write(folder: Path, plan: FleetPlan, events: int) -> None:
    """All of it: what is written is told file by file, for who takes it in between."""
    for _ in write_history(folder, plan, events):
        pass


def _cost(words: Sequence[str], folder: Path) -> Cost:
    """Run a command to its end; raise BenchmarkError if it fails."""
    with (folder / "said").open("w+", encoding="utf-8") as said:
        begin_s = time.monotonic()
        process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, cwd=folder)
        used_s: dict[int, float] = {}
        peak_bytes = 0
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _watch(process.pid, used_s))
            time.sleep(WATCH_S)
        wall_s = time.monotonic() - begin_s
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise BenchmarkError(f"status {process.returncode}: {text[-2_000:]}")
    return Cost(wall_s, sum(used_s.values()), peak_bytes)


def _watch(pid: int, used_s: dict[int, float]) -> int:
    """Note the CPU time of a process and of all that it started; give what they have resident together."""
    resident = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for one in family:
        try:
            times = one.cpu_times()
            resident += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
        used_s[one.pid] = float(times.user + times.system)
    return resident
