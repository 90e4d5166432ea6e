"""Child processes of a benchmark: started, awaited, measured by the CPU time and memory that the kernel counted.

It must not know what they do.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 20.0
LOG_TAIL_LINES = 30


class BenchmarkError(Exception):
    """A figure could not be measured; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A running program that says one line when it is ready, and after that one line per command."""

    process: "subprocess.Popen[str]"
    log: Path
    ready_line: str
    ready_s: float
    """From before the process was made to its first line."""

    def cpu_s(self) -> float:
        """User and system time so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def resident_bytes(self) -> int:
        """Resident memory now."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def ask(self, command: str) -> str:
        """Send one line and return the line that comes back. Raises BenchmarkError."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return _line(self.process, self.log)


@contextmanager
def program(module: str, arguments: Sequence[str], directory: Path) -> Iterator[Child]:
    """Run `python -m module`; at the end its input is closed and it is sent SIGTERM."""
    with command([sys.executable, "-m", module, *arguments], directory, {}) as child:
        yield child


@contextmanager
def command(words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Iterator[Child]:
    """Run a command until the end of the block, its errors in a log in `directory`. Raises BenchmarkError."""
    log = directory / f"child-{time.monotonic_ns()}.log"
    begin = time.monotonic()
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
    try:
        first = _line(process, log)
        yield Child(process=process, log=log, ready_line=first, ready_s=time.monotonic() - begin)
    finally:
        _end(process)


def _line(process: "subprocess.Popen[str]", log: Path) -> str:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], READY_TIMEOUT_S)
    line = process.stdout.readline().strip() if readable else ""
    if not line:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        raise BenchmarkError("\n".join(["a child ended or was silent; its log ends:", *lines[-LOG_TAIL_LINES:]]))
    return line


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
