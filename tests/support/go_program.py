"""Programs from Go modules, built once by the Go of this machine and kept with what else the tests fetch."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bridge.demo.kafka_jars import cache_directory, keep, locked

BUILD_S = 480.0
"""Helm's 120 modules take two minutes of CPU, and a shared machine may give a third of its cores. Twice this, for
whoever waited for one that failed, is within what a fixture may take (`time_limits.SETUP_S`).
"""


def go_program(package: str, version: str) -> str | None:
    """The program of this package at this version, by its path.

    None, and its reason on standard error, where there is no Go, or where it can't get or build the module. Blocks.
    """
    go = shutil.which("go")
    if go is None:
        return None
    name = package.rpartition("/")[2]
    final = cache_directory("", os.environ, Path.home()).parent / "go" / f"{name}-{version}"
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.with_suffix(".lock")):
        if not final.exists():
            with tempfile.TemporaryDirectory(dir=final.parent) as work:
                problem = _build(go, f"{package}@{version}", Path(work))
                if problem is not None:
                    print(f"{package} can't be built by this machine's Go: {problem}", file=sys.stderr)
                    return None
                keep(Path(work) / "bin", final)
    return str(final / name)


def _build(go: str, module: str, work: Path) -> str | None:
    """What went wrong, None if nothing did."""
    environment = {**os.environ, "GOBIN": str(work / "bin"), "GOFLAGS": "-modcacherw", "CGO_ENABLED": "0"}
    command = [go, "install", module]
    try:
        ran = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {BUILD_S:.0f} s"
    return None if ran.returncode == 0 else ran.stderr.strip()[-500:]
