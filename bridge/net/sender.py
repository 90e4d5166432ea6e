"""Sends to one transport without waiting, and drains in the background what the other end did not take at once.

It must not know frames; whoever fills it looks at `unsent_bytes` first, so that it holds at most one piece.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from bridge.net.transport import PeerGone, Transport
from bridge.supervision import SENDER, Task


class Spawn(Protocol):
    """Runs work beside, under a guard: whatever it raises ends one connection."""

    def __call__(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Start it."""
        ...


class Sender:
    """The sending half of one transport; `on_drained` and `on_gone` are called without a task switch."""

    __slots__ = ("_is_gone", "_on_drained", "_on_gone", "_spawn", "_transport", "_unsent")

    def __init__(
        self, transport: Transport, spawn: Spawn, on_drained: Callable[[], None], on_gone: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._spawn = spawn
        self._on_drained = on_drained
        self._on_gone = on_gone
        self._unsent = bytearray()
        self._is_gone = False

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the other end has not taken yet."""
        return len(self._unsent)

    def send_nowait(self, data: bytes | memoryview) -> None:
        """Send, keeping a copy of what can't leave now; nothing once the other end is gone."""
        if self._is_gone:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._transport.try_send(data)
        except PeerGone:
            self._go()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._spawn(SENDER, self._drain)

    def stop(self) -> None:
        """The transport is closed here: nothing is sent any more, and nobody is told that the other end is gone."""
        self._is_gone = True
        self._unsent = bytearray()

    async def _drain(self) -> None:
        try:
            while self._unsent:
                await self._transport.wait_writable()
                with memoryview(self._unsent) as view:
                    sent = self._transport.try_send(view)
                del self._unsent[:sent]
        except PeerGone:
            self._go()
            return
        if self._is_gone:
            return
        # What grew for one slow moment must not stay with an idle connection.
        self._unsent = bytearray()
        self._on_drained()

    def _go(self) -> None:
        if not self._is_gone:
            self.stop()
            self._on_gone()
