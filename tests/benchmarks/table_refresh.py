"""What a refresh of a stream's tables costs that has hardly anything to do: jobs, classes, CPU.

Nearly all of it is the same for a thousand events and for a million. It must not know how a table is made.
"""

from pathlib import Path

from bridge.analytics.intake.sources import FolderSource
from bridge.analytics.job_run import open_store
from bridge.analytics.job_stream import Stream
from bridge.analytics.spark.session import SessionSettings, open_session
from tests.benchmarks.figures import Baseline, Figure
from tests.benchmarks.pipeline import spent
from tests.benchmarks.table_sizes import counts_of, refresher, taker
from tests.support.fleet_files import like_real, write_history

FEW = like_real(groups=50, members=8, partitions=24, rebalances=7)
"""Some 21,000 events a run."""
REFRESHES = 8
LATE = 2
"""So many of the last are put together: what Java compiles meanwhile comes when it comes."""


def measure_table_refresh(directory: Path) -> list[Figure]:
    """Some 21,000 events a micro-batch: the last two refreshes to the second, behind which Spark is still cold.

    The first one makes everything.
    """
    inbox = directory / "refresh" / "events"
    spark = open_session(SessionSettings(master="local[2]"))
    try:
        stream = Stream(open_store(spark, str(directory / "refresh" / "tables")))
        files = write_history(inbox, FEW, REFRESHES * 10**6)
        count = 0
        cpu_s: list[float] = []
        jobs: list[int] = []
        classes: list[int] = []
        for batch in range(REFRESHES):
            path, count = next(files)
            taker(stream, FolderSource(folder=str(inbox), batch_files=1))()
            before = counts_of(spark)
            cpu_s.append(spent(refresher(stream, batch))[1])
            after = counts_of(spark)
            jobs.append(after[0] - before[0])
            classes.append(after[1] - before[1])
            path.unlink()
        stream.close()
    finally:
        spark.stop()
    name, early = f"refresh {REFRESHES} of {count:,} events", "refresh 2"
    late_s = sum(cpu_s[-LATE:]) / LATE
    return [
        Figure(name=f"{name}, jobs of Spark", value=jobs[-1], unit="", baseline=Baseline(name=early, value=jobs[1])),
        Figure(
            name="the same, classes that Spark compiled",
            value=classes[-1],
            unit="",
            baseline=Baseline(name=early, value=classes[1]),
        ),
        Figure(
            name=f"the same, CPU of all processes, mean of {LATE}",
            value=late_s,
            unit="s",
            baseline=Baseline(name=early, value=cpu_s[1]),
        ),
    ]
