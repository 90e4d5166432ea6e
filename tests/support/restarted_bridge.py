"""A bridge that is killed and started again in its old place, with its journal."""

import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bridge.demo.services import free_place
from tests.support.bridge_process import PROGRAM, QUICK_SETTINGS, READY_TIMEOUT_S, ROOT, BridgeProcessError, LogFile

STOP_TIMEOUT_S = 60.0


class RestartedBridge:
    """One place for clients, one for operators, one journal, and as many lives as are asked for."""

    def __init__(self, upstream: str, glob: str, directory: Path, settings: Mapping[str, str] = QUICK_SETTINGS) -> None:
        place = free_place()
        self.bootstrap, self.admin = place.listen, place.admin
        self.log = LogFile(directory / "bridge.log")
        self.journal = directory / "journal.db"
        kept = {**settings, "journal": "sqlite", "journal.path": str(self.journal)}
        self._command = [*PROGRAM, "--bootstrap", upstream, "--listen", self.bootstrap, "--admin", self.admin]
        self.rules: tuple[str, ...] = ("--embedded", glob)
        """As the next life has them."""
        self._command += [word for name, value in kept.items() for word in ("--set", f"{name}={value}")]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Begin a life; returns when clients may come. May block for seconds."""
        with self.log.open("ab") as log:
            command = [*self._command, *self.rules]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT)
        self._process = process
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], READY_TIMEOUT_S)
        if not readable or not process.stdout.readline():
            self.kill()
            raise BridgeProcessError(f"the bridge was not ready within {READY_TIMEOUT_S:.0f} s. {self.tail()}")

    def kill(self) -> None:
        """End a life in the middle of whatever it does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End a life as an operator does; gives the exit status."""
        return self._end(signal.SIGTERM)

    def hang_up(self) -> None:
        """Have it read its configuration again, as an operator does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        with process:
            return process.wait(STOP_TIMEOUT_S)
