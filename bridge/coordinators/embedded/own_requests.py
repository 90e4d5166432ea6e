"""Requests that no client sent: their answers come back to the task that asked, and to no connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import trio

from bridge.coordinators.ledger import Deliver
from bridge.engine.outcome import Converted, NotConverted
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply

OWN_CONNECTION = -1
"""The number of a connection that no client has."""


@dataclass(slots=True)
class _Open:
    replies: list[GroupReply] = field(default_factory=list)
    verdict: Converted | NotConverted | None = None
    answered: trio.Event = field(default_factory=trio.Event)


class OwnRequests:
    """Stands where answers go out, and keeps those that are its own."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._open: dict[RequestRef, _Open] = {}
        self._sequence = count(1)

    def __len__(self) -> int:
        """How many answers are waited for."""
        return len(self._open)

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """Hand an answer on; one of our own that nobody waits for any more is dropped."""
        if ref.connection != OWN_CONNECTION:
            self._deliver(ref, reply)
            return
        waiting = self._open.get(ref)
        if waiting is not None:
            waiting.replies.append(reply)
            waiting.answered.set()

    def judge(self, ref: RequestRef, verdict: Converted | NotConverted) -> None:
        """Remember what became of an order, until the answer tells that it is durable."""
        waiting = self._open.get(ref)
        if waiting is not None:
            waiting.verdict = verdict

    async def ask(self, submit: Callable[[RequestRef], None]) -> GroupReply:
        """Give the answer to what `submit` sends on its way under the reference it gets."""
        return (await self._wait(submit)).replies[0]

    async def order(self, submit: Callable[[RequestRef], None]) -> Converted | NotConverted | None:
        """Give what became of an order, None if it was not carried out at all."""
        return (await self._wait(submit)).verdict

    async def _wait(self, submit: Callable[[RequestRef], None]) -> _Open:
        ref = RequestRef(0, OWN_CONNECTION, next(self._sequence))
        waiting = self._open[ref] = _Open()
        try:
            submit(ref)
            await waiting.answered.wait()
        finally:
            del self._open[ref]
        return waiting
