"""The shell around the bridge under test: it batches arrivals into turns, keeps the one timer, carries commits."""

from dataclasses import replace
from random import Random

from tests.support.simulation.subject import Delivery, MakeSubject, OnCommitted, Subject, Surroundings
from tests.support.simulation.timeline import Timeline
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, RequestRef
from translators.dialects.messages import GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

TURN_WAITS_MS = (0, 0, 0, 1, 5)
IDS_PER_LIFE = 1_000_000


class Shell:
    """One subject at a time; `restart` replaces it with one that remembers nothing."""

    def __init__(self, timeline: Timeline, make: MakeSubject, surroundings: Surroundings, seed: int) -> None:
        self.lives = 0
        self._timeline, self._make, self._surroundings = timeline, make, surroundings
        self._chance = Random(f"shell {seed}")
        self._inbox: list[Delivery] = []
        self._wakes_ms: int | None = None
        self.subject = self._begin()

    def restart(self, resume_grace_ms: int) -> None:
        """Begin anew without a journal (decision 9)."""
        self.lives += 1
        self._inbox.clear()
        self._wakes_ms = None
        self._surroundings = replace(
            self._surroundings,
            no_assignment_before_ms=self._timeline.now_ms + resume_grace_ms,
            first_id=self.lives * IDS_PER_LIFE,
        )
        self.subject = self._begin()
        self.plan()

    def arrive(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """Take a request from the network."""
        match request:
            case OffsetCommit():
                self._turn()
                self.subject.commit(ref, request)
            case JoinGroup() | SyncGroup() | Heartbeat() | LeaveGroup() | ConsumerGroupHeartbeat():
                if not self._inbox:
                    life = self.lives
                    wait_ms = self._chance.choice(TURN_WAITS_MS)
                    self._timeline.after(wait_ms, lambda: self._turn() if self.lives == life else None)
                self._inbox.append(Delivery(ref, client, request))
            case _:
                raise TypeError(f"no client of this world sends {request!r}")
        self.plan()

    def lose_connection(self, connection: int) -> None:
        """Hear that a connection is gone; what was read from it before is carried out first."""
        self._turn()
        self.subject.lose_connection(connection)
        self.plan()

    def plan(self) -> None:
        """See to it that deadlines pass in time."""
        due_ms = self.subject.next_deadline_ms()
        if due_ms is None or (self._wakes_ms is not None and self._wakes_ms <= due_ms):
            return
        self._wakes_ms = max(due_ms, self._timeline.now_ms)
        self._timeline.at(self._wakes_ms, self._wake)

    def _wake(self) -> None:
        if self._wakes_ms != self._timeline.now_ms:
            return
        self._wakes_ms = None
        self._turn()
        self.subject.pass_deadlines()
        self.plan()

    def _turn(self) -> None:
        if self._inbox:
            deliveries, self._inbox = self._inbox, []
            self.subject.take_turn(deliveries)
            self.plan()

    def _begin(self) -> Subject:
        """Make a subject; what was under way for the one before is lost with it."""
        life, ask_broker = self.lives, self._surroundings.ask_broker

        def ask(ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
            ask_broker(ref, request, lambda reply: self._hear_broker(life, reply, answer))

        return self._make(replace(self._surroundings, ask_broker=ask))

    def _hear_broker(self, life: int, reply: OffsetCommitReply | None, answer: OnCommitted) -> None:
        if life == self.lives:
            self._turn()
            answer(reply)
            self.plan()
