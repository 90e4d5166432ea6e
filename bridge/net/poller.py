"""Waits for many sockets in one task and has each served on the spot, so that small requests cost no task switch.

Whoever can't be served without a wait is woken and goes on by itself.
"""

import select
from collections.abc import Callable

import trio

from bridge.net.clock import now_ns

SOCKETS_PER_TURN = 64
"""How many sockets are served before other tasks have their turn."""
TURN_NS = 10_000_000
"""The same by what they took: one may cost as much as all others, for instance with new keys (decision 710)."""


class _Waiter:
    """Somebody who waits for a socket; `failure` is what `serve` raised."""

    __slots__ = ("_descriptor", "_poller", "failure", "serve", "task")

    def __init__(self, poller: "Poller", descriptor: int, serve: Callable[[], bool]) -> None:
        self.serve = serve
        self.task = trio.lowlevel.current_task()
        self.failure: Exception | None = None
        self._descriptor = descriptor
        self._poller = poller

    def abort(self, _: object) -> trio.lowlevel.Abort:
        """The task that waits is cancelled."""
        self._poller.dismiss(self._descriptor)
        return trio.lowlevel.Abort.SUCCEEDED


class Poller:
    """One epoll set, itself waited for by trio: a nested set keeps cancellation and deadlines as they are."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._waiters: dict[int, _Waiter] = {}

    async def wait(self, descriptor: int, serve: Callable[[], bool]) -> None:
        """Return when the socket is readable and `serve` said that it can't go on without its task.

        `serve` is called, without waiting, each time that there is something to read; it gives False to be called no
        more. What it raises is raised here. Without epoll this returns as soon as there is something to read.
        """
        if self._epoll is None:
            await trio.lowlevel.wait_readable(descriptor)
            return
        waiter = self._waiters[descriptor] = _Waiter(self, descriptor, serve)
        self._epoll.register(descriptor, select.EPOLLIN)
        # A bare park instead of an Event, which would cost every idle connection 300 bytes.
        await trio.lowlevel.wait_task_rescheduled(waiter.abort)
        if waiter.failure is not None:
            raise waiter.failure

    def release(self, descriptor: int) -> None:
        """Let whoever waits for this socket go on; to be said before the socket is closed under somebody's wait."""
        waiter = self._waiters.get(descriptor)
        if waiter is not None:
            self._call(descriptor, waiter)

    async def run(self) -> None:
        """Serve until cancelled."""
        if self._epoll is None:
            return
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            left, began_ns = SOCKETS_PER_TURN, now_ns()
            # What came meanwhile is served in the same turn: a pass through trio costs more than a second look.
            while left > 0 and (ready := self._epoll.poll(0, left)):
                left -= len(ready)
                for descriptor, _ in ready:
                    waiter = self._waiters.get(descriptor)
                    # What is served may close its own socket, which releases it.
                    if waiter is not None and not self._serve(waiter) and self._waiters.get(descriptor) is waiter:
                        self._call(descriptor, waiter)
                    if now_ns() - began_ns >= TURN_NS:
                        # The rest comes behind it: asked anew, the same sockets would come first again.
                        await trio.lowlevel.checkpoint()
                        left, began_ns = 0, now_ns()

    def close(self) -> None:
        """Give back the epoll set; nobody may wait any more."""
        if self._epoll is not None:
            self._epoll.close()

    @staticmethod
    def _serve(waiter: _Waiter) -> bool:
        try:
            return waiter.serve()
        except Exception as failure:  # noqa: BLE001 - it belongs to the waiter's own task, which decides what it means
            waiter.failure = failure
            return False

    def _call(self, descriptor: int, waiter: _Waiter) -> None:
        self.dismiss(descriptor)
        trio.lowlevel.reschedule(waiter.task)

    def dismiss(self, descriptor: int) -> None:
        """Look at this socket no more, if anybody did; whoever waits for it is not told."""
        if self._epoll is not None and not self._epoll.closed and self._waiters.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)
