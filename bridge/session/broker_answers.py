"""Cuts what a broker answers into answers, in the order in which they were asked for."""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from bridge.session.contracts import Watch
from bridge.session.outbox import Slot
from bridge.wire.frames import CORRELATION_ID_BYTES, LENGTH_BYTES

_START = Struct(">ii")
ANSWER_BYTES_MAX = (1 << 31) - 1


class Expected(NamedTuple):
    """One answer to come: streamed into `slot`, or held whole and handed to `take` (None: the broker was lost)."""

    correlation_id: int
    slot: Slot | None
    take: Callable[[bytes | None], None] | None = None
    watch: Watch | None = None
    """Sees the first piece of a streamed answer."""


class Streamed(NamedTuple):
    """Bytes of a streamed answer; `left` of it are to come."""

    data: memoryview
    left: int


class Whole(NamedTuple):
    """A held answer, complete with its length prefix, and what it was expected for."""

    expected: Expected
    frame: bytes


class Confused(NamedTuple):
    """Bytes that can't be the next answer, and what was seen."""

    detail: str
    too_large: bool = False


AnswerCut = Streamed | Whole | Confused


class AnswerCutter:
    """Cuts the bytes of one broker connection; `position` says how far into the last view it has read."""

    def __init__(self, held_bytes_max: int) -> None:
        self.position = 0
        self._held_max = held_bytes_max
        self._expected: list[Expected] = []  # an empty deque has 0.7 KiB, and most connections are idle
        self._held = bytearray()
        self._wanted = _START.size
        self._left = 0

    @property
    def bytes_held(self) -> int:
        """Bytes of the answer that is being collected."""
        return len(self._held)

    @property
    def bytes_to_pass_on(self) -> int:
        """Bytes of the current streamed answer that are still to come."""
        return self._left

    @property
    def next_expected(self) -> Expected | None:
        """The answer that comes next, or None when nothing was asked."""
        return self._expected[0] if self._expected else None

    @property
    def is_held_next(self) -> bool:
        """Whether what comes next is held whole, so that it need not wait for its turn; also if nothing was asked."""
        return not self._left and (not self._expected or self._expected[0].take is not None)

    @property
    def awaits_held(self) -> bool:
        """Whether an answer is to come that is held whole for whoever asked, rather than streamed to the client."""
        return any(expected.take is not None for expected in self._expected)

    def expect(self, expected: Expected) -> None:
        """An answer to this will come after all that were expected before."""
        self._expected.append(expected)

    def pass_on(self, count: int) -> None:
        """Say that `count` bytes of the current answer went by outside (spliced); ends the answer at 0 left."""
        self._left -= count
        if self._left == 0:
            del self._expected[0]

    def give_up(self) -> tuple[Expected, ...]:
        """The broker is lost: everything that will not be answered any more, oldest first."""
        lost = tuple(self._expected)
        self._expected.clear()
        self._held = bytearray()
        self._left = 0
        return lost

    def cut(self, view: memoryview, position: int) -> AnswerCut | None:
        """The next piece of `view` from `position` on, or None when all of it is read and more is needed.

        A streamed answer must not be cut before it may leave: see `next_expected`.
        """
        if self._left:
            return self._passing(view, position)
        if position >= len(view):
            self.position = position
            return None
        if not self._expected:
            return Confused(f"{len(view) - position} bytes came unasked")
        return self._start(view, position)

    def cut_alone(self, view: memoryview) -> Callable[[bytes | None], None] | None:
        """Who takes the view, where it is one answer that is held whole, and nothing else: `cut` would give it so. For
        anything else None, and nothing has happened.
        """
        if self._left or self._held or not self._expected or len(view) < _START.size:
            return None
        expected = self._expected[0]
        size, correlation_id = _START.unpack_from(view)
        is_right = correlation_id == expected.correlation_id and CORRELATION_ID_BYTES <= size <= self._held_max
        if expected.take is None or size + LENGTH_BYTES != len(view) or not is_right:
            return None
        del self._expected[0]
        return expected.take

    def _passing(self, view: memoryview, position: int) -> Streamed | None:
        end = min(len(view), position + self._left)
        self.position = end
        if end == position:
            return None
        self.pass_on(end - position)
        return Streamed(view[position:end], self._left)

    def _start(self, view: memoryview, position: int) -> AnswerCut | None:
        held = self._held
        expected = self._expected[0]
        if not held and len(view) - position >= _START.size and expected.take is None:
            size, correlation_id = _START.unpack_from(view, position)
            wrong = self._wrong(size, correlation_id, expected)
            if wrong is not None:
                return wrong
            self._left = size + LENGTH_BYTES
            if expected.watch is not None:
                expected.watch(view[position : position + self._left])
            return self._passing(view, position)
        return self._collect(view, position, expected)

    def _collect(self, view: memoryview, position: int, expected: Expected) -> AnswerCut | None:
        held = self._held
        while True:
            end = min(len(view), position + self._wanted - len(held))
            held += view[position:end]
            position = end
            if len(held) < self._wanted:
                self.position = position
                return None
            if self._wanted == _START.size:
                size, correlation_id = _START.unpack_from(held)
                wrong = self._wrong(size, correlation_id, expected)
                if wrong is not None:
                    return wrong
                if expected.take is None:
                    return self._begin_passing(held, position, size)
                self._wanted = size + LENGTH_BYTES
            if len(held) == self._wanted:
                self._held, self._wanted = bytearray(), _START.size
                del self._expected[0]
                self.position = position
                return Whole(expected, bytes(held))

    def _begin_passing(self, held: bytearray, position: int, size: int) -> Streamed:
        self._held, self._wanted = bytearray(), _START.size
        self.position = position
        self._left = size + LENGTH_BYTES
        self.pass_on(len(held))
        return Streamed(memoryview(held), self._left)

    def _wrong(self, size: int, correlation_id: int, expected: Expected) -> Confused | None:
        if correlation_id != expected.correlation_id or not CORRELATION_ID_BYTES <= size <= ANSWER_BYTES_MAX:
            return Confused(f"{size} bytes for {correlation_id} came, an answer to {expected.correlation_id} is due")
        if expected.take is not None and size > self._held_max:
            return Confused(f"an answer of {size} bytes, at most {self._held_max} are held", too_large=True)
        return None
