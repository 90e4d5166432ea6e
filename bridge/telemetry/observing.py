"""Listens at the seams of the bridge for the follower: requests and answers of embedded groups, engine turns, and what
is asked of brokers on behalf of translated members (road upstream), who are members of a consumer group there.

What goes wrong in here is counted and logged, and concerns no client.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from bridge.engine.outcome import Outcome
from bridge.session.contracts import Access, BrokerAccess, Groups, OnAnswer
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.joins import read_assignment
from bridge.telemetry.request_times import RequestTimes
from bridge.telemetry.schema.terms import Departure, Road
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.classic import Heartbeat, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberRef, RequestRef, Via

LOG = logging.getLogger("epochbridge.telemetry")
BUGS_LOGGED_MAX = 10
SYNCS_OPEN_MAX = 10_000
"""SyncGroup requests whose answers are waited for."""
DEPARTURES = {
    DepartReason.LEFT: Departure.LEFT,
    DepartReason.SESSION_EXPIRED: Departure.SESSION_EXPIRED,
    DepartReason.REJOIN_EXPIRED: Departure.REBALANCE_TIMED_OUT,
    DepartReason.SYNC_EXPIRED: Departure.SYNC_TIMED_OUT,
    DepartReason.CONNECTION_LOST: Departure.CONNECTION_LOST,
    DepartReason.REPLACED: Departure.REPLACED,
    DepartReason.FENCED: Departure.FENCED,
    DepartReason.REFUSED: Departure.VANISHED,
    DepartReason.UNANSWERED: Departure.VANISHED,
}


class Deliver(Protocol):
    """Hands an answer to the connection that waits for it."""

    def __call__(self, ref: RequestRef, reply: Reply) -> None:
        """Deliver it."""
        ...


class Guard:
    """Lets the follower work without ever failing those it listens to."""

    def __init__(self) -> None:
        self.bugs = 0

    def run(self, work: Callable[[], None]) -> None:
        """Do it; a bug is counted, and the first few are logged."""
        try:
            work()
        except Exception:
            self.bugs += 1
            if self.bugs <= BUGS_LOGGED_MAX:
                LOG.exception("EB-EVENTS-006: an event was not understood; please report this")


class EngineWatcher:
    """Hears the engine of the embedded groups (`coordinators.embedded.coordinator.Watcher`)."""

    def __init__(self, follower: Follower, guard: Guard, now_us: Callable[[], int]) -> None:
        self._follower = follower
        self._guard = guard
        self._now_us = now_us

    def advanced(self, outcome: Outcome) -> None:
        """A turn is done; one that only moved deadlines is no news."""
        if outcome.notices or any(record.durable for record in outcome.records):
            self._guard.run(lambda: self._follower.advanced(outcome, self._now_us()))

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """A classic client's member is about to leave the engine."""
        self._follower.departs(key.group_id, key.member_id, DEPARTURES[reason])


@dataclass(frozen=True, slots=True)
class Observer:
    """Hears requests and answers of embedded groups once: measures them, and has the follower make facts of them."""

    follower: Follower
    times: RequestTimes
    guard: Guard
    now_us: Callable[[], int]

    def asked(self, ref: RequestRef, client: ClientIdentity, request: Request) -> None:
        """A request came."""
        now_us = self.now_us()
        self.times.asked(ref, type(request).__name__, now_us)
        self.guard.run(lambda: self._ask(ref, client, request, now_us))

    def answered(self, ref: RequestRef, reply: Reply) -> None:
        """A request is answered."""
        now_us = self.now_us()
        self.times.answered(ref, now_us)
        self.guard.run(lambda: self.follower.answered(ref, reply, now_us))

    def lost(self, connection: int) -> None:
        """A client connection is gone."""
        self.times.lost(connection)
        self.guard.run(lambda: self.follower.lost(connection, self.now_us()))

    def _ask(self, ref: RequestRef, client: ClientIdentity, request: Request, now_us: int) -> None:
        self.follower.asked(ref, client, request, Road.EMBEDDED, now_us)


class ObservedGroups:
    """The embedded groups, observed (`session.contracts.Groups`); repeated heartbeats go by unheard."""

    def __init__(self, groups: Groups, observer: Observer, forget: Callable[[int], None]) -> None:
        """`forget` hears of every connection that is gone, too."""
        self._groups = groups
        self._observer = observer
        self._forget = forget
        # Not even a call: this is the one thing that happens thousands of times a second.
        self.beat: Callable[[ClientIdentity, Heartbeat | ConsumerGroupHeartbeat], bool] = groups.beat

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """See `session.contracts.Groups`."""
        self._observer.asked(ref, client, request)
        self._groups.submit(ref, client, via, request)

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""
        self._groups.disconnected(connection)
        self._forget(connection)
        self._observer.lost(connection)


def observe_answers(deliver: Deliver, observer: Observer) -> Deliver:
    """Answers of embedded groups on their way to the clients, observed."""

    def deliver_observed(ref: RequestRef, reply: Reply) -> None:
        observer.answered(ref, reply)
        deliver(ref, reply)

    return deliver_observed


ClientOf = Callable[[MemberRef], ClientIdentity]


class UpstreamObserver:
    """Tells the follower of heartbeats that say or bring something; the others go by."""

    def __init__(self, follower: Follower, guard: Guard, now_us: Callable[[], int]) -> None:
        self.client_of: ClientOf = lambda _: ClientIdentity(client_id="", client_host="")
        """Who speaks for a member."""
        self._follower = follower
        self._guard = guard
        self._now_us = now_us
        self._numbers = count(1)
        self._last: dict[MemberRef, int] = {}
        self._calm: dict[int, tuple[ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply]] = {}
        """By connection, the last heartbeat that told nothing and its answer: most are the same objects over again."""
        self._syncing: OrderedDict[RequestRef, MemberRef] = OrderedDict()

    def sync_came(self, ref: RequestRef, seat: MemberRef) -> None:
        """A SyncGroup of a client came, whose member its broker knows by this id."""
        self._syncing[ref] = seat
        if len(self._syncing) > SYNCS_OPEN_MAX:
            # Whose connection is gone has no answer.
            self._syncing.popitem(last=False)

    def over_answers(self, deliver: Deliver) -> Deliver:
        """Who takes the answers to clients, overheard: one to a SyncGroup hands out what the broker has granted."""

        def deliver_observed(ref: RequestRef, reply: Reply) -> None:
            seat = self._syncing.pop(ref, None) if isinstance(reply, SyncGroupReply) else None
            if seat is not None and isinstance(reply, SyncGroupReply) and reply.error is ErrorCode.NONE:
                self._guard.run(lambda: self._hand_out(seat, reply.assignment))
            deliver(ref, reply)

        return deliver_observed

    def _hand_out(self, seat: MemberRef, blob: bytes) -> None:
        partitions = read_assignment(blob)
        if partitions is not None:
            self._follower.handed_out(seat, partitions, self._now_us())

    def over(self, access: Access) -> Access:
        """The same access, overheard."""
        return lambda via: ObservedWay(access(via), self)

    def hear(self, connection: int, asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply) -> None:
        """A heartbeat was answered."""
        calm = self._calm.get(connection)
        if calm is not None and asked is calm[0] and reply is calm[1]:
            return
        member = MemberRef(asked.group_id, asked.member_id)
        if tells_nothing(asked, reply) and self._last.get(member) == connection:
            self._calm[connection] = asked, reply
            return
        # Whoever speaks for a member by another connection is told of: so what was said by the former is forgotten.
        self._calm.clear()
        if reply.error is ErrorCode.NONE and asked.member_epoch >= 0:
            self._last[member] = connection
        else:
            self._last.pop(member, None)
        self._guard.run(lambda: self._tell(connection, member, asked, reply))

    def _tell(
        self, connection: int, member: MemberRef, asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply
    ) -> None:
        # Below zero: the client's own requests on this connection are numbered from zero on.
        ref, now_us = RequestRef(0, connection, -next(self._numbers)), self._now_us()
        if self._follower.asked(ref, self.client_of(member), asked, Road.UPSTREAM, now_us):
            self._follower.answered(ref, reply, now_us)


class ObservedWay:
    """One connection's way to its broker (`session.contracts.BrokerAccess`), overheard; made for each question."""

    __slots__ = ("_observer", "_way", "connection")

    def __init__(self, way: BrokerAccess, observer: UpstreamObserver) -> None:
        self._way = way
        self._observer = observer
        self.connection = way.connection

    @property
    def broker_id(self) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return self._way.broker_id

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return self._way.highest_version(api_key)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        if not isinstance(request, ConsumerGroupHeartbeat):
            self._way.ask(ref, request, on_answer, version)
            return

        def take(reply: Reply | None) -> None:
            if isinstance(reply, ConsumerGroupHeartbeatReply):
                self._observer.hear(self.connection, request, reply)
            on_answer(reply)

        self._way.ask(ref, request, take, version)


def tells_nothing(asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply) -> bool:
    """Whether a member only lives on: it has nothing new to say, and hears nothing new."""
    is_short = asked.owned is None and asked.subscribed_topic_names is None and asked.member_epoch > 0
    is_same = reply.error is ErrorCode.NONE and reply.member_epoch == asked.member_epoch and reply.assignment is None
    return is_short and is_same
