"""What was asked of brokers for members and is not answered yet, and when it is given up."""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bridge.coordinators.upstream.group_news import Target, Untold
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import Farewell, Inquiry
from translators.dialects.ids import MemberRef, Via

SILENT_MS, SILENT_AGAIN_MS = 30_000, 5_000
"""So long a broker may leave a question unanswered, as for Kafka's own clients (`request.timeout.ms`), and the next one
of that member by the same connection. A frozen broker hangs up on nobody: its groups are another's meanwhile, which
puts out whoever is not heard of for 45 s, and gave what a client went on reading to others.
"""


class Question(NamedTuple):
    """One question (`ref`) of a member, and the connection that is to carry it."""

    ref: MemberRef
    member: MemberRef
    via: Via
    asked: Inquiry | Farewell
    due_ms: int
    """When it is given up."""
    names_topics: bool = True
    """Whether its subscription is said, too, where it is said in full."""
    target: Target | Untold = Untold.UNKNOWN
    """What the broker means it to have in the end, where it was asked."""
    heard: ConsumerGroupHeartbeatReply | None = None
    """The broker's word, while it is asked for that."""
    is_given_up: bool = False


class OpenQuestions(OrderedDict[MemberRef, Question]):
    """By what they are answered to, in the order in which they are given up, but for those of `begin_again`.

    A dictionary, and no class with one inside: each heartbeat asks it twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self._again: OrderedDict[MemberRef, None] = OrderedDict()
        """Which of them are given up sooner, and some that were answered; in the order in which that is due."""

    def begin_again(self, question: Question) -> None:
        """One that is given up sooner than the others."""
        self[question.ref] = question
        self._again[question.ref] = None

    def take_silent(self, now_ms: int) -> Iterator[Question]:
        """Those that are to be given up by now; they are open no more."""
        while (question := self._next()) is not None and question.due_ms <= now_ms:
            del self[question.ref]
            yield question

    def next_due_ms(self) -> int | None:
        """When one is given up next, if no answer comes."""
        question = self._next()
        return None if question is None else question.due_ms

    def clear(self) -> None:
        """Nobody waits any more."""
        super().clear()
        self._again.clear()

    def _next(self) -> Question | None:
        if not self:
            self._again.clear()
            return None
        while self._again and next(iter(self._again)) not in self:
            self._again.popitem(last=False)
        firsts = (*islice(self, 1), *islice(self._again, 1))
        return min((self[ref] for ref in firsts), key=lambda question: question.due_ms)
