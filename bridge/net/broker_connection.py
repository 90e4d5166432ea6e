"""The bridge's own short talks with a broker: connect, one request, one answer.

It must not know what is asked or why.
"""

import socket

import trio

from bridge.net.descriptors import ADVICE, is_used_up
from bridge.net.transport import PeerGone, SocketTransport, Transport, send_all
from bridge.ports import BrokerUnreachable
from bridge.session.directory import Address

LENGTH_BYTES = 4
READ_BYTES = 64 * 1024
TLS_ALERT = b"\x15\x03"
"""How a TLS listener begins its answer to what is no TLS; as the length of an answer it would be 352 MB."""


class BrokerClosed(BrokerUnreachable):
    """The connection ended before the answer did."""


async def connect(address: Address, timeout_s: float) -> SocketTransport:
    """Open a connection. Raises BrokerUnreachable."""
    try:
        with trio.fail_after(timeout_s):
            stream = await trio.open_tcp_stream(address.host, address.port)
    except trio.TooSlowError as error:
        raise BrokerUnreachable(f"{address} did not take a connection within {timeout_s} s") from error
    except OSError as error:
        why = f"no file descriptor is left for it (EB-NET-025); {ADVICE}" if is_used_up(error) else error
        raise BrokerUnreachable(f"{address}: {why}") from error
    return SocketTransport(socket.socket(fileno=stream.socket.detach()))


async def exchange(transport: Transport, request: bytes, answer_bytes_max: int) -> bytes:
    """Send one request frame and return the one answer frame. Raises BrokerUnreachable."""
    try:
        await send_all(transport, request)
    except PeerGone as error:
        raise BrokerClosed(f"the broker ended the connection: {error}") from error
    start = await _receive(transport, LENGTH_BYTES)
    if start.startswith(TLS_ALERT):
        raise BrokerUnreachable(
            "EB-NET-043: the broker speaks TLS, which the bridge does not; name a listener without TLS in bootstrap"
        )
    size = int.from_bytes(start, "big", signed=True)
    if not 0 < size <= answer_bytes_max:
        raise BrokerUnreachable(
            f"an answer of {size} bytes, at most {answer_bytes_max} are read; is this a Kafka broker?"
        )
    return start + await _receive(transport, size)


async def _receive(transport: Transport, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        view = memoryview(bytearray(min(READ_BYTES, count - len(received))))
        got = transport.recv_into(view)
        if got is None:
            await transport.wait_readable()
        elif got == 0:
            raise BrokerClosed("the broker closed the connection instead of answering")
        else:
            received += view[:got]
    return bytes(received)
