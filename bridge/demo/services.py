"""Child processes that serve others, above all the bridge: each says one line when it is ready, and must then outlive
the story.
"""

import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from bridge.demo.errors import DemoError
from bridge.demo.free_ports import FREE_PORTS, LOOPBACK, PORT_FIRST, PORT_LAST

LINE_BYTES_MAX = 65_536
LAST_LINE_CHARS = 500


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
    assert process.stdout is not None, "it was started with a pipe"
    received = b""
    with trio.move_on_after(service.ready_timeout_s):
        while b"\n" not in received and len(received) < LINE_BYTES_MAX:
            chunk = await process.stdout.receive_some(LINE_BYTES_MAX)
            if not chunk:
                status = await process.wait()
                raise DemoError(
                    f"EB-DEMO-003: {service.name} ended at start with status {status}. It said: {_last_line(service)}"
                )
            received += chunk
    if b"\n" not in received:
        raise DemoError(
            f"EB-DEMO-003: {service.name} was not ready within {service.ready_timeout_s:.0f} s. "
            f"It said: {_last_line(service)}"
        )
    return received.partition(b"\n")[0].decode(errors="replace")


async def _watch(service: Service, process: trio.Process) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, process)
        status = await process.wait()
        raise DemoError(
            f"EB-DEMO-004: {service.name} (process {process.pid}) ended with status {status} while it was needed. "
            f"It said: {_last_line(service)}"
        )


async def _drain(process: trio.Process) -> None:
    assert process.stdout is not None, "it was started with a pipe"
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


def _last_line(service: Service) -> str:
    # The last line is enough for a sentence; before it there may be a traceback, which stays in the file.
    words = service.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = words[-1][-LAST_LINE_CHARS:] if words else "nothing"
    return f"{said} (all of it is in {service.log})"


BROKERS_MAX = 12
"""The highest id of a broker: ports for ids from 0 to this one are kept free behind the bootstrap port."""

SETTINGS: Mapping[str, str] = {
    "journal": "memory",
    "group.initial.rebalance.delay.ms": "1000",
    "embedded.resume.grace.ms": "1000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""Kafka's defaults let a dead KIP-848 member keep its partitions for 45 s, which is long to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgePlace:
    """Where the bridge listens: clients at `listen`, for brokers on the ports behind it, its admin API at `admin`."""

    listen: str
    admin: str


def free_place() -> BridgePlace:
    """A row of loopback ports that nothing listens on and that nobody else draws, also while this bridge is dead.

    Raises DemoError (EB-DEMO-005) if there is no such row.
    """
    needed = BROKERS_MAX + 3
    ports = FREE_PORTS.draw(needed)
    if ports is None:
        raise DemoError(
            f"EB-DEMO-005: no {needed} free ports in a row between {PORT_FIRST} and {PORT_LAST} on {LOOPBACK}."
        )
    return BridgePlace(listen=f"{LOOPBACK}:{ports[0]}", admin=f"{LOOPBACK}:{ports[-1]}")


def serve_command(upstream: str, embedded: str | None, place: BridgePlace, events: str | None = None) -> Sequence[str]:
    """`epochbridge serve` in front of `upstream` (LOOPBACK:PORT, or several joined by commas).

    It coordinates the group `embedded`; without one all groups stay with their broker. With `events` it writes its
    event log to that folder.
    """
    return [
        *(sys.executable, "-m", "bridge", "serve"),
        *("--bootstrap", upstream.partition(",")[0], "--listen", place.listen, "--admin", place.admin),
        *(() if embedded is None else ("--embedded", embedded)),
        *(() if events is None else ("--events", events)),
        *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")),
    ]
