"""The web server behind the admin API's listener: what a slow or large request gets, and its end.

It must not know where it listens, nor what the pages show.
"""

import logging
import socket
from typing import cast

from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.typing import Framework

from bridge.admin.contracts import AdminSources
from bridge.admin.pages import make_application

HTTP_LOG = logging.getLogger("epochbridge.admin.http")
HTTP_LOG.setLevel(logging.WARNING)  # what it has to tell at a start is for those who run Hypercorn by hand
HEADERS_BYTES_MAX = 16_384
READ_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 5.0
GRACE_S = 1.0


async def serve_pages(listener: socket.socket, sources: AdminSources, *, only_local: bool) -> None:
    """Serve until cancelled; the listener is closed then."""
    application = make_application(sources, only_local=only_local)
    # Starlette and Hypercorn write the type of an ASGI application differently.
    await serve(cast(Framework, application), _configure(listener), mode="asgi")


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
