"""Moves a known number of bytes from one socket to another inside the kernel, through a borrowed pipe.

It is used only where both ends have a file descriptor.
"""

import fcntl
import os
from collections.abc import Callable

import trio

from bridge.net.transport import PeerGone, Transport

PIPE_BYTES = 256 * 1024
"""Capacity asked for; the kernel may give less (64 KiB by default)."""
SPLICE_BYTES_MIN = 64 * 1024
"""Below this a copy is cheaper than two system calls and a pipe."""
_F_SETPIPE_SZ = 1031
_SPARE_PIPES_MAX = 64
FILLS_WITHOUT_CHECKPOINT = 16
"""A sender and a taker that are both quicker than this process keep it busy with one frame, of up to 2 GiB."""


class Pipe:
    """Both ends of one empty pipe."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self.capacity = fcntl.fcntl(self.writer, _F_SETPIPE_SZ, PIPE_BYTES)
        except PermissionError:
            # The user's pipe pages are used up (fs.pipe-user-pages-soft): the default size works too.
            self.capacity = 4096

    def close(self) -> None:
        """Close both ends."""
        os.close(self.reader)
        os.close(self.writer)


class Pipes:
    """Pipes to be borrowed while bytes flow, so that an idle connection has none."""

    def __init__(self, most: int = _SPARE_PIPES_MAX) -> None:
        """At most so many at once: whoever sends half of a large request, or takes half of an answer, keeps one for as
        long as it likes, and 64 of them had all descriptors that are kept for brokers, journal and admin API.
        """
        self._most = most
        self._lent = 0
        self._spare: list[Pipe] = []

    def borrow(self) -> Pipe:
        """An empty pipe."""
        pipe = self._spare.pop() if self._spare else Pipe()
        self._lent += 1
        return pipe

    def can_lend(self) -> bool:
        """Whether there is a pipe to borrow; without a file descriptor for one, bytes are copied instead."""
        if not self._spare:
            if self._lent >= self._most:
                return False
            try:
                self._spare.append(Pipe())
            except OSError:
                return False
        return True

    def give_back(self, pipe: Pipe, *, is_empty: bool) -> None:
        """Return a pipe; one that still holds bytes is closed."""
        self._lent -= 1
        if is_empty and len(self._spare) < _SPARE_PIPES_MAX:
            self._spare.append(pipe)
        else:
            pipe.close()

    def close(self) -> None:
        """Close all spare pipes."""
        while self._spare:
            self._spare.pop().close()


def can_splice(source: Transport, sink: Transport) -> bool:
    """Whether the kernel can move bytes between these two."""
    is_plain = source.is_plain and sink.is_plain
    return is_plain and hasattr(os, "splice") and source.fileno() is not None and sink.fileno() is not None


async def splice(
    pipes: Pipes, source: Transport, sink: Transport, count: int, progressed: Callable[[int], None]
) -> bool:
    """Move `count` bytes; False when the source ended first. `progressed` hears of every piece. Raises PeerGone."""
    pipe = pipes.borrow()
    in_pipe = turns = 0
    try:
        while count:
            in_pipe = await _fill(source, pipe, count)
            if in_pipe == 0:
                return False
            count -= in_pipe
            while in_pipe:
                moved = await _empty(sink, pipe, in_pipe, more=count > 0)
                in_pipe -= moved
                progressed(moved)
            turns += 1
            if turns % FILLS_WITHOUT_CHECKPOINT == 0:
                await trio.lowlevel.checkpoint()
        return True
    finally:
        pipes.give_back(pipe, is_empty=in_pipe == 0)


async def _fill(source: Transport, pipe: Pipe, count: int) -> int:
    while True:
        try:
            return os.splice(
                _open(source), pipe.writer, min(count, pipe.capacity), flags=os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
            )
        except BlockingIOError:
            await source.wait_readable()
        except OSError:
            # Reset, or timed out: as with recv_into, an end.
            return 0


async def _empty(sink: Transport, pipe: Pipe, count: int, *, more: bool) -> int:
    flags = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE | (os.SPLICE_F_MORE if more else 0)
    while True:
        try:
            return os.splice(pipe.reader, _open(sink), count, flags=flags)
        except BlockingIOError:
            await sink.wait_writable()
        except OSError as error:
            raise PeerGone(str(error)) from error


def _open(transport: Transport) -> int:
    descriptor = transport.fileno()
    if descriptor is None:
        raise PeerGone("the connection was closed here")
    return descriptor
