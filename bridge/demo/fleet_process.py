"""One client process of the fleet: started, read line by line, stopped or killed by its own id."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import trio

from bridge.demo.events import Event, Failed, now_ns
from bridge.demo.events_json import EventError, decode_event
from bridge.demo.judge_evidence import ClientLog

LINE_BYTES_MAX = 1 << 20
READ_BYTES = 1 << 16
ERROR_TAIL_CHARS = 2000


class ClientProcess:
    """A running (or dead) client; its events are read by `run`, which lives in the fleet's nursery."""

    def __init__(self, seat: str, number: int, directory: Path) -> None:
        self.seat = seat
        self.number = number
        self.events: list[Event] = []
        self.died_ns: int | None = None
        self.wanted_dead = False
        self.frozen = False
        self.exit_status: int | None = None
        self._errors = directory / f"{number:03d}-{seat}.stderr"
        self._process: trio.Process | None = None
        self._over = trio.Event()

    async def run(self, command: Sequence[str], task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the program and read its events until it has died; on cancellation it is killed."""
        with self._errors.open("wb") as errors:
            self._process = await trio.lowlevel.open_process(
                list(command), stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._wait_death, self._process)
                nursery.start_soon(self._read, self._process)
                task_status.started()
        finally:
            if self._process.returncode is None:
                self._kill_session(self._process)
                with trio.CancelScope(shield=True):
                    await self._process.wait()
        self._over.set()

    @property
    def alive(self) -> bool:
        """Whether the process has started and not died."""
        return self._process is not None and self.died_ns is None

    @property
    def failed(self) -> bool:
        """Whether it died although nobody asked it to, or with another status than 0 although only asked to stop."""
        return self.died_ns is not None and (not self.wanted_dead or self.exit_status not in {0, -9})

    def log(self) -> ClientLog:
        """A snapshot for the judge."""
        return ClientLog(seat=self.seat, number=self.number, events=tuple(self.events), died_ns=self.died_ns)

    def errors(self) -> str:
        """The end of what the process wrote to standard error."""
        return self._errors.read_text(errors="replace")[-ERROR_TAIL_CHARS:] if self._errors.exists() else ""

    def freeze(self) -> None:
        """SIGSTOP: it neither heartbeats nor processes, as under a long garbage collection or on a hung host."""
        if self._process is not None and self.died_ns is None:
            os.killpg(self._process.pid, signal.SIGSTOP)
            self.frozen = True

    def thaw(self) -> None:
        """SIGCONT: it goes on where it was."""
        if self._process is not None and self.died_ns is None:
            os.killpg(self._process.pid, signal.SIGCONT)
        self.frozen = False

    def nudge(self) -> None:
        """SIGUSR1: it does what it was made to do when told to; the programs of this package know nothing of it."""
        if self._process is not None and self.died_ns is None:
            self._process.send_signal(signal.SIGUSR1)

    async def stop(self, grace_s: float) -> None:
        """SIGTERM, and wait until all its events are read; after `grace_s` it is killed and that is written down."""
        self.wanted_dead = True
        if self._process is None or self.died_ns is not None:
            return
        self._process.terminate()
        with trio.move_on_after(grace_s) as waiting:
            await self._over.wait()
        if waiting.cancelled_caught:
            self.events.append(Failed(at_ns=now_ns(), reason=f"still there {grace_s} s after SIGTERM: killed"))
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL, and wait until all its events are read."""
        self.wanted_dead = True
        if self._process is not None and self.died_ns is None:
            self._kill_session(self._process)
        await self._over.wait()

    @staticmethod
    def _kill_session(process: trio.Process) -> None:
        # The whole session: a member may be a wrapper around another program, which must not outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    async def _wait_death(self, process: trio.Process) -> None:
        self.exit_status = await process.wait()
        self.died_ns = now_ns()

    async def _read(self, process: trio.Process) -> None:
        assert process.stdout is not None
        unread = b""
        while chunk := await process.stdout.receive_some(READ_BYTES):
            *lines, unread = (unread + chunk).split(b"\n")
            self._take(lines)
            if len(unread) > LINE_BYTES_MAX:
                self.events.append(Failed(at_ns=now_ns(), reason=f"a line of more than {LINE_BYTES_MAX} bytes dropped"))
                unread = b""

    def _take(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            try:
                self.events.append(decode_event(line.decode(errors="replace")))
            except EventError as error:
                self.events.append(Failed(at_ns=now_ns(), reason=str(error)))
