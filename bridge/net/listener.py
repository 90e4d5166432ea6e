"""Listening sockets: opened at once or not at all, and accepted from until cancelled, as far as descriptors go."""

import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

import trio

from bridge.net.shared import LOG
from bridge.session.broker_addresses import Address

KEPT = 128
"""Descriptors that clients may not have: for the bridge's own questions, listeners, the journal, the admin API."""
KEPT_FOR_ADMIN = 64
"""Of these, those that programs which ask the admin API may have; what no client can have is theirs, too."""
KEPT_FOR_PIPES = 32
"""Of these, those by which large requests and answers go through inside the kernel; each such pipe takes two."""
ADMIN_LEFT_OVER = 192
"""Of what no client can have, so much is for programs before it is for pipes."""
PER_CLIENT = 2
"""A client's own connection, and the one to its broker."""
BROKERS_KEPT, PER_BROKER = 8, 2
"""Of so many brokers the listener, and the connection for the bridge's own questions, are among those that are kept;
of further ones they are taken from what clients may have: a cluster of 100 had more listeners than are kept for all.
"""
_USED_UP = frozenset({errno.EMFILE, errno.ENFILE})
ADVICE = "raise the limit of open files (ulimit -n, LimitNOFILE of systemd)"


def raise_limit() -> int:
    """Take as many descriptors as this process may; gives how many that are.

    Most systems start programs at 1,024 for the sake of select(), which nothing here uses.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as problem:
            LOG.info("the limit of open files stays at %d: %s", soft, problem)
    return limit()


def limit() -> int:
    """How many descriptors this process may have at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 30


def clients_max(wanted: int, brokers: int = 0) -> int:
    """How many clients there may be at once with these descriptors, at most `wanted`, beside so many brokers."""
    taken = PER_BROKER * max(0, brokers - BROKERS_KEPT)
    return min(wanted, max(1, (limit() - KEPT - taken) // PER_CLIENT))


def tell_clients_max(wanted: int) -> None:
    """Say at the start where there can't be as many clients as are wanted."""
    if (served := clients_max(wanted)) < wanted:
        told = "EB-NET-024: %d clients are served at once, not %d (limits.connections.max), of %d descriptors; %s"
        LOG.info(told, served, wanted, limit(), ADVICE)


def pipes_max(wanted: int) -> int:
    """How many pipes there may be at once, as far as descriptors go, beside `wanted` clients."""
    left_over = limit() - KEPT - PER_CLIENT * clients_max(wanted) - ADMIN_LEFT_OVER
    return (KEPT_FOR_PIPES + max(0, left_over)) // 2


def admin_connections_max(wanted: int) -> int:
    """How many programs may ask the admin API at once, as far as descriptors go, beside `wanted` clients.

    They were let have 256 of the 128 that are kept, and then no broker could be asked and no journal be opened anew.
    """
    return KEPT_FOR_ADMIN + max(0, limit() - KEPT - PER_CLIENT * clients_max(wanted))


def is_used_up(problem: BaseException) -> bool:
    """Whether this error came about because no descriptor was left, here or in the whole system."""
    return any(isinstance(one, OSError) and one.errno in _USED_UP for one in causes(problem))


def causes(problem: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and the members of groups among them."""
    if problem is not None:
        yield problem
        yield from causes(problem.__cause__)
        if isinstance(problem, BaseExceptionGroup):
            for one in problem.exceptions:
                yield from causes(one)


class Spare:
    """One descriptor that is kept so that somebody can be refused when no other is left.

    Without it clients would wait in the kernel's queue, connected and without an answer.
    """

    def __init__(self) -> None:
        self._descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def refuse_one(self, listening: socket.socket) -> str | None:
        """Accept the next connection and close it; gives the host that it came from, None if there was none."""
        self.close()
        try:
            client, peer = listening.accept()
        except OSError:
            return None
        else:
            client.close()
            return str(peer[0])
        finally:
            with suppress(OSError):
                self._descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give it back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


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
