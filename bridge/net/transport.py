"""A connection as tasks see it: try now, or wait; plain sockets here, other kinds obey the same protocol.

A `Sender` drains in the background what the other end did not take at once.
"""

import select
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import trio

from bridge.supervision import SENDER, Task

_HANG_UP: int | None = getattr(select, "POLLRDHUP", None)
CLOSED_HERE = "the connection was closed here"
RECEIVE_BYTES = 256 * 1024
"""The most that is read at once."""


class PeerGone(Exception):
    """One of both ends closed or reset the connection while something was to be sent or waited for."""


class Transport(Protocol):
    """Both directions of one connection, without a task switch unless a wait is asked for."""

    def recv_into(self, buffer: memoryview) -> int | None:
        """Bytes received into `buffer` now; None when there are none yet, 0 when the other end is done."""
        ...

    def try_send(self, data: bytes | memoryview) -> int:
        """How many bytes of `data` were taken now, perhaps 0. Raises PeerGone."""
        ...

    def fileno(self) -> int | None:
        """The file descriptor that is readable when recv_into may give something; None where there is none (memory)."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether bytes go over the descriptor as they are, so that the kernel may move them."""
        ...

    @property
    def read_bytes(self) -> int:
        """How much is read at once: `RECEIVE_BYTES`, or less where what was read leaves the processor's caches before
        it is sent on.
        """
        ...

    @property
    def fault(self) -> str:
        """What the other end said of why it ended the connection (an alert of TLS), or why the bridge did
        (`tls_socket.ONLY_KEYS`); empty where there is nothing of the kind.
        """
        ...

    def has_hung_up(self) -> bool:
        """Whether the other end will send no more, also where bytes it sent before are still to be read."""
        ...

    async def wait_readable(self) -> None:
        """Wait until recv_into may give something. Raises PeerGone once the connection is closed here."""
        ...

    async def wait_writable(self) -> None:
        """Wait until try_send may take something. Raises PeerGone once the connection is closed here."""
        ...

    def close(self) -> None:
        """Close both directions; harmless when closed."""
        ...


class SocketTransport:
    """A plain TCP (or Unix) socket; owns it."""

    is_plain = True
    read_bytes = RECEIVE_BYTES
    fault = ""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket = sock
        self._closed = False

    def recv_into(self, buffer: memoryview) -> int | None:
        """See Transport; a reset counts as the end."""
        try:
            return self._socket.recv_into(buffer)
        except BlockingIOError:
            return None
        except OSError:
            return 0

    def try_send(self, data: bytes | memoryview) -> int:
        """See Transport."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerGone(str(error)) from error

    def fileno(self) -> int | None:
        """See Transport."""
        return None if self._closed else self._socket.fileno()

    def has_hung_up(self) -> bool:
        """See Transport; where the system can't tell, nobody has."""
        if self._closed or _HANG_UP is None:
            return False
        look = select.poll()
        look.register(self._socket, _HANG_UP)
        return bool(look.poll(0))

    async def wait_readable(self) -> None:
        """See Transport."""
        # Not in common with the other: each connection would keep a frame of it, which waits here nearly all the time.
        if self._closed:
            raise PeerGone(CLOSED_HERE)
        try:
            await trio.lowlevel.wait_readable(self._socket)
        except (trio.ClosedResourceError, OSError) as error:
            raise PeerGone(str(error) or CLOSED_HERE) from error

    async def wait_writable(self) -> None:
        """See Transport."""
        # One side may close the connection while the other still sends or waits: that is an end, not a bug.
        if self._closed:
            raise PeerGone(CLOSED_HERE)
        try:
            await trio.lowlevel.wait_writable(self._socket)
        except (trio.ClosedResourceError, OSError) as error:
            raise PeerGone(str(error) or CLOSED_HERE) from error

    def close(self) -> None:
        """See Transport; whoever waits for the socket is woken with PeerGone."""
        if not self._closed:
            self._closed = True
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()


async def send_all(transport: Transport, data: bytes | memoryview) -> None:
    """Send all of `data`, waiting where the other end is slow. Raises PeerGone."""
    left = memoryview(data)
    while True:
        left = left[transport.try_send(left) :]
        if not left:
            return
        await transport.wait_writable()


async def hear_end(transport: Transport) -> None:
    """Return when the other end is done; what it says until then is dropped, as the tickets of TLS are."""
    buffer = memoryview(bytearray(1024))
    with suppress(PeerGone):
        while (count := transport.recv_into(buffer)) != 0:
            if count is None:
                await transport.wait_readable()
            else:
                await trio.lowlevel.checkpoint()


class Spawn(Protocol):
    """Runs work beside, under a guard: whatever it raises ends one connection."""

    def __call__(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Start it."""
        ...


class Sender:
    """The sending half of one transport; `on_drained` and `on_gone` are called without a task switch."""

    __slots__ = ("_is_gone", "_on_drained", "_on_gone", "_spawn", "_transport", "_unsent")

    def __init__(
        self, transport: Transport, spawn: Spawn, on_drained: Callable[[], None], on_gone: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._spawn = spawn
        self._on_drained = on_drained
        self._on_gone = on_gone
        self._unsent = bytearray()
        self._is_gone = False

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the other end has not taken yet."""
        return len(self._unsent)

    def send_nowait(self, data: bytes | memoryview) -> None:
        """Send, keeping a copy of what can't leave now; nothing once the other end is gone."""
        if self._is_gone:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._transport.try_send(data)
        except PeerGone:
            self._go()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._spawn(SENDER, self._drain)

    def stop(self) -> None:
        """The transport is closed here: nothing is sent any more, and nobody is told that the other end is gone."""
        self._is_gone = True
        self._unsent = bytearray()

    async def _drain(self) -> None:
        try:
            while self._unsent:
                await self._transport.wait_writable()
                with memoryview(self._unsent) as view:
                    sent = self._transport.try_send(view)
                del self._unsent[:sent]
        except PeerGone:
            self._go()
            return
        if self._is_gone:
            return
        # What grew for one slow moment must not stay with an idle connection.
        self._unsent = bytearray()
        self._on_drained()

    def _go(self) -> None:
        if not self._is_gone:
            self.stop()
            self._on_gone()
