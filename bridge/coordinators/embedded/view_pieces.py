"""Requests that show many groups are answered in pieces: between two of them everybody else has a turn."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bridge.coordinators.arrivals import request_fields
from bridge.wire.codec.registry import error_reply
from translators.dialects.admin import DescribeGroups
from translators.dialects.consumer import ConsumerGroupDescribe
from translators.dialects.errors import ErrorCode
from translators.dialects.messages import GroupReply

PIECE_MEMBERS = 500
"""To look at so many, of ten partitions each, costs some 15 ms in which nobody else is served."""

LOG = logging.getLogger("epochbridge.coordinators")
Describe = DescribeGroups | ConsumerGroupDescribe
Look = Iterator[int]
"""Looks at one group with each step, and gives how many members that has; what is to come of it comes with the last."""


@dataclass(slots=True)
class _Looking:
    """A request whose groups are not all looked at yet."""

    connection: int
    look: Look
    request: Describe
    answer: Callable[[GroupReply], None]


class ViewPieces:
    """Takes turns among requests; `wake`, to be set before any is begun, has `go_on` called soon.

    One request may name 10,000 groups, and all of their members were looked at before it was cut to what an answer has
    room for: three quarters of a second for 25,000.
    """

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._waiting = deque[_Looking]()

    def begin(self, connection: int, look: Look, request: Describe, answer: Callable[[GroupReply], None]) -> None:
        """Look at the groups of a request; few at once. What goes wrong at once is the caller's to tell."""
        if _is_left(look):
            self._waiting.append(_Looking(connection, look, request, answer))
            self.wake()

    def go_on(self) -> None:
        """Look at the next piece of one request; is called again for the others."""
        if not self._waiting:
            return
        one = self._waiting.popleft()
        try:
            if _is_left(one.look):
                self._waiting.append(one)
        except Exception:
            told = "EB-GROUP-002: %.2000r could not be answered; please report this"
            LOG.exception(told, one.request, extra=request_fields(one.request))
            one.answer(error_reply(one.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        if self._waiting:
            self.wake()

    def forget(self, connection: int) -> None:
        """The connection is gone: nobody waits for what it asked."""
        if self._waiting:
            self._waiting = deque(one for one in self._waiting if one.connection != connection)


def _is_left(look: Look) -> bool:
    """Look at a piece; whether there are groups left."""
    room = PIECE_MEMBERS
    for members in look:
        room -= 1 + members
        if room <= 0:
            return True
    return False
