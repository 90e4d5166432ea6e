"""File descriptors: how many there may be, how many clients that is enough for, and what to do when none is left.

It must not know what a connection is for.
"""

import errno
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import suppress

from bridge.net.house import LOG

KEPT = 128
"""Descriptors that clients may not have: for the bridge's own questions, listeners, the journal, the admin API."""
PER_CLIENT = 2
"""A client's own connection, and the one to its broker."""
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


def clients_max(wanted: int) -> int:
    """How many clients there may be at once with these descriptors, at most `wanted`."""
    return min(wanted, max(1, (limit() - KEPT) // PER_CLIENT))


def is_used_up(problem: BaseException) -> bool:
    """Whether this error came about because no descriptor was left, here or in the whole system."""
    return any(isinstance(one, OSError) and one.errno in _USED_UP for one in _causes(problem))


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and the members of groups among them."""
    if problem is not None:
        yield problem
        yield from _causes(problem.__cause__)
        if isinstance(problem, BaseExceptionGroup):
            for one in problem.exceptions:
                yield from _causes(one)


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
