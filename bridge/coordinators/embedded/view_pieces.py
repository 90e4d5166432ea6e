"""Requests that show many groups are answered in pieces: between two of them everybody else has a turn."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from bridge.coordinators.arrivals import request_fields
from bridge.coordinators.by_connection import Line
from bridge.wire.codec.registry import error_reply
from translators.dialects.admin import DescribeGroups, ListGroups
from translators.dialects.consumer import ConsumerGroupDescribe
from translators.dialects.errors import ErrorCode
from translators.dialects.messages import GroupReply

PIECE_MEMBERS = 500
"""To look at so many, of ten partitions each, costs some 15 ms in which nobody else is served."""

LOG = logging.getLogger("epochbridge.coordinators")
Describe = DescribeGroups | ConsumerGroupDescribe | ListGroups
Look = Iterator[int]
"""Looks at one group with each step, or at some members of a large one, and gives how many members these are; what is
to come of it comes with the last.
"""
STEP_MEMBERS = 100
MemberT = TypeVar("MemberT")


def drawn(members: Iterable[MemberT], take: Callable[[MemberT], object]) -> Look:
    """Draw the members of a group, or groups of a list, a step for each hundred."""
    number = 0
    for number, member in enumerate(members, 1):
        take(member)
        if number % STEP_MEMBERS == 0:
            yield STEP_MEMBERS
    yield number % STEP_MEMBERS


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
    room for: three quarters of a second for 25,000. So may be one group of 10,000 members.
    """

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._waiting: Line[_Looking] = Line(lambda one: one.connection)
        self._spent = 0
        """How many members and groups were looked at since others had a turn."""

    def begin(self, connection: int, look: Look, request: Describe, answer: Callable[[GroupReply], None]) -> None:
        """Look at the groups of a request; few at once, and few of all that come at once: 200 requests of 30 bytes come
        in one turn. What goes wrong at once is the caller's to tell.
        """
        if self._spent >= PIECE_MEMBERS or self._is_left(look):
            self._waiting.append(_Looking(connection, look, request, answer))
            self.wake()

    def go_on(self) -> None:
        """Look at the next piece, of one request or of several small ones; is called again for the others."""
        self._spent = 0
        while self._waiting and self._spent < PIECE_MEMBERS:
            self._look_further(self._waiting.popleft())
        if self._waiting:
            self.wake()

    def _look_further(self, one: _Looking) -> None:
        try:
            if self._is_left(one.look):
                self._waiting.append(one)
        except Exception:
            told = "EB-GROUP-002: %.2000r could not be answered; please report this"
            LOG.exception(told, one.request, extra=request_fields(one.request))
            one.answer(error_reply(one.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def forget(self, connection: int) -> None:
        """The connection is gone: nobody waits for what it asked."""
        self._waiting.forget(connection)

    def _is_left(self, look: Look) -> bool:
        """Look on as long as there is time in this turn; whether there are groups left."""
        for members in look:
            self._spent += 1 + members
            if self._spent >= PIECE_MEMBERS:
                return True
        return False
