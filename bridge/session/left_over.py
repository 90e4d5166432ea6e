"""What of a client's bytes has been read and can't be dealt with yet: the piece that waits, and the bytes behind it."""

from typing import NamedTuple

from bridge.session.client_session import Decision, Divided, Submitted
from bridge.session.requests import Cut, Rejected


class Waiting(NamedTuple):
    """A piece that can't be dealt with before something changes; `decision` is None until it is made, `came_ns` is when
    a request came.
    """

    cut: Cut
    decision: Decision | None
    came_ns: int = 0


class LeftOver(NamedTuple):
    """A piece that must wait, None where only others are to have a turn, and the bytes behind it, which are nobody
    else's.
    """

    waiting: Waiting | None
    rest: memoryview

    @property
    def bytes_held(self) -> int:
        """What is kept; a request that is let in counts with what was read of it (`Outbox.keep`)."""
        waiting = self.waiting
        if waiting is None or isinstance(waiting.cut, Rejected) or isinstance(waiting.decision, (Submitted, Divided)):
            return len(self.rest)
        return len(self.rest) + len(waiting.cut.data)


def left_over_of(waiting: Waiting | None, rest: memoryview, *, is_shared: bool) -> LeftOver:
    """What is left of received bytes; a shared view is copied."""
    if not is_shared:
        return LeftOver(waiting, rest)
    kept = None if waiting is None else waiting._replace(cut=_kept(waiting.cut))
    return LeftOver(kept, memoryview(bytes(rest)))


def _kept(cut: Cut) -> Cut:
    """The same piece with bytes of its own."""
    return cut if isinstance(cut, Rejected) else cut._replace(data=memoryview(bytes(cut.data)))
