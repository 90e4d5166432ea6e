"""What the service manager is told (systemd's `Type=notify`): ready, reading the configuration again, ending.

A notice is one datagram to the socket that `NOTIFY_SOCKET` names (sd_notify(3)); nobody else is asked for anything.
"""

import logging
import socket
from collections.abc import Callable, Mapping

LOG = logging.getLogger("epochbridge.app")
VARIABLE = "NOTIFY_SOCKET"
STATUS_CHARS_MAX = 2_000
SEND_S = 1.0
"""How long a manager may leave a notice untaken; it takes them at once unless it hangs itself."""

AFTER_DRAIN_MS = 10_000
"""What comes after draining: other bridges are told, the event log and the journal are closed."""


class ServiceNotices:
    """Tells the service manager that started the bridge; without one, nobody."""

    def __init__(self, environment: Mapping[str, str], monotonic_us: Callable[[], int]) -> None:
        """`monotonic_us` is CLOCK_MONOTONIC, by which the manager tells one reload from the next."""
        self._place = environment.get(VARIABLE, "")
        self._monotonic_us = monotonic_us

    def ready(self, status: str) -> None:
        """Clients may come, or a reload is over; `status` is what `systemctl status` shows."""
        self._tell("READY=1", _status(status))

    def reloading(self) -> None:
        """The configuration is being read again, until `ready`."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={self._monotonic_us()}", _status("reading the configuration again"))

    def stopping(self, drain_ms: int) -> None:
        """No more clients; those that are there may end what they began, for so long.

        The manager is asked to wait: a unit whose TimeoutStopSec= is shorter would kill the bridge while it drains.
        """
        wait_us = (drain_ms + AFTER_DRAIN_MS) * 1_000
        self._tell("STOPPING=1", f"EXTEND_TIMEOUT_USEC={wait_us}", _status("draining"))

    def _tell(self, *lines: str) -> None:
        if not self._place:
            return
        # A name that begins with @ is one of Linux' abstract names.
        address = f"\0{self._place[1:]}" if self._place.startswith("@") else self._place
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(SEND_S)
                sender.sendto("\n".join(lines).encode(), address)
        except OSError as problem:
            # A manager that waits for READY=1 would end the bridge; whoever reads why finds it here.
            LOG.warning(
                "EB-SERVICE-001: the service manager at %s=%s could not be told %s (%s); if it ends the bridge for "
                "that, run it as Type=exec, or without %s",
                VARIABLE,
                self._place,
                lines[0],
                problem.strerror or problem,
                VARIABLE,
            )


def _status(text: str) -> str:
    """One line of a bounded length, whatever a file or a broker put into it: a notice that fails is none."""
    line = " ".join(text.split()).encode(errors="backslashreplace").decode()
    return f"STATUS={line if len(line) <= STATUS_CHARS_MAX else line[: STATUS_CHARS_MAX - 1] + '…'}"
