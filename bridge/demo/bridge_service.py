"""How the demo runs the bridge: its command line, its ports, and settings that make a short story possible.
It must not know the bridge's insides: to the demo it is a program.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge.demo.demo_error import DemoError

HOST = "127.0.0.1"
PORT_FIRST, PORT_LAST = 20_000, 32_000
BROKERS_MAX = 12
"""Listeners kept free for single brokers, counted up from the one after the bootstrap port."""

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
    """Where the bridge listens: clients at `listen`, brokers' ports counted up from there, its admin API at `admin`."""

    listen: str
    admin: str


def free_place() -> BridgePlace:
    """A row of loopback ports that nothing listens on, from a place that differs between processes.

    Raises DemoError (EB-DEMO-005) if there is no such row.
    """
    needed = BROKERS_MAX + 2
    span = PORT_LAST - PORT_FIRST - needed
    begin = os.getpid() * 37 % span
    for offset in range(0, span, needed):
        first = PORT_FIRST + (begin + offset) % span
        if all(_is_free(port) for port in range(first, first + needed)):
            return BridgePlace(listen=f"{HOST}:{first}", admin=f"{HOST}:{first + needed - 1}")
    raise DemoError(f"EB-DEMO-005: no {needed} free ports in a row between {PORT_FIRST} and {PORT_LAST} on {HOST}.")


def serve_command(upstream: str, group: str, place: BridgePlace, events: str | None = None) -> Sequence[str]:
    """`epochbridge serve` in front of `upstream` (HOST:PORT, or several joined by commas), coordinating `group`.

    With `events` it writes its event log to that folder.
    """
    return [
        *(sys.executable, "-m", "bridge", "serve"),
        *("--bootstrap", upstream.partition(",")[0], "--listen", place.listen, "--admin", place.admin),
        *("--embedded", group),
        *(() if events is None else ("--events", events)),
        *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")),
    ]


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((HOST, port))
        except OSError:
            return False
    return True
