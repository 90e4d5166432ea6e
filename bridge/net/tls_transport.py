"""A connection inside TLS, as the protocol of a plain one, and as trio's streams for servers of other protocols."""

import socket
import ssl
from collections.abc import Callable

import trio

from bridge.net.tls_faults import tell_ending
from bridge.net.tls_socket import ONLY_KEYS, RECORD_BYTES_MAX, EmptyRecords, TlsSocket
from bridge.net.transport import PeerGone, SocketTransport, send_all

# ------------------------------------------------------------------------------------ tls transport
# A connection inside TLS, as the same protocol as a plain one: tried now, or waited for.
#
# Contexts come from `bridge.net.tls`.


WARM_BYTES = 3 * RECORD_BYTES_MAX
"""Records that are read and sent on together. Sixteen of them left the processor's caches before a plain socket took
them, which made that send the dearest step of all; and of four the last bytes are a packet of their own.
"""


class TlsTransport(SocketTransport):
    """Made by `shake_hands`; owns the socket.

    What was read of the socket is read to its end before anybody waits for it: so it is readable whenever there may be
    something to read, as a plain one is, but for what came with the handshake, which is there at the first read.
    """

    is_plain = False
    read_bytes = WARM_BYTES

    def __init__(self, tls: TlsSocket) -> None:
        super().__init__(tls.raw)
        self._tls = tls

    @property
    def asked_host(self) -> str | None:
        """The host that the client asked for (SNI), where that was listened to."""
        return self._tls.session.asked_host

    @property
    def socket(self) -> socket.socket:
        """The socket itself, for its addresses."""
        return self._socket

    @property
    def subject(self) -> str:
        """Whom the other end's certificate names; empty where it showed none."""
        return subject_of(self._tls.session)

    def recv_into(self, buffer: memoryview) -> int | None:
        """See Transport; fills the buffer as far as it goes, so that less than all means to wait for the socket."""
        try:
            return self._tls.recv_into(buffer)
        except EmptyRecords:
            self.fault = ONLY_KEYS
        except (OSError, ValueError) as error:
            self.fault = self.fault or tell_ending(error)
        return 0

    def try_send(self, data: bytes | memoryview) -> int:
        """See Transport; what was not taken must come again as it is, with or without more behind it."""
        view, sent = memoryview(data), 0
        try:
            while sent < len(view) and (taken := self._tls.send(view[sent:])):
                sent += taken
        except (OSError, ValueError) as error:
            self.fault = self.fault or tell_ending(error)
            raise PeerGone(str(error)) from error
        return sent

    def close(self) -> None:
        """See Transport; the other end is told that this is the end and not a cut."""
        if not self._closed:
            self._tls.say_goodbye()
        super().close()


async def shake_hands(sock: socket.socket, context: ssl.SSLContext, host: str | None) -> TlsTransport:
    """TLS on a connected socket, which it takes over: with `host` as its client, else as its server.

    Raises OSError, of which ssl.SSLError is one, and ValueError for a host that can't be asked for; then the socket is
    closed.
    """
    transport = None
    try:
        sock.setblocking(False)
        # Asked for before ssl does, which takes some that no DNS has.
        _ = host and host.encode("idna")
        tls = TlsSocket(sock, context, host)
        while transport is None:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                await trio.lowlevel.wait_readable(sock)
            except ssl.SSLWantWriteError:
                await trio.lowlevel.wait_writable(sock)
            else:
                # Which may fail, where the other end is gone by then.
                transport = TlsTransport(tls)
        return transport
    finally:
        if transport is None:
            trio.lowlevel.notify_closing(sock)
            sock.close()


_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_SPECIAL = frozenset(',+"\\<>;')


def subject_of(tls: ssl.SSLObject) -> str:
    """Of the certificate that was shown and is valid; empty where there is none."""
    certificate = tls.getpeercert()
    # Typeshed knows the shapes of all values at once only.
    subject = certificate.get("subject", ()) if certificate else ()
    return subject_text(tuple(tuple((str(pair[0]), str(pair[1])) for pair in part) for part in subject))


def subject_text(parts: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    """Its parts from the last to the first, the most particular first as a rule; several values of one by plus."""
    return ",".join(
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in one) for one in parts[::-1]
    )


def _escaped(value: str) -> str:
    text = "".join(f"\\{sign}" if sign in _SPECIAL else sign for sign in value)
    if text.startswith((" ", "#")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if text.endswith(" ") and len(value) > 1 else text


# --------------------------------------------------------------------------------------- tls stream
# A connection inside TLS as trio's streams are asked, for servers of other protocols than Kafka's.

READ_BYTES_MAX = 65_536


class TlsStream:
    """Owns a transport that has its TLS; it has what hypercorn asks of trio's SSLStream, too."""

    def __init__(self, transport: TlsTransport, tell_empty: Callable[[], None]) -> None:
        """`tell_empty` is called when the connection is ended because it sends records that hold nothing."""
        self._transport = transport
        self._tell_empty = tell_empty

    async def do_handshake(self) -> None:
        """It is done."""
        await trio.lowlevel.checkpoint()

    def selected_alpn_protocol(self) -> str | None:
        """None was asked for."""
        return None

    @property
    def transport_stream(self) -> "TlsStream":
        """What has the socket."""
        return self

    @property
    def socket(self) -> socket.socket:
        """For the addresses of both ends."""
        return self._transport.socket

    async def send_all(self, data: bytes) -> None:
        """Send all of it; raises BrokenResourceError where the other end is gone."""
        await trio.lowlevel.checkpoint()
        try:
            await send_all(self._transport, data)
        except PeerGone as gone:
            raise trio.BrokenResourceError(str(gone)) from None

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What came, at least one byte, or nothing at the end; raises ClosedResourceError once it is closed here."""
        await trio.lowlevel.checkpoint()
        buffer = memoryview(bytearray(min(max_bytes or READ_BYTES_MAX, READ_BYTES_MAX)))
        while (count := self._receive(buffer)) is None:
            try:
                await self._transport.wait_readable()
            except PeerGone as gone:
                raise trio.ClosedResourceError(str(gone)) from None
        return bytes(buffer[:count])

    def _receive(self, buffer: memoryview) -> int | None:
        if self._transport.fileno() is None:
            raise trio.ClosedResourceError
        count = self._transport.recv_into(buffer)
        if count == 0 and self._transport.fault == ONLY_KEYS:
            self._tell_empty()
        return count

    async def aclose(self) -> None:
        """Close both directions; harmless when closed."""
        self._transport.close()
        await trio.lowlevel.checkpoint()
