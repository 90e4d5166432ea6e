"""Which host a client asks for, read from its hello by OpenSSL before the handshake itself.

In TLS 1.2 a session that is taken up again has the host of its first handshake for OpenSSL, whatever is asked for now:
who came to another broker with it would be served by the first.
"""

import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import trio

NO_NAME = "a name that can't be read"
"""What stands for a host that is no ASCII, or has not been read yet."""
HELLO_BYTES_MAX = 65_536
"""Those of browsers have some 2 kB, with keys for quantum computers and a ticket."""
LOOKS_MAX = 32
"""Each begins anew with all that has come. The first record is waited for whole, and a lawful hello has few records."""
RECORD_HEADER_BYTES = 5
RECORD_BYTES_MAX = 16_384
"""What TLS lets a record hold that isn't encrypted."""
HANDSHAKE = 22

STILL_MAX = 20
STILL_S = 0.05
"""How often is looked whether more of a hello has come, where its socket is said to be readable and nothing has: it
ended there, or the socket is of a kind that knows no least number of bytes.
"""


class PartialHello(Exception):
    """There is more to come."""


class _Hearing(ssl.SSLObject):
    """The server's side of a handshake that is not gone on with."""

    host: str | None = NO_NAME


def _hear(hello: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> int:
    assert isinstance(hello, _Hearing), "as the context has it"
    hello.host = name
    # All is known: to go on would sign something.
    return ssl.ALERT_DESCRIPTION_USER_CANCELLED


class HelloReader:
    """Has a context of its own, which gives out no sessions: so it is always the hello that names the host."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.sslobject_class = _Hearing
        self._context.sni_callback = _hear

    def read(self, data: bytes) -> str | None:
        """The host in the first bytes of a client; None where it asks for none, NO_NAME where that can't be read.

        Raises PartialHello.
        """
        received = ssl.MemoryBIO()
        received.write(data)
        hello = self._context.wrap_bio(received, ssl.MemoryBIO(), server_side=True)
        assert isinstance(hello, _Hearing), "as the context has it"
        try:
            with names_unraised():
                hello.do_handshake()
        except ssl.SSLWantReadError:
            raise PartialHello from None
        except ssl.SSLError:
            # It was heard, or is wrong in a way that the handshake itself will tell.
            pass
        return hello.host

    async def peek(self, client: socket.socket) -> str | None:
        """The same of a socket, as soon as it has come; the hello is left there, and the caller sets the deadline."""
        seen_bytes, still, looks = 0, 0, 0
        try:
            while seen_bytes < HELLO_BYTES_MAX and still < STILL_MAX and looks < LOOKS_MAX:
                data = client.recv(HELLO_BYTES_MAX, socket.MSG_PEEK)
                if len(data) == seen_bytes:
                    still += 1
                    await trio.sleep(STILL_S)
                    continue
                seen_bytes, looks = len(data), looks + 1
                needed_bytes = first_record_bytes(data)
                if seen_bytes >= needed_bytes:
                    with suppress(PartialHello):
                        return self.read(data)
                # It is readable as it is: only more counts, and no more than the limit is waited for.
                least_bytes = min(max(needed_bytes, seen_bytes + 1), HELLO_BYTES_MAX)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least_bytes)
                await trio.lowlevel.wait_readable(client)
            return NO_NAME
        finally:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def first_record_bytes(data: bytes) -> int:
    """How many bytes must have come to be looked at: the first record, or none where none begins as a hello does."""
    if data[:1] != bytes([HANDSHAKE]):
        return 0
    if len(data) < RECORD_HEADER_BYTES:
        return RECORD_HEADER_BYTES
    size = int.from_bytes(data[RECORD_HEADER_BYTES - 2 : RECORD_HEADER_BYTES])
    return RECORD_HEADER_BYTES + size if size <= RECORD_BYTES_MAX else 0


@contextmanager
def names_unraised() -> Iterator[None]:
    """A host that is no ASCII is refused by Python's ssl itself, which would print a traceback for each of them."""
    before = sys.unraisablehook

    def tell(unraisable: "sys.UnraisableHookArgs") -> None:
        if not isinstance(unraisable.exc_value, UnicodeDecodeError):
            before(unraisable)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = before
