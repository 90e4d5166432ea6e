"""Spark's classes as a file that its next Java maps instead of reading jars, and so starts with half the CPU.

The file lies in the environment of the tests, as it fits these jars and this Java alone. A Java that it does not fit,
or that runs something else, does without it and says nothing.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = "JAVA_TOOL_OPTIONS"
# Brokers, Spark and clients in Java live for a minute here: what its second compiler would make quicker is never earned
# back, and takes a quarter of all their CPU. Without that one Java has room for 48 MB of code, which Spark fills: what
# was compiled is then thrown away and compiled again, for a ninth of the CPU of its tests.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
SILENT = "-Xlog:cds*=off"
SHARED_RUN = "PYTEST_XDIST_WORKER"
MAKING_S = 300
FEW_JOBS = """
import sys
from bridge.analytics.spark.session import SessionSettings, open_session
spark = open_session(SessionSettings(master="local[1]"))
rows = spark.range(1_000).selectExpr("id % 7 AS k", "id").groupBy("k").sum("id")
rows.write.parquet(sys.argv[1])
assert spark.read.parquet(sys.argv[1]).count() == 7
spark.stop()
"""


def java_options(archive: Path | None = None) -> str:
    """What every Java of the tests is told; the archive only where there is one, as Java would start slower without."""
    found = archive or archive_path()
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={found} {SILENT}" if found.is_file() else SHORT_LIVED


def archive_path() -> Path:
    """Where the archive is for the Java on PATH and the Spark that is installed: another of either makes its own."""
    java = shutil.which("java")
    stamp = Path(java).resolve().stat().st_mtime_ns if java else 0
    return Path(sys.prefix) / f"spark-classes-{_spark_version()}-{stamp}.jsa"


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return "none"


def provide_archive() -> None:
    """Make the archive if there is none yet, and tell the next Java of it; whoever has options of its own keeps them.

    It costs what four starts with it save, so it is made in runs that are shared between processes, as whole ones are.
    Where it can't be made nothing is lost.
    """
    archive = archive_path()
    is_wanted = os.environ.get(OPTIONS) == SHORT_LIVED and SHARED_RUN in os.environ
    if not is_wanted or not os.access(archive.parent, os.W_OK):
        return
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        failed = archive.with_suffix(".failed")
        if not archive.is_file() and _words(failed) != _run():
            _make(archive, failed)
    os.environ[OPTIONS] = java_options(archive)


def _run() -> str:
    """What all processes of a run have in common, and no other run."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", "")


def _words(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _make(archive: Path, failed: Path) -> None:
    work = archive.with_suffix(".making")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    fresh = work / archive.name
    # The one that starts Spark's Java is a Java, too, and ends first: the last to end leaves its own file.
    options = f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={fresh} {SILENT}"
    try:
        run_or_end([sys.executable, "-c", FEW_JOBS, str(work / "rows")], options, MAKING_S)
        fresh.replace(archive)
        for old in (*archive.parent.glob("spark-classes-*.jsa"), *archive.parent.glob("spark-classes-*.failed")):
            if old != archive:
                old.unlink()
    except (OSError, subprocess.SubprocessError) as problem:
        # Each of the run's processes would wait for it anew; the next run tries again.
        failed.write_text(_run(), encoding="utf-8")
        print(f"Spark's Java starts without an archive of its classes: {problem}", file=sys.stderr)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run_or_end(command: Sequence[str], java: str, limit_s: float) -> None:
    """Run a program and what it starts to their ends; raise SubprocessError where it fails or that takes too long.

    Spark's Java outlives the Python that is killed, and then writes its classes down for a minute for nobody.
    """
    environment = {**os.environ, OPTIONS: java}
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as started:
        try:
            words, _ = started.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(started.pid, signal.SIGKILL)
            raise
    if started.returncode != 0:
        raise subprocess.CalledProcessError(started.returncode, command, words)
