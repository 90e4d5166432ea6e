"""A connection inside TLS as trio's streams are asked, for servers of other protocols than Kafka's."""

import ssl

import trio

from bridge.net.tls_transport import TlsTransport
from bridge.net.transport import PeerGone, send_all

READ_BYTES_MAX = 65_536


class TlsStream:
    """Owns a transport that has its TLS; it has what hypercorn asks of trio's SSLStream, too."""

    def __init__(self, transport: TlsTransport) -> None:
        self._transport = transport

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
    def socket(self) -> ssl.SSLSocket:
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
        return self._transport.recv_into(buffer)

    async def aclose(self) -> None:
        """Close both directions; harmless when closed."""
        self._transport.close()
        await trio.lowlevel.checkpoint()
