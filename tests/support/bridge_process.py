"""The bridge as a child process: started in front of a broker, watched, and stopped by its own id."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PosixPath

from bridge.demo.services import free_place

ADMIN_OFF = "off"
PROGRAM = (sys.executable, "-m", "bridge", "serve", "--admin", "off", "--log-format", "console")
UPSTREAM_GLOB = "upstream-*"
"""Groups whose classic clients are made members of the broker's consumer groups."""
ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 60.0
LOG_TAIL_LINES = 40
SETTLED_S, SETTLING_MAX_S = 0.2, 2.0

QUICK_SETTINGS: Mapping[str, str] = {
    "journal": "memory",
    "bridges.group": "off",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "1000",
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "8000",
    "group.consumer.session.timeout.ms": "8000",
}
"""Kafka's defaults make every story minutes long; the least that librdkafka and a starting JVM live with."""


@dataclass(frozen=True, slots=True)
class Globs:
    """Which groups take which road; all others pass."""

    embedded: Sequence[str] = ()
    upstream: str = UPSTREAM_GLOB


class LogFile(PosixPath):
    """Where a bridge writes its log: by a thread of its own, so that a line may come after the answer that it tells of.

    A test looked between the two on a busy machine, and found nothing said.
    """

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """All of it, when nothing has come for a moment; a log that goes on and on is not waited for."""
        give_up, seen_bytes = time.monotonic() + SETTLING_MAX_S, -1
        while (now_bytes := self.stat().st_size) != seen_bytes and time.monotonic() < give_up:
            seen_bytes = now_bytes
            time.sleep(SETTLED_S)
        return super().read_text(encoding, errors)


class BridgeProcessError(Exception):
    """The bridge did not start, or ended by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeProcess:
    """A running bridge: where clients go, and what it has logged."""

    bootstrap: str
    log: Path
    process: "subprocess.Popen[str]"
    admin: str = ADMIN_OFF

    def check_alive(self) -> None:
        """Fail with the log's end if it has ended by itself."""
        status = self.process.poll()
        if status is not None:
            raise BridgeProcessError(f"the bridge ended with status {status} while it was needed. {self.tail()}")

    def tail(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([f"{self.log} ends:", *lines[-LOG_TAIL_LINES:]])


@contextmanager
def bridge_process(
    upstream: str,
    globs: Sequence[str] | Globs,
    directory: Path,
    settings: Mapping[str, str] = QUICK_SETTINGS,
    *,
    has_admin: bool = False,
) -> Iterator[BridgeProcess]:
    """Run the bridge in front of `upstream`; globs alone are of groups on road embedded.

    `has_admin` gives it an admin API; of a `listen` or `admin.listen` among the settings the host counts.
    At the end it must stop within a minute of SIGTERM with status 0 and have logged no
    traceback.
    """
    roads = globs if isinstance(globs, Globs) else Globs(globs)
    place = free_place()
    listen, admin = place.listen, place.admin if has_admin else ADMIN_OFF
    listen = settings.get("listen", listen).rpartition(":")[0] + ":" + listen.rpartition(":")[2]
    if has_admin and "admin.listen" in settings:
        admin = settings["admin.listen"].rpartition(":")[0] + ":" + admin.rpartition(":")[2]
    directory.mkdir(parents=True, exist_ok=True)
    log = LogFile(directory / f"bridge-{listen.rpartition(':')[2]}.log")
    command = [*PROGRAM, "--bootstrap", upstream, "--listen", listen, "--admin", admin]
    command += [word for glob in roads.embedded for word in ("--embedded", glob)]
    command += ["--upstream", roads.upstream]
    command += [
        word for name, value in settings.items() if name != "admin.listen" for word in ("--set", f"{name}={value}")
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT)
    bridge = BridgeProcess(bootstrap=listen, log=log, process=process, admin=admin)
    try:
        _wait_until_ready(bridge)
        yield bridge
        bridge.check_alive()
    finally:
        status = _stop(process)
    if status != 0:
        raise BridgeProcessError(f"the bridge ended with status {status} after SIGTERM. {bridge.tail()}")
    if "Traceback" in log.read_text(encoding="utf-8", errors="replace"):
        raise BridgeProcessError(f"the bridge logged a traceback: see {log}. {bridge.tail()}")


def _wait_until_ready(bridge: BridgeProcess) -> None:
    assert bridge.process.stdout is not None
    give_up = time.monotonic() + READY_TIMEOUT_S
    readable, _, _ = select.select([bridge.process.stdout], [], [], max(0.0, give_up - time.monotonic()))
    line = bridge.process.stdout.readline() if readable else ""
    if not line:
        raise BridgeProcessError(f"the bridge was not ready within {READY_TIMEOUT_S:.0f} s. {bridge.tail()}")


def _stop(process: "subprocess.Popen[str]") -> int:
    if process.poll() is None:
        os.kill(process.pid, signal.SIGTERM)
    try:
        status = process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return status
