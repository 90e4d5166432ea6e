"""The admin API's listener: where it may listen, and when the web server behind it is loaded."""

import errno
import logging
import socket
from collections.abc import Awaitable
from importlib import import_module
from typing import Protocol

import trio

from bridge.admin.addresses import is_loopback, parse_address, show_address
from bridge.admin.certificates import ShakeHands
from bridge.admin.contracts import AdminError, AdminSources
from bridge.supervision import ADMIN, Failures, keep_running

LOG = logging.getLogger("epochbridge.admin")
WEB = "bridge.admin.web_server"
LOADED_AFTER_S = 1.0
"""When the web server is loaded at the latest; before that, when somebody asks."""
STALL_MAX_MS = 5_000
"""How long a client may leave an answer unread; Hypercorn's writes can't be cancelled, so the kernel ends them."""


class ServePages(Protocol):
    """See `web_server.serve_pages`."""

    def __call__(
        self,
        listener: socket.socket,
        sources: AdminSources,
        supervised: Failures,
        shake_hands: ShakeHands | None,
        *,
        only_local: bool,
    ) -> Awaitable[None]:
        """Serve until cancelled."""


async def serve_admin(
    address: str,
    sources: AdminSources,
    supervised: Failures | None = None,
    shake_hands: ShakeHands | None = None,
    *,
    task_status: "trio.TaskStatus[str]" = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled at `HOST:PORT` (port 0: any), in TLS where hands can be shaken; started with the address
    that was bound.

    What fails in the web server is told, and it is started again: the listener stays open.

    Raises AdminError: EB-ADMIN-001 when it can't listen there, EB-ADMIN-002 when it is no address.
    """
    host, port = parse_address(address)
    with _listen(host, port) as listener:
        bound = show_address(host, listener.getsockname()[1])
        only_local = is_loopback(host)
        if not only_local and shake_hands is None:
            LOG.warning(
                "EB-ADMIN-003: the admin API listens at %s, beyond this machine, without TLS: whoever reads along sees "
                "tokens; set admin.tls, or admin.listen to a loopback address, or keep the port behind a firewall",
                bound,
            )
        LOG.info("the admin API listens at %s%s", bound, "" if shake_hands is None else ", in TLS")
        task_status.started(bound)

        failures = supervised or Failures()

        async def serve() -> None:
            serve_pages = await _load_pages(listener)
            await serve_pages(listener.dup(), sources, failures, shake_hands, only_local=only_local)

        await keep_running(failures, ADMIN, serve)


async def _load_pages(listener: socket.socket) -> ServePages:
    """Load the web server when somebody asks, else soon: it takes a fifth of the start, and Kafka's clients wait.

    A thread does it, for the loop has requests of those clients by then; who asks meanwhile waits in the backlog.
    """
    with trio.move_on_after(LOADED_AFTER_S):
        await trio.lowlevel.wait_readable(listener)
    loaded = await trio.to_thread.run_sync(import_module, WEB)
    serve_pages: ServePages = loaded.serve_pages
    return serve_pages


def _cause(problem: OSError) -> str:
    if problem.errno == errno.EADDRNOTAVAIL or isinstance(problem, socket.gaierror):
        return "no interface of this machine has that address"
    if problem.errno in {errno.EACCES, errno.EPERM}:
        return "this user may not have that port"
    return "another bridge may run here"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise AdminError(
            "EB-ADMIN-001",
            f"the admin API can't listen at {show_address(host, port)}: {problem.strerror or problem}; "
            f"{_cause(problem)}: give another address with --admin HOST:PORT, or --admin off",
        ) from problem
    # Sockets that are accepted here inherit this bound for programs that take no answer.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_MAX_MS)
    return listener
