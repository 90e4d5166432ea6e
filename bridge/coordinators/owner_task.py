"""The task that owns groups: requests queue for its next turn; answers leave when what they depend on is written.

Each turn may raise: a bug ends that turn and nothing else.
"""

import gc
import logging
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from math import inf
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import trio

from bridge.coordinators.arrivals import Arrival, request_fields
from bridge.coordinators.deadlines import Alarm
from bridge.coordinators.durability import Recorded, condense
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.ledger import Ledger
from bridge.coordinators.offset_requests import Commit
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.turn_times import TurnTimes
from bridge.log_lines import Line, LogFields, RateLimitedLog, origin_of
from bridge.ports import Clock, Journal, OrderT
from bridge.session.contracts import Deliver
from bridge.supervision import LEDGER, OWNER, TURN, Failures, start_job
from bridge.wire.codec.registry import error_reply
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import CommitAdmitted, CommitRefused, Granted, MembershipReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import ClientIdentity, MemberRef, RequestRef
from translators.dialects.messages import GroupRequest

MANY = 200_000
"""Objects that one piece of work may leave behind before looking at them once more costs a pause that members feel."""


class RestingCollector:
    """No looking for garbage in the block, and never at what it made if that is a lot: looking was half its time."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> Self:
        """Begin to rest."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go on as before."""
        del kind, problem, trace
        if gc.get_count()[0] > MANY:
            gc.freeze()
        if self._was_enabled:
            gc.enable()


RELOAD_PAUSE_MS = 5_000
"""A turn that fails so soon after the groups were reloaded is only tidied up: one poisonous request, sent over and
over, must not have everybody's groups read anew every time.
"""
_FAILED = "EB-GROUP-002: a turn failed; the groups go on, please report this with the requests: %.2000r"

LOG = logging.getLogger("epochbridge.coordinators")
ResultT = TypeVar("ResultT")


class OwnerState(StrEnum):
    """Whether an owner decides, by the names that Kafka has for its partitions."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


class Turns(Generic[OrderT]):
    """Carries out turns; `release` gives out what one has to say. `failures` counts those that raised."""

    def __init__(
        self, owner: GroupOwner[OrderT], ledger: Ledger, clock: Clock, release: Callable[[TurnResult], None]
    ) -> None:
        self.failures = 0
        self.times = TurnTimes(clock.now_ns)
        self._owner = owner
        self._ledger = ledger
        self._clock = clock
        self._release = release
        self._reloads_again_ms: float = -inf
        self._log = RateLimitedLog(LOG)

    def take(self, act: Callable[[], TurnResult], concerned: Sequence[Arrival] = ()) -> bool:
        """Carry out one turn and release what it says; if it raises, which False tells, its clients are told to try
        again.

        Without a journal a JoinGroup that its machine holds is answered later: the machine asks again by itself.
        """
        try:
            with self.times, RestingCollector():
                result = act()
                self._ledger.note(self._owner.entries())
        except Exception as problem:  # noqa: BLE001 - told and counted
            fields = LogFields()
            if concerned:
                fields = request_fields(concerned[0].request, concerned[0].client, self._owner.machines.road)
            self._tell(problem, [arrival.request for arrival in concerned], fields)
            answered = {ref for ref, _ in self._end_failed()}
            for arrival in concerned:
                if arrival.ref not in answered and not self._owner.machines.is_parked(arrival.ref):
                    self._ledger.deliver(arrival.ref, error_reply(arrival.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return False
        self._release(result)
        return True

    def judge(self, act: Callable[[], ResultT], failed: ResultT, concerned: object) -> ResultT:
        """What `act` says of something that is not answered by a turn; `failed` if it raises."""
        try:
            with self.times:
                judged = act()
                self._ledger.note(self._owner.entries())
        except Exception as problem:  # noqa: BLE001 - told and counted
            self._tell(problem, concerned, LogFields())
            self._end_failed()
            return failed
        return judged

    def _tell(self, problem: Exception, concerned: object, fields: LogFields) -> None:
        """One line a minute for each place that fails: a poisonous request comes again and again."""
        line = Line(logging.ERROR, _FAILED, (concerned,), fields, problem)
        self._log.write(self._clock.now_ms(), origin_of(problem), line)

    def _end_failed(self) -> tuple[tuple[RequestRef, MembershipReply], ...]:
        """Void what a turn did before it raised: the groups are reloaded from the journal (`Ledger.go_back`).

        Members keep ids, generations and assignments; whoever has a request open then is told to come again (15).
        Without a journal, and soon after another reload, the turn is tidied up instead: what it had decided until it
        raised counts, its answers are given (and returned), and lost questions are asked again.
        """
        self.failures += 1
        self._ledger.supervised.count(TURN)
        now_ms = self._clock.now_ms()
        if self._ledger.is_going_back:
            return ()
        if now_ms >= self._reloads_again_ms and self._ledger.go_back():
            self._reloads_again_ms = now_ms + RELOAD_PAUSE_MS
            return ()
        result = self._tidy_up()
        self._release(result)
        return result.replies

    def _tidy_up(self) -> TurnResult:
        try:
            return self._owner.recover(self._clock.now_ms())
        except Exception:
            LOG.exception("EB-GROUP-005: the failed turn could not be tidied up; restart the bridge if groups stall")
            return TurnResult(())


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

    @property
    def queue_size(self) -> int:
        """How many requests and orders wait for the next turn."""
        return len(self._queued)

    @property
    def times(self) -> TurnTimes:
        """How long what is queued waits, and what turns and loading take."""
        return self.turns.times

    @property
    def state(self) -> OwnerState:
        """Whether it decides; it loads when it goes back to what is written, and fails with its journal."""
        if self.ledger.closed is None:
            return OwnerState.ACTIVE
        return OwnerState.LOADING if self.ledger.is_going_back else OwnerState.FAILED

    def queue(self, *arrivals: Arrival | OrderT) -> None:
        """Let requests and orders be part of the next turn."""
        self._queued += arrivals
        self.times.queued(len(arrivals))
        self.alarm.ring()

    def wake(self) -> None:
        """The coordinator has something to say although nobody asked: an answer or a call came over the network."""
        self.alarm.ring()

    def catch_up(self) -> bool:
        """Carry out what is queued, so that whoever comes now sees it done; whether a turn did, and did not fail."""
        if not self._queued:
            return False
        arrivals, self._queued = self._queued, []
        self._turning.begins()
        concerned = [arrival for arrival in arrivals if isinstance(arrival, Arrival)]
        closed = self.ledger.closed
        if closed is not None:
            # Nothing may be answered that can't be written; orders come about again once the groups are revived.
            self.times.dropped()
            for arrival in concerned:
                self._turning.refuse(arrival.ref, arrival.client, arrival.request, closed)
            return False
        self.times.taken()
        return self.turns.take(lambda: self.owner.take_turn(arrivals, self._now_ms()), concerned)

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

    def answer_calmly(self, member: MemberRef, number: int, answer: Granted) -> bool:
        """See `Exchange.answer_calmly`; False also where a turn has to come first."""
        if self._queued or self.ledger.closed is not None:
            return False
        due_ms = self.owner.answer_calmly(member, number, answer, self._now_ms())
        if due_ms is None:
            return False
        self.alarm.due_at(due_ms)
        return True

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

        Without anything in it the owner stays as it is. Raises `plain.UnreadableRecord`.
        """
        revive = partial(self._revive, journal)
        self.ledger.keep(journal, lambda entries: condense(entries, blank()), revive)
        revive()

    def _revive(self, journal: Journal) -> None:
        self._queued.clear()
        self.times.dropped()
        self._turning.begins()
        since_ns = self.times.begin_load()
        result = self.owner.revive(journal.replay(), self._now_ms())
        self.times.end_load(since_ns)
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
            is_settled = self.catch_up()
            # A turn leaves nobody with anything to say: behind one, another is for what is due by time alone.
            if self.ledger.closed is None and (not is_settled or self._is_due(now_ms)):
                self.turns.take(partial(self.owner.pass_deadlines, now_ms))
            self._turning.pass_due(now_ms)

    def _is_due(self, now_ms: int) -> bool:
        due_ms = self.owner.next_deadline_ms()
        return due_ms is not None and due_ms <= now_ms

    def _next_due_ms(self) -> float:
        owner_due = self.owner.next_deadline_ms() if self.ledger.closed is None else None
        beside = self._turning.next_due_ms()
        return min(inf if owner_due is None else owner_due, inf if beside is None else beside)

    def _release(self, result: TurnResult) -> None:
        self.ledger.note(self.owner.entries())
        for ref, reply in result.replies:
            self.ledger.deliver(ref, reply)
        self._turning.released()
        self.alarm.due_changed()
