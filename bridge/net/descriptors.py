"""How many descriptors this process may have, what of them is whose, and what is done when none is left."""

import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

from bridge.net.shared import LOG

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
    return (KEPT_FOR_PIPES + _left_over(wanted) - rounds_part(wanted)) // 2


def rounds_part(wanted: int) -> int:
    """How many descriptors are for rounds that moves play, and never for one of `wanted` clients."""
    return _left_over(wanted) // 2


def _left_over(wanted: int) -> int:
    """What neither clients may have nor programs that ask the admin API."""
    return max(0, limit() - KEPT - PER_CLIENT * clients_max(wanted) - ADMIN_LEFT_OVER)


class FreeDescriptors:
    """Descriptors of clients, and of the connections that rounds have for members, which take the place of clients.

    A round of 1,000 members took 1,000 that nobody counted, and with them those of the journal and of the bridge's own
    questions.
    """

    def __init__(self, wanted: int, clients: Callable[[], int], brokers: Callable[[], int]) -> None:
        self._wanted = wanted
        self._clients = clients
        self._brokers = brokers
        self._reserved = 0

    @property
    def clients_max(self) -> int:
        """How many clients there may be at once, beside the rounds that are under way."""
        beyond = max(0, self._reserved - rounds_part(self._wanted))
        return clients_max(self._wanted, self._brokers()) - -(-beyond // PER_CLIENT)

    def reserve(self, connections: int) -> int:
        """Keep room for so many connections of rounds, all or none: gives for how many of them there is none."""
        unused = PER_CLIENT * (clients_max(self._wanted, self._brokers()) - self._clients())
        lacking = max(0, connections - max(0, rounds_part(self._wanted) + unused - self._reserved))
        if not lacking:
            self._reserved += connections
        return lacking

    def give_back(self, connections: int) -> None:
        """These are closed, or will not be opened."""
        self._reserved -= connections


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
