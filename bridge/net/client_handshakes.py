"""TLS with clients as they come: bounded in time and number, in turns with everybody else, failures with a reason."""

import socket
import ssl
from contextlib import suppress

import trio

from bridge.net.client_hello import NO_NAME, HelloReader, names_unraised
from bridge.net.tls_faults import explain_client
from bridge.net.tls_socket import TlsSession, TlsSocket
from bridge.net.tls_transport import TlsTransport
from bridge.session.broker_addresses import HostNames, UnknownHost
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.requests import Rejected
from bridge.wire.proxy_protocol import SIGNATURE, VERSION_1
from translators.dialects.errors import quote

TLS_RECORD = b"\x16"
"""How a hello begins; a request of Kafka's begins with zero, as it is shorter than 16 MB, one of HTTP with a letter."""
STEPS_PER_TURN = 4
"""A step that signs takes up to 2 ms, in which nobody else is served; so few are made before others have their turn."""
ALERT_LINGER_S = 1.0
ALERT_LINGER_READS_MAX = 16
"""So long, and so many times, what a client still sends is read behind an alert: a socket that is closed with bytes
unread resets the connection, and the alert is lost with it.
"""
READ_BYTES = 16_384


class Handshakes:
    """Those of one proxy. With `names` only clients get through that ask for one of them."""

    def __init__(self, context: ssl.SSLContext, limits: Limits, names: HostNames | None = None) -> None:
        self._names = names
        self._hellos = None if names is None else HelloReader()
        self.use(context)
        self.under_way = 0
        self._limits = limits
        self._turns = trio.Semaphore(STEPS_PER_TURN)

    def use(self, context: ssl.SSLContext) -> None:
        """Take this context for those who come from now on."""
        if self._names is not None:
            context.sni_callback = self._hear_host
        self._context = context

    async def shake(self, client: socket.socket) -> TlsTransport | Rejected:
        """TLS on a socket that was accepted, which is taken over; where that does not come about it is closed."""
        found: TlsTransport | Rejected = Rejected(CloseReason.SLOW_HANDSHAKE, "")
        self.under_way += 1
        try:
            if self.under_way > self._limits.handshakes_max:
                return Rejected(CloseReason.TOO_MANY_HANDSHAKES, "")
            with trio.move_on_after(self._limits.handshake_time_max_ms / 1000):
                found = await self._shake(client)
            return found
        finally:
            self.under_way -= 1
            if isinstance(found, Rejected):
                client.close()

    async def _shake(self, client: socket.socket) -> TlsTransport | Rejected:
        client.setblocking(False)
        try:
            first = await _first_bytes(client)
            if first.startswith((SIGNATURE[:1], VERSION_1)):
                return Rejected(CloseReason.PROXY_HEADER, "")
            if first and not first.startswith(TLS_RECORD):
                return Rejected(CloseReason.PLAIN_ON_TLS_PORT, f"a first byte of 0x{first[:1].hex()}")
            host = NO_NAME if self._hellos is None else await self._hellos.peek(client)
            # Raises for a client that has gone meanwhile, which is told below like all that ends a handshake.
            tls = TlsSocket(client, self._context, None)
            tls.session.asked_host = host
        except (OSError, ValueError) as error:
            return explain_client(error)
        try:
            await self._carry_through(tls)
            return TlsTransport(tls)
        except (OSError, ValueError) as error:
            rejected = self._explain_host(tls.session, error) or explain_client(error)
            await _let_hear(client)
            return rejected

    async def _carry_through(self, tls: TlsSocket) -> None:
        while True:
            async with self._turns:
                # Whoever holds a turn lets the others be served before its step.
                await trio.lowlevel.checkpoint()
                try:
                    with names_unraised():
                        tls.do_handshake()
                except ssl.SSLWantReadError:
                    wait = trio.lowlevel.wait_readable
                except ssl.SSLWantWriteError:
                    wait = trio.lowlevel.wait_writable
                else:
                    return
            await wait(tls.raw)

    # -------- hosts

    def _hear_host(self, client: ssl.SSLObject | ssl.SSLSocket, _: str | None, __: ssl.SSLContext) -> int | None:
        """Called by OpenSSL in the middle of a handshake; gives the alert that ends it, None to go on.

        The host that it tells is that of the session, where an older one is taken up again.
        """
        assert self._names is not None, "who hears hosts has some"
        assert isinstance(client, TlsSession), "as `TlsSocket` has it"
        try:
            self._names.broker_id(client.asked_host)
        except UnknownHost:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        return None

    def _explain_host(self, client: TlsSession, error: Exception) -> Rejected | None:
        """Why the client gets no TLS, where that is for the host that it asks for."""
        if self._names is None or getattr(error, "reason", None) != _REFUSED_HERE:
            return None
        if client.asked_host is None:
            return Rejected(CloseReason.NO_HOST, "")
        return Rejected(CloseReason.UNKNOWN_HOST, repr(quote(client.asked_host)))


_REFUSED_HERE = "CALLBACK_FAILED"
"""OpenSSL's word for a callback that gave an alert."""


async def _first_bytes(client: socket.socket) -> bytes:
    """The first bytes that a client sends, as many as tell TLS from other protocols; they stay in the socket for
    whoever reads on. Empty where the client has gone.
    """
    while True:
        await trio.lowlevel.wait_readable(client)
        with suppress(BlockingIOError):
            return client.recv(len(VERSION_1), socket.MSG_PEEK)


async def _let_hear(client: socket.socket) -> None:
    """End the sending half and read on for a moment: a socket that is closed with something unread is reset.

    Then the alert that says why there is no TLS may be lost: a client of TLS 1.3 sends its first request before its
    certificate is looked at.
    """
    with suppress(OSError, ValueError), trio.move_on_after(ALERT_LINGER_S):
        client.shutdown(socket.SHUT_WR)
        for _ in range(ALERT_LINGER_READS_MAX):
            await trio.lowlevel.wait_readable(client)
            if not client.recv(READ_BYTES):
                return
