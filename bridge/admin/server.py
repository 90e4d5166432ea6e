"""The admin API's listener: where it may listen, what a slow or large request gets, and its end.

It must not know what the pages show.
"""

import logging
import socket
from functools import partial
from typing import cast

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.typing import Framework

from bridge.admin.answers import is_loopback
from bridge.admin.contracts import AdminError, AdminSources
from bridge.admin.pages import make_application

LOG = logging.getLogger("epochbridge.admin")
HTTP_LOG = logging.getLogger("epochbridge.admin.http")
HTTP_LOG.setLevel(logging.WARNING)  # what it has to tell at a start is for those who run Hypercorn by hand
PORT_MAX = 65_535
HEADERS_BYTES_MAX = 16_384
READ_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 5.0
GRACE_S = 1.0
STALL_MAX_MS = 5_000
"""How long a client may leave an answer unread; Hypercorn's writes can't be cancelled, so the kernel ends them."""


async def serve_admin(
    address: str, sources: AdminSources, *, task_status: "trio.TaskStatus[str]" = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled at `HOST:PORT` (port 0: any); started with the address that was bound.

    Raises AdminError: EB-ADMIN-001 when it can't listen there, EB-ADMIN-002 when it is no address.
    """
    host, port = parse_address(address)
    listener = _listen(host, port)
    bound = _show_address(host, listener.getsockname()[1])
    only_local = is_loopback(host)
    if not only_local:
        LOG.warning(
            "EB-ADMIN-003: the admin API listens at %s, beyond this machine, and asks nobody who they are; "
            "set admin.listen to a loopback address or keep the port behind a firewall",
            bound,
        )
    application = make_application(sources, only_local=only_local)
    async with trio.open_nursery() as nursery:
        # Starlette and Hypercorn write the type of an ASGI application differently.
        await nursery.start(partial(serve, cast(Framework, application), _configure(listener), mode="asgi"))
        LOG.info("the admin API listens at %s", bound)
        task_status.started(bound)


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, with `[…]` around an IPv6 host; raises AdminError (EB-ADMIN-002)."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise AdminError(
            "EB-ADMIN-002", f"admin.listen is {address!r}, which is not HOST:PORT; give 127.0.0.1:9190, or off for none"
        )
    return host, int(port)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise AdminError(
            "EB-ADMIN-001",
            f"the admin API can't listen at {_show_address(host, port)}: {problem.strerror or problem}; another bridge "
            "may run here: give another address with --admin HOST:PORT, or --admin off",
        ) from problem
    # Accepted sockets inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_MAX_MS)
    return listener


def _configure(listener: socket.socket) -> Config:
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = HTTP_LOG
    config.include_server_header = False
    config.h11_max_incomplete_size = HEADERS_BYTES_MAX
    config.h2_max_header_list_size = HEADERS_BYTES_MAX
    config.read_timeout = READ_TIMEOUT_S
    config.keep_alive_timeout = IDLE_TIMEOUT_S
    config.graceful_timeout = GRACE_S
    return config


def _show_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
