"""The web server before the pages: connections accepted, TLS where it is wanted, and hypercorn for each of them.

Hypercorn tells an application nothing of a client's certificate; so each connection has its TLS before hypercorn has
it, and its application tells the pages who was shown (decision 610).
"""

import logging
import socket
from collections import Counter
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from functools import partial
from typing import cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ASGIFramework, ConnectionState, LifespanState
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bridge.admin.certificates import PLACE, Certified, ShakeHands
from bridge.admin.contracts import AdminSources
from bridge.admin.documents import error_document, show
from bridge.admin.pages import make_application, show_life
from bridge.supervision import ADMIN, Failures, guarded
from translators.dialects.places import place_of

HTTP_LOG = logging.getLogger("epochbridge.admin.http")
HTTP_LOG.setLevel(logging.WARNING)  # at each start hypercorn tells where it runs and how to stop it by hand
LOG = logging.getLogger("epochbridge.admin")
HEADERS_BYTES_MAX = 16_384
ADDRESS_PART = 4
"""One such part of all connections may come from one address, so that others come in whatever one stranger holds: a few
hundred half requests, or answers in HTTP/2 that it takes no byte of, had the probes of a scheduler turned away, which
then restarts the bridge.
"""
CROWDED_PART = 2
"""From such a part of that on each is closed behind its answer: a hundred commands that wait for moves keep theirs
between looks, and none of them is to be turned away for that (decision 805).
"""
READ_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 5.0
TLS_RECORD = b"\x16"
FIRST_BYTE_S = 5.0
LIFE = "/livez"
"""Answered without TLS, too: what checks health inside a container has no certificates, and hears no secret."""
_PLAIN = "this admin API speaks TLS (admin.tls), and the request came without; ask by https://"


async def serve_pages(
    listener: socket.socket,
    sources: AdminSources,
    supervised: Failures,
    shake_hands: ShakeHands | None = None,
    *,
    only_local: bool,
) -> None:
    """Serve until cancelled, in TLS where hands can be shaken; the listener is closed then.

    What fails on one connection is told, counted, and ends that one.
    """
    application, most = make_application(sources, only_local=only_local), sources.connections_max
    connections = Connections(application, supervised, shake_hands, most)
    listening = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
    await trio.serve_listeners(connections.serve, [listening])


class Connections:
    """Those of one listener, each with its own server."""

    def __init__(
        self, application: ASGIApp, supervised: Failures, shake_hands: ShakeHands | None, connections_max: int
    ) -> None:
        self._application = application
        self._most = connections_max
        """At once: each takes a descriptor."""
        self._most_of_one = max(1, connections_max // ADDRESS_PART)
        self._crowded = self._most_of_one // CROWDED_PART
        self._supervised = supervised
        self._open = Counter[str]()
        """By address."""
        self._is_full = False
        self._crowded_out = 0
        """Connections that were not taken because their address had too many."""
        self._shake_hands = shake_hands
        self._config = _configure()
        self._context = WorkerContext(None)

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one until it ends; the last of too many at once is closed without a word."""
        place = _place_of(stream)
        if not self._admits(place):
            return
        self._open[place] += 1
        try:
            await guarded(self._supervised, ADMIN, partial(self._serve_in_its_way, stream))
        finally:
            self._open[place] -= 1
            # Unary plus leaves out those who have none any more.
            self._open = +self._open
            self._is_full = False

    def _admits(self, place: str) -> bool:
        """Whether one more from an address is taken; those that are not are told to the log less and less often."""
        if self._open.total() >= self._most:
            if not self._is_full:
                LOG.warning(
                    "EB-ADMIN-025: %d programs are connected to the admin API, and others are turned away until one "
                    "goes; see who opens these connections and keeps them",
                    self._open.total(),
                )
            self._is_full = True
            return False
        if self._open[place] >= self._most_of_one:
            self._crowded_out += 1
            if self._crowded_out & (self._crowded_out - 1) == 0:
                LOG.warning(
                    "EB-ADMIN-027: %d connections to the admin API were turned away so far because %d from the same "
                    "address were open, the last one from %s; see what there opens connections and keeps them",
                    self._crowded_out,
                    self._open[place],
                    place,
                )
            return False
        return True

    async def _serve_in_its_way(self, stream: trio.SocketStream) -> None:
        application = self._sparing(_place_of(stream))
        if self._shake_hands is None:
            await self._serve(stream, application)
            return
        first = await _first_byte(stream)
        if first != TLS_RECORD:
            # A browser or a probe without TLS reads plain HTTP only: it is told the right scheme in that.
            await (self._serve(stream, answer_plain) if first else stream.aclose())
            return
        try:
            host = str(stream.socket.getpeername()[0])
        except OSError:
            # The client has gone already, so its socket has no other end to name.
            await stream.aclose()
            return
        shaken = await self._shake_hands(socket.socket(fileno=stream.socket.detach()), host)
        if shaken is not None:
            # This stream has all that hypercorn's TCPServer asks of the one that it declares.
            stream = cast(trio.SocketStream, shaken.stream)
            await self._serve(stream, _named(application, shaken.certify))

    def _sparing(self, place: str) -> ASGIApp:
        """The application as a connection from there asks it, which has an end where there are many of them."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_last(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
                await send(message)

            # HTTP/2 has no such header, and one connection for all that a client asks.
            is_last = scope.get("http_version") == "1.1" and self._open[place] > self._crowded
            await self._application(scope, receive, send_last if is_last else send)

        return answer

    async def _serve(self, stream: trio.SocketStream, application: ASGIApp) -> None:
        # Starlette and Hypercorn write the type of an ASGI application differently, and TCPServer only one of both
        # kinds of streams that it takes.
        wrapped = ASGIWrapper(cast(ASGIFramework, application))
        state = ConnectionState(LifespanState())
        either = cast("trio.SSLStream[trio.SocketStream]", stream)
        await TCPServer(wrapped, self._config, self._context, state, either)


def _place_of(stream: trio.SocketStream) -> str:
    """The address at the other end, of IPv6 its network; empty where the client has gone already."""
    try:
        return place_of(str(stream.socket.getpeername()[0]))
    except OSError:
        return ""


def _named(application: ASGIApp, certify: Callable[[], Certified]) -> ASGIApp:
    """The application as one connection asks it: what its certificate allows is looked up at each request."""

    async def answer(scope: MutableMapping[str, object], receive: Receive, send: Send) -> None:
        scope[PLACE] = certify()
        await application(scope, receive, send)

    return cast(ASGIApp, answer)


async def answer_plain(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that tells everybody that TLS is spoken here; health checks hear that the process is alive."""
    if scope["type"] == "http":
        is_life = scope["path"] == LIFE and scope["method"] == "GET"
        request = Request(scope, receive)
        answer = await (show_life(request) if is_life else show(error_document("EB-ADMIN-021", _PLAIN), 400))
        await answer(scope, receive, send)


async def _first_byte(stream: trio.SocketStream) -> bytes:
    """What comes first, left where it is; nothing where nothing comes."""
    with trio.move_on_after(FIRST_BYTE_S), suppress(OSError):
        return await stream.socket.recv(1, socket.MSG_PEEK)
    return b""


def _configure() -> Config:
    config = Config()
    config.errorlog = HTTP_LOG
    config.include_server_header = False
    config.h11_max_incomplete_size = HEADERS_BYTES_MAX
    config.h2_max_header_list_size = HEADERS_BYTES_MAX
    # Who takes no byte of its answers keeps one of them in memory, as without HTTP/2, and not a hundred /metrics.
    config.h2_max_concurrent_streams = 1
    config.read_timeout = READ_TIMEOUT_S
    config.keep_alive_timeout = IDLE_TIMEOUT_S
    return config
