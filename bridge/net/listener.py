"""Listening sockets: opened at once or not at all, and accepted from until cancelled."""

import errno
import socket
from collections.abc import Callable

import trio

from bridge.session.broker_addresses import Address

BACKLOG = 4096
"""Enough for thousands of clients at once; the kernel caps it at net.core.somaxconn."""
PORT_MAX = 65_535
ACCEPTS_PER_TURN = 64
"""So many clients of a crowd are taken in before everybody else has a turn."""
PAUSE_S = 0.1
"""How long nobody is accepted where the process has no descriptor left: one of the others has to end first."""


class CannotListen(Exception):
    """The address can't be listened on; it may be taken, not ours, or need rights."""

    code = "EB-NET-020"


def listen(address: Address) -> socket.socket:
    """A listening, non-blocking socket; port 0 takes any free one. Raises CannotListen."""
    if address.port > PORT_MAX:
        raise CannotListen(
            f"{CannotListen.code}: can't listen on {address}: ports end at {PORT_MAX}; let those of brokers "
            "begin lower (listen.ports.first) or give them (listen.ports)"
        )
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        sock = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        # UnicodeError for a name that can't be asked for at all: two dots in a row, a word of more than 63 signs.
        raise CannotListen(
            f"{CannotListen.code}: can't listen on {address}: {error}; name an address of this machine in listen"
        ) from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address.host, address.port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise CannotListen(f"{CannotListen.code}: can't listen on {address}: {error}; {_advice(error)}") from error
    return sock


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            "no interface of this machine has that address: name one of its own in listen; what clients are told is "
            "advertised.host"
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return "this user may not have that port: choose one above 1023, or allow it (CAP_NET_BIND_SERVICE)"
    return "most likely another process has the port, choose another or stop it"


def bound_port(sock: socket.socket) -> int:
    """The port that a listening socket got."""
    port: int = sock.getsockname()[1]
    return port


async def accept_from(
    sock: socket.socket, take: Callable[[socket.socket, str], None], refuse: Callable[[socket.socket, OSError], bool]
) -> None:
    """Hand every new connection with its peer's host to `take`, until cancelled; the socket is the caller's.

    `refuse` hears of a connection that could not be accepted, and says whether it has dealt with it.
    """
    while True:
        await trio.lowlevel.wait_readable(sock)
        for _ in range(ACCEPTS_PER_TURN):
            try:
                client, peer = sock.accept()
            except BlockingIOError:
                break
            except ConnectionError:
                # This client hung up (a reset) while it waited to be accepted.
                continue
            except OSError as error:
                if refuse(sock, error):
                    continue
                await trio.sleep(PAUSE_S)
                break
            try:
                take(client, str(peer[0]))
            except Exception:
                client.close()
                raise
