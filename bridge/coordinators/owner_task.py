"""The task that owns groups: requests queue for its next turn; answers leave when what they depend on is written."""

import logging
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Generic, Protocol

import trio

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.deadlines import Alarm
from bridge.coordinators.durability import Recorded, condense
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.ledger import Deliver, Ledger
from bridge.coordinators.offset_requests import Commit
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.turns import Turns
from bridge.ports import Clock, Journal, OrderT
from bridge.supervision import LEDGER, OWNER, Failures, start_job
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import ClientIdentity, RequestRef
from translators.dialects.messages import GroupRequest

LOG = logging.getLogger("epochbridge.coordinators")


class Turning(Protocol):
    """What surrounds the turns of one kind of coordinator; must not raise."""

    def begins(self) -> None:
        """What is queued is about to be carried out, or refused."""
        ...

    def revived(self) -> None:
        """The groups are what the journal holds; nothing of that was answered yet."""
        ...

    def released(self) -> None:
        """A turn's answers are on their way."""
        ...

    def refuse(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, refusal: Refusal) -> None:
        """Answer a request that can't be served now."""
        ...

    def next_due_ms(self) -> int | None:
        """When `pass_due` has to be called beside the deadlines of groups."""
        ...

    def pass_due(self, now_ms: int) -> None:
        """Do what is due beside the deadlines of groups."""
        ...


class OwnerTask(Generic[OrderT]):
    """One owner, its queue, its turns and its ledger; `run` has to be running meanwhile."""

    def __init__(
        self, owner: GroupOwner[OrderT], clock: Clock, deliver: Deliver, supervised: Failures, turning: Turning
    ) -> None:
        self.owner = owner
        self.ledger = Ledger(deliver, supervised)
        self.turns = Turns(owner, self.ledger, clock, self._release)
        self.alarm = Alarm(clock.now_ms, self._next_due_ms)
        self._supervised = supervised
        self._turning = turning
        self._now_ms = clock.now_ms
        self._queued: list[Arrival | OrderT] = []
        self._ended_meanwhile: list[int] = []

    @property
    def has_queued(self) -> bool:
        """Whether anything waits for the next turn."""
        return bool(self._queued)

    def queue(self, *arrivals: Arrival | OrderT) -> None:
        """Let requests and orders be part of the next turn."""
        self._queued += arrivals
        self.alarm.ring()

    def wake(self) -> None:
        """The coordinator has something to say although nobody asked: an answer or a call came over the network."""
        self.alarm.ring()

    def catch_up(self) -> None:
        """Carry out what is queued, so that whoever comes now sees it done."""
        if not self._queued:
            return
        arrivals, self._queued = self._queued, []
        self._turning.begins()
        concerned = [arrival for arrival in arrivals if isinstance(arrival, Arrival)]
        closed = self.ledger.closed
        if closed is not None:
            # Nothing may be answered that can't be written; orders come about again once the groups are revived.
            for arrival in concerned:
                self._turning.refuse(arrival.ref, arrival.client, arrival.request, closed)
            return
        self.turns.take(lambda: self.owner.take_turn(arrivals, self._now_ms()), concerned)

    def order_at_once(self, order: OrderT) -> None:
        """Carry out an order in a turn of its own."""
        self.catch_up()
        self.turns.take(lambda: self.owner.take_turn([order], self._now_ms()))

    def beat(self, arrival: Arrival, request: Heartbeat) -> None:
        """Answer a heartbeat in a turn of its own; nothing is queued before it."""
        now_ms = self._now_ms()
        self.turns.take(lambda: self.owner.beat(arrival.ref, request, now_ms), (arrival,))

    def beat_calmly(self, request: Heartbeat) -> bool:
        """See `GroupOwner.beat_calmly`; False also where a turn has to come first."""
        if self._queued or self.ledger.closed is not None:
            return False
        return self.owner.beat_calmly(request, self._now_ms())

    def beat_natively(self, client: ClientIdentity, request: ConsumerGroupHeartbeat) -> bool:
        """The same for the heartbeat of a KIP-848 member."""
        if self._queued or self.ledger.closed is not None:
            return False
        return self.owner.beat_natively(client, request, self._now_ms())

    def lose_connection(self, connection: int) -> None:
        """A client connection is gone; answers to its open requests have nowhere to go."""
        self.catch_up()
        if self.ledger.closed is None:
            self.turns.take(lambda: self.owner.lose_connection(connection, self._now_ms()))

    def begin_commit(self, ref: RequestRef, request: Commit) -> CommitAdmitted | CommitRefused:
        """See `GroupOwner.begin_commit`."""
        now_ms = self._now_ms()
        failed: CommitAdmitted | CommitRefused = CommitRefused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self.turns.judge(lambda: self.owner.begin_commit(ref, request, now_ms), failed, request)

    def end_commit(self, commit_id: int) -> None:
        """The broker answered a commit, or its time is over; while nothing can be written that is put off."""
        if self.ledger.closed is not None:
            self._ended_meanwhile.append(commit_id)
            return
        self.turns.take(lambda: self.owner.end_commit(commit_id, self._now_ms()))

    def keep(self, journal: Journal, blank: Callable[[], Recorded]) -> None:
        """Go on with what a journal holds, and answer nothing any more that is not in it.

        Without anything in it the owner stays as it is. Raises `versioned.UnreadableRecord`.
        """
        revive = partial(self._revive, journal)
        self.ledger.keep(journal, lambda entries: condense(entries, blank()), revive)
        revive()

    def _revive(self, journal: Journal) -> None:
        self._queued.clear()
        self._turning.begins()
        result = self.owner.revive(journal.replay(), self._now_ms())
        self._turning.revived()
        self._release(result)
        if self.ledger.closed is None:
            ended, self._ended_meanwhile = self._ended_meanwhile, []
            for commit_id in ended:
                self.end_commit(commit_id)

    # ------------------------------------------------------------------ the task

    def start(self, nursery: trio.Nursery) -> None:
        """Own the groups until the nursery is cancelled."""
        start_job(nursery, self._supervised, LEDGER, self.ledger.run)
        start_job(nursery, self._supervised, OWNER, self._own)

    async def _own(self) -> None:
        while True:
            await self.alarm.wait()
            now_ms = self._now_ms()
            self.catch_up()
            if self.ledger.closed is None:
                self.turns.take(partial(self.owner.pass_deadlines, now_ms))
            self._turning.pass_due(now_ms)

    def _next_due_ms(self) -> float:
        owner_due = self.owner.next_deadline_ms() if self.ledger.closed is None else None
        due = [at for at in (owner_due, self._turning.next_due_ms()) if at is not None]
        return min(due, default=inf)

    def _release(self, result: TurnResult) -> None:
        self.ledger.note(self.owner.entries())
        for ref, reply in result.replies:
            self.ledger.deliver(ref, reply)
        self._turning.released()
        self.alarm.due_changed()
