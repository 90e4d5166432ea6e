"""A child process that serves others: it says one line when it is ready, and must then outlive the story.
It must not know what it serves.
"""

import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from bridge.demo.demo_error import DemoError

LINE_BYTES_MAX = 65_536
LAST_WORDS_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What to run: a name for people, the command line, where standard error goes, and the bounds of its life."""

    name: str
    command: Sequence[str]
    log: Path
    ready_timeout_s: float = 30.0
    stop_grace_s: float = 5.0


@asynccontextmanager
async def run_service(service: Service) -> AsyncIterator[str]:
    """Start it and give its ready line; at the end it is asked to end, then killed.

    Raises DemoError: EB-DEMO-003 if it never got ready, EB-DEMO-004 (out of the body, which is cancelled) if it ended
    while it was needed.
    """
    with service.log.open("wb") as log:
        # A session of its own, so that Ctrl-C on the terminal ends it in our order: members first.
        process = await trio.lowlevel.open_process(
            list(service.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    try:
        line = await _ready_line(service, process)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_watch, service, process)
            yield line
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await _end(service, process)


async def _ready_line(service: Service, process: trio.Process) -> str:
    assert process.stdout is not None
    received = b""
    with trio.move_on_after(service.ready_timeout_s):
        while b"\n" not in received and len(received) < LINE_BYTES_MAX:
            chunk = await process.stdout.receive_some(LINE_BYTES_MAX)
            if not chunk:
                status = await process.wait()
                raise DemoError(
                    f"EB-DEMO-003: {service.name} ended at start with status {status}. It said: {_last_words(service)}"
                )
            received += chunk
    if b"\n" not in received:
        raise DemoError(
            f"EB-DEMO-003: {service.name} was not ready within {service.ready_timeout_s:.0f} s. "
            f"It said: {_last_words(service)}"
        )
    return received.partition(b"\n")[0].decode(errors="replace")


async def _watch(service: Service, process: trio.Process) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, process)
        status = await process.wait()
        raise DemoError(
            f"EB-DEMO-004: {service.name} (process {process.pid}) ended with status {status} while it was needed. "
            f"It said: {_last_words(service)}"
        )


async def _drain(process: trio.Process) -> None:
    assert process.stdout is not None
    while await process.stdout.receive_some(LINE_BYTES_MAX):
        pass


async def _end(service: Service, process: trio.Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    if process.returncode is None:
        process.terminate()
        with trio.move_on_after(service.stop_grace_s):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
    if process.stdout is not None:
        await process.stdout.aclose()


def _last_words(service: Service) -> str:
    # The last line is enough for a sentence; before it there may be a traceback, which stays in the file.
    words = service.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = words[-1][-LAST_WORDS_CHARS:] if words else "nothing"
    return f"{said} (all of it is in {service.log})"
