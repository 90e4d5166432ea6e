"""What whoever started the bridge is told: by lines on standard output when clients may come, and until then why not;
by notices to a service manager (systemd's `Type=notify`) also of reading the configuration again, and of the end.

A notice is one datagram to the socket that `NOTIFY_SOCKET` names (sd_notify(3)); nobody else is asked for anything.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

import trio

from bridge.net.proxy import Proxy

READY = "epochbridge ready: clients {clients}, brokers {brokers}, admin {admin}"
"""What a script waits for on standard output."""
WAITING = "epochbridge waits: clients {clients}, admin {admin}; {reason}"
"""What it reads before that where the cluster can't be worked with yet."""
WAITING_LINES_MAX = 50
"""A pipe holds so many without a reader; behind that everybody would wait for one. The admin API goes on telling."""

Say = Callable[[str], None]
"""Shows a line to whoever started the bridge."""

LOG = logging.getLogger("epochbridge.app")
VARIABLE = "NOTIFY_SOCKET"
STATUS_CHARS_MAX = 2_000
AGAIN_S = 1.0
"""After so long a manager that took no notice is told again that clients may come."""

WAIT_MS = 120_000
"""How long the manager is asked to wait on for a cluster: longer than from one look at it to the next."""
AFTER_DRAIN_MS = 10_000
"""What comes after draining: other bridges are told, the event log and the journal are closed."""


class ServiceNotices:
    """Tells the service manager that started the bridge; without one, nobody."""

    def __init__(self, environment: Mapping[str, str], monotonic_us: Callable[[], int]) -> None:
        """`monotonic_us` is CLOCK_MONOTONIC, by which the manager tells one reload from the next."""
        self._place = environment.get(VARIABLE, "")
        self._monotonic_us = monotonic_us
        self._is_ready = False
        self._is_hung = False

    def waiting(self, why: str) -> None:
        """Clients may not come yet; to be said again within the time that the manager is asked to wait on for."""
        self._tell(_status(why), f"EXTEND_TIMEOUT_USEC={WAIT_MS * 1_000}")

    def ready(self, status: str) -> bool:
        """Clients may come; `status` is what `systemctl status` shows. False: it has to be told again."""
        self._is_ready = True
        self._tell("READY=1", _status(status))
        return not self._is_hung

    def reloaded(self, status: str) -> None:
        """A reload is over; what waits for the cluster goes on waiting."""
        self._tell(*(("READY=1",) if self._is_ready else ()), _status(status))

    def reloading(self) -> None:
        """The configuration is being read again, until `reloaded`; who is not ready yet has no reload in its states."""
        if not self._is_ready:
            return
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
        was_hung, self._is_hung = self._is_hung, False
        try:
            # A manager that hangs takes nothing: whoever waited for it would hold up all clients.
            with socket.socket(
                socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            ) as sender:
                sender.sendto("\n".join(lines).encode(), address)
        except OSError as problem:
            self._is_hung = isinstance(problem, BlockingIOError)
            # A manager that waits for READY=1 would end the bridge; whoever reads why finds it here.
            LOG.log(
                logging.DEBUG if was_hung and self._is_hung else logging.WARNING,
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


async def announce(proxy: Proxy, admin: str, say: Say, notices: ServiceNotices) -> None:
    """Say that clients may come once the cluster has answered and let the bridge in; till then, each reason why not.

    A service manager hears of every look at the cluster, so that it goes on waiting: members that the journal knows
    are served meanwhile.
    """
    cluster, told, lines = proxy.cluster, "", 0
    while not cluster.has_looked or proxy.why_not_ready:
        if cluster.has_looked:
            if proxy.why_not_ready != told:
                told = proxy.why_not_ready
                lines += 1
                if lines <= WAITING_LINES_MAX:
                    _show(say, waiting_line(proxy, admin))
            notices.waiting(told)
        await cluster.next_look()
        if proxy.is_draining:
            return
    line = ready_line(proxy, admin)
    _show(say, line)
    while not notices.ready(line):
        await trio.sleep(AGAIN_S)
        if proxy.is_draining:
            return


def _show(say: Say, line: str) -> None:
    """Whoever closed the other end of standard output reads nothing; the manager still has to hear."""
    with suppress(OSError):
        say(line)


def ready_line(proxy: Proxy, admin: str) -> str:
    """Where clients, brokers and the admin API are."""
    addresses, own = sorted(proxy.broker_addresses.items()), proxy.bootstrap.host
    brokers = ", ".join(f"{node}@{one.port if one.host == own else one}" for node, one in addresses)
    return READY.format(clients=proxy.bootstrap, brokers=brokers or "not known yet", admin=admin)


def waiting_line(proxy: Proxy, admin: str) -> str:
    """Where they are, and why clients should not come yet."""
    return WAITING.format(clients=proxy.bootstrap, admin=admin, reason=proxy.why_not_ready)
