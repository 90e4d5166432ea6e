"""Waits for many sockets in one task and has each served on the spot, so that small requests cost no task switch.

It must not know what is served; whoever can't be served without a wait is woken and goes on by itself.
"""

import select
from collections.abc import Callable

import trio

GUESTS_PER_TURN = 64
"""How many sockets are served before other tasks have their turn."""


class _Guest:
    """Somebody who waits for a socket; `failure` is what `serve` raised."""

    __slots__ = ("failure", "is_called", "serve")

    def __init__(self, serve: Callable[[], bool]) -> None:
        self.serve = serve
        self.is_called = trio.Event()
        self.failure: Exception | None = None


class Doorman:
    """One epoll set, itself waited for by trio: a nested set keeps cancellation and deadlines as they are."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._guests: dict[int, _Guest] = {}

    async def wait(self, descriptor: int, serve: Callable[[], bool]) -> None:
        """Return when the socket is readable and `serve` said that it can't go on without its task.

        `serve` is called, without waiting, each time that there is something to read; it gives False to be called no
        more. What it raises is raised here. Without epoll this returns as soon as there is something to read.
        """
        if self._epoll is None:
            await trio.lowlevel.wait_readable(descriptor)
            return
        guest = self._guests[descriptor] = _Guest(serve)
        self._epoll.register(descriptor, select.EPOLLIN)
        try:
            await guest.is_called.wait()
        finally:
            self._dismiss(descriptor)
        if guest.failure is not None:
            raise guest.failure

    async def run(self) -> None:
        """Serve until cancelled."""
        if self._epoll is None:
            return
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            for descriptor, _ in self._epoll.poll(0, GUESTS_PER_TURN):
                guest = self._guests.get(descriptor)
                if guest is not None and not self._serve(guest):
                    self._dismiss(descriptor)
                    guest.is_called.set()

    def close(self) -> None:
        """Give back the epoll set; nobody may wait any more."""
        if self._epoll is not None:
            self._epoll.close()

    @staticmethod
    def _serve(guest: _Guest) -> bool:
        try:
            return guest.serve()
        except Exception as failure:  # noqa: BLE001 - it belongs to the guest's own task, which decides what it means
            guest.failure = failure
            return False

    def _dismiss(self, descriptor: int) -> None:
        if self._epoll is not None and not self._epoll.closed and self._guests.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)
