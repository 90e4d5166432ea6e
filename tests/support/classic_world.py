"""A small world for member machines: a coordinator that reconciles like Kafka's, eager and cooperative clients.

It must not know how a machine decides; it only carries messages, in whatever order the test chooses.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.support.classic_members import FRESH, GROUP, LIMITS, NOW, join_request
from translators.classic_member.events import (
    Answered,
    Ask,
    DeadlinePassed,
    Depart,
    Effect,
    Event,
    HeartbeatReceived,
    JoinReceived,
    Reply,
    SyncReceived,
)
from translators.classic_member.states import Absent, State
from translators.classic_member.step import step
from translators.classic_member.tenure import NO_PARTITIONS, Partitions
from translators.dialects import classic
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.coordinator import CoordinatorCalled, Farewell, Granted, Inquiry
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef


@dataclass(slots=True)
class Seat:
    """A member for the coordinator: what it may own, and what it must let go before anything else happens to it."""

    assigned: Partitions = NO_PARTITIONS
    revoking: Partitions = NO_PARTITIONS


@dataclass(slots=True)
class Coordinator:
    """Kafka's reconciliation (K2.33, with the fixes of 11.4) over a target that the test sets."""

    targets: dict[MemberId, Partitions] = field(default_factory=dict)
    seats: dict[MemberId, Seat] = field(default_factory=dict)
    epoch: int = 1

    def retarget(self, targets: dict[MemberId, Partitions]) -> None:
        """Move the group to another target."""
        self.targets = targets
        self.epoch += 1

    def answer(self, inquiry: Inquiry | Farewell) -> Granted:
        """Let a member join, report or leave."""
        if isinstance(inquiry, Farewell):
            self.seats.pop(inquiry.member_id, None)
            return Granted(member_epoch=inquiry.member_epoch)
        if inquiry.member_epoch == 0:
            self.seats[inquiry.member_id] = Seat()
        self._reconcile(inquiry.member_id, inquiry.owned)
        target = self.targets.get(inquiry.member_id, NO_PARTITIONS)
        seat = self.seats[inquiry.member_id]
        return Granted(
            member_epoch=self.epoch,
            assigned=seat.assigned,
            pending=(target - seat.assigned) & self._held(inquiry.member_id),
        )

    def waiting(self, member_id: MemberId) -> bool:
        """Tell whether the member should be called: its target moved, or something it waits for is free."""
        target, seat = self.targets.get(member_id, NO_PARTITIONS), self.seats[member_id]
        return bool(seat.assigned - target) or bool(target - seat.assigned - self._held(member_id))

    def _reconcile(self, member_id: MemberId, owned: Partitions) -> None:
        seat = self.seats[member_id]
        if seat.revoking & owned:
            return
        seat.revoking = NO_PARTITIONS
        target = self.targets.get(member_id, NO_PARTITIONS)
        lost = seat.assigned - target
        seat.assigned &= target
        if lost & owned:
            seat.revoking = lost
        else:
            seat.assigned |= target - self._held(member_id)

    def _held(self, member_id: MemberId) -> Partitions:
        others = (seat for holder, seat in self.seats.items() if holder != member_id)
        return NO_PARTITIONS.union(*(seat.assigned | seat.revoking for seat in others))


@dataclass(slots=True)
class Client:
    """A classic client and its machine; `processing` is what the application reads at this moment."""

    member_id: MemberId
    is_cooperative: bool
    number: int
    state: State = field(default_factory=lambda: Absent(LIMITS))
    processing: Partitions = NO_PARTITIONS
    doomed: Partitions = NO_PARTITIONS
    generation: int = 0
    is_parked: bool = False
    wants_join: bool = True
    questions: deque[Inquiry | Farewell] = field(default_factory=deque)
    answers: deque[Granted] = field(default_factory=deque)
    sequence: int = 0
    joins: int = 0
    calls: int = 0

    def ref(self) -> RequestRef:
        """Give the place of the next answer."""
        self.sequence += 1
        return RequestRef(0, self.number, self.sequence)

    def happen(self, event: Event, now_ms: int) -> None:
        """Let an event happen to the machine, and take its effects."""
        taken = step(self.state, event, now_ms)
        self.state = taken.state
        for effect in taken.effects:
            self._take(effect, now_ms)

    def join(self, now_ms: int) -> None:
        """Send JoinGroup: an eager client has stopped everything by then, a cooperative one what it must."""
        self.processing = self.processing - self.doomed if self.is_cooperative else NO_PARTITIONS
        self.doomed = NO_PARTITIONS
        self.wants_join, self.is_parked = False, True
        self.joins += 1
        name = "cooperative-sticky" if self.is_cooperative else "range"
        owned = self.processing if self.is_cooperative else None
        request = join_request(name, member_id=self.member_id, owned=owned)
        self.happen(JoinReceived(self.ref(), request, FRESH), now_ms)

    def beat(self, now_ms: int) -> None:
        """Send Heartbeat."""
        request = classic.Heartbeat(GROUP, self.generation, self.member_id, None)
        self.happen(HeartbeatReceived(self.ref(), request), now_ms)

    def _take(self, effect: Effect, now_ms: int) -> None:
        match effect:
            case Ask(inquiry):
                self.questions.append(inquiry)
            case Reply(_, message):
                self._read(message, now_ms)
            case Depart(reason):
                raise AssertionError(f"{self.member_id} departed: {reason}")

    def _read(
        self, message: classic.JoinGroupReply | classic.SyncGroupReply | classic.HeartbeatReply, now_ms: int
    ) -> None:
        match message:
            case classic.HeartbeatReply(error=error):
                assert error in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
                if error is ErrorCode.REBALANCE_IN_PROGRESS and not self.is_parked:
                    self.calls += not self.wants_join
                    self.wants_join = True
            case classic.JoinGroupReply(error=ErrorCode.NONE):
                self.is_parked = False
                self.generation = message.generation
                request = classic.SyncGroup(
                    group_id=GROUP, generation=self.generation, member_id=self.member_id, instance_id=None
                )
                self.happen(SyncReceived(self.ref(), request), now_ms)
            case classic.SyncGroupReply(error=ErrorCode.NONE):
                self._assigned(decode_assignment(message.assignment).partitions)
            case _:
                raise AssertionError(f"{self.member_id} was answered {message}")

    def _assigned(self, assigned: Partitions) -> None:
        if self.is_cooperative:
            self.doomed = self.processing - assigned
            self.processing |= assigned
            self.wants_join = self.wants_join or bool(self.doomed)
        else:
            self.processing = assigned


@dataclass(slots=True)
class World:
    """Clients, their machines and one coordinator; nothing happens unless the test says so."""

    clients: list[Client]
    coordinator: Coordinator = field(default_factory=Coordinator)
    now_ms: int = NOW

    def act(self, number: int, action: int) -> None:
        """Let one client, its machine or its line to the coordinator do one thing, if it can."""
        client = self.clients[number]
        match action:
            case 0 if not client.is_parked and client.generation:
                client.beat(self.now_ms)
            case 1 if client.wants_join and not client.is_parked:
                client.join(self.now_ms)
            case 2 if client.questions:
                client.answers.append(self.coordinator.answer(client.questions.popleft()))
            case 3 if client.answers:
                client.happen(Answered(client.answers.popleft()), self.now_ms)
            case 4:
                client.happen(DeadlinePassed(), self.now_ms)
            case 5 if client.member_id in self.coordinator.seats and self.coordinator.waiting(client.member_id):
                client.happen(CoordinatorCalled(), self.now_ms)
            case _:
                return
        self.check()

    def check(self) -> None:
        """Assert that no partition is processed by two clients (K2.40), nor processed and held by another."""
        owned = [client.processing for client in self.clients]
        assert sum(map(len, owned)) == len(NO_PARTITIONS.union(*owned)), owned

    def settle(self, rounds: int = 200) -> None:
        """Let everybody do everything, fairly, 100 ms a round, heartbeats every second."""
        for turn in range(rounds):
            for number in range(len(self.clients)):
                actions: Iterable[int] = (5, 2, 3, 2, 3, 4, 1, 2, 3) if turn % 10 else (0, 5, 2, 3, 2, 3, 4, 1, 2, 3)
                for action in actions:
                    self.act(number, action)
            self.now_ms += 100

    def retarget(self, owners: dict[int, Partitions]) -> None:
        """Set the target by client number."""
        self.coordinator.retarget({self.clients[number].member_id: owned for number, owned in owners.items()})


def make_world(*cooperative: bool) -> World:
    """Make a world of as many clients, each eager or cooperative, none of them joined."""
    return World(
        [
            Client(member_id=MemberId(f"member-{number}"), is_cooperative=kind, number=number)
            for number, kind in enumerate(cooperative)
        ]
    )
