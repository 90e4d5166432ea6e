"""The Spark session that all jobs share, and the settings they rely on.

It must not know any job.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.environment import is_submitted, provide_java
from bridge.analytics.failures import cause_of

RELIED_ON: Mapping[str, str] = {
    # Days are UTC days wherever the job runs.
    "spark.sql.session.timeZone": "UTC",
    # Without this Spark sorts every row by date before it writes.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # Lists of a few partitions for many members: 128 of them, the default, is no reason to sort.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "200000",
    # A line with a field of another type is no event, not one without that field.
    "spark.sql.json.enablePartialResults": "false",
    # Events carry int64; a wrong cast has to fail, not to wrap.
    "spark.sql.ansi.enabled": "true",
}
ON_ONE_MACHINE: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "8",
    # Jobs want throughput; pauses hurt nobody. A job of two minutes spends a sixth of them on compiling what Spark
    # generates: with less of it inlined the code is as quick, and takes a quarter less to compile.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseParallelGC -XX:MaxInlineLevel=6 -XX:InlineSmallCode=800 -XX:FreqInlineSize=120"
    ),
    # What ends a job is told in a sentence; the pages that Spark writes before would hide it.
    "spark.log.level": "FATAL",
}
MASTER = "local[*]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Where to run, and Spark settings of the user's own, which come last."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def open_session(wanted: SessionSettings) -> SparkSession:
    """Start Spark, or join the session that spark-submit prepared.

    Raise AnalyticsError if there is no Java, or if Spark does not start as wished.
    """
    builder = SparkSession.builder.appName("epochbridge analytics")
    settings = dict(RELIED_ON)
    if not is_submitted():
        provide_java()
        settings = {**ON_ONE_MACHINE, "spark.pyspark.python": sys.executable, **settings}
        builder = builder.master(wanted.master or MASTER)
    elif wanted.master is not None:
        builder = builder.master(wanted.master)
    for name, value in {**settings, **wanted.settings}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (Py4JError, PySparkException) as problem:
        raise AnalyticsError(
            f"EB-ANALYTICS-013: Spark does not start ({cause_of(problem)}); "
            "its own words may stand above: check --master and --setting, and the memory of this machine"
        ) from problem
