"""Listens at the seams of the bridge for the follower: requests and answers of embedded groups, engine turns, and on
road upstream what translated clients ask, and what brokers are asked on their behalf as members of a consumer group.

What goes wrong in here is counted and logged, and concerns no client.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from bridge.engine.outcome import Outcome
from bridge.session.contracts import Access, BrokerAccess, Deliver, Groups, OnAnswer
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.request_times import RequestTimes
from bridge.telemetry.schema.terms import Departure, Road
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    SyncGroup,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberId, MemberRef, RequestRef, Via
from translators.dialects.offsets import OffsetCommit

LOG = logging.getLogger("epochbridge.telemetry")
BUGS_LOGGED_MAX = 10
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
        self._follower.departs(key.group_id, key.member_id, DEPARTURES[reason], Road.EMBEDDED)


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
    """Groups that are coordinated here, overheard (`session.contracts.Groups`); repeated heartbeats go by unheard."""

    def __init__(
        self,
        groups: Groups,
        asked: Callable[[RequestRef, ClientIdentity, Request], None],
        gone: Callable[[int], None],
    ) -> None:
        """`asked` hears of each request that is submitted, `gone` of each connection that is gone."""
        self._groups = groups
        self._asked = asked
        self._gone = gone
        # Not even a call: this is the one thing that happens thousands of times a second.
        self.beat: Callable[[ClientIdentity, Heartbeat | ConsumerGroupHeartbeat], bool] = groups.beat

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """See `session.contracts.Groups`."""
        self._asked(ref, client, request)
        self._groups.submit(ref, client, via, request)

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""
        self._groups.disconnected(connection)
        self._gone(connection)


def observe_answers(deliver: Deliver, observer: Observer) -> Deliver:
    """Answers of embedded groups on their way to the clients, observed."""

    def deliver_observed(ref: RequestRef, reply: Reply) -> None:
        observer.answered(ref, reply)
        deliver(ref, reply)

    return deliver_observed


ClientOf = Callable[[MemberRef], ClientIdentity]
SeatIdOf = Callable[[MemberRef], MemberId]
Spoken = JoinGroup | SyncGroup | LeaveGroup | OffsetCommit | Heartbeat
"""What a classic client asks that may bring facts."""


class UpstreamObserver:
    """Tells the follower what classic clients ask of their groups, each by the id by which its broker knows it, and of
    heartbeats to brokers that say or bring something; the others go by.
    """

    def __init__(self, follower: Follower, guard: Guard, now_us: Callable[[], int]) -> None:
        self.client_of: ClientOf = lambda _: ClientIdentity(client_id="", client_host="")
        """Who speaks for a member."""
        self.seat_id: SeatIdOf = lambda member: member.member_id
        """As whom its broker knows a member."""
        self._follower = follower
        self._guard = guard
        self._now_us = now_us
        self._numbers = count(1)
        self._last: dict[MemberRef, int] = {}
        self._calm: dict[int, tuple[ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply]] = {}
        """By connection, the last heartbeat that told nothing and its answer: most are the same objects over again."""
        self._open: dict[int, dict[RequestRef, tuple[ClientIdentity, Spoken]]] = {}
        """By connection, what clients ask that is not answered yet."""

    # ------------------------------------------------------------------ what clients ask, and are answered

    def over_requests(self, groups: Groups) -> Groups:
        """Who takes the requests of clients, overheard."""
        return ObservedGroups(groups, self.asked, self.disconnected)

    def asked(self, ref: RequestRef, client: ClientIdentity, request: Request) -> None:
        """A client asks; of a heartbeat only a refusal is news, so it is told of with that."""
        if isinstance(request, Heartbeat):
            self._open.setdefault(ref.connection, {})[ref] = client, request
        elif isinstance(request, (JoinGroup, SyncGroup, LeaveGroup, OffsetCommit)):
            self._guard.run(lambda: self._ask(ref, client, request))

    def over_answers(self, deliver: Deliver) -> Deliver:
        """Who takes the answers to clients, overheard."""

        def deliver_observed(ref: RequestRef, reply: Reply) -> None:
            opened = self._open.get(ref.connection, {}).pop(ref, None)
            if opened is not None and not (isinstance(reply, HeartbeatReply) and reply.error is ErrorCode.NONE):
                self._guard.run(lambda: self._answer(ref, *opened, reply))
            deliver(ref, reply)

        return deliver_observed

    def disconnected(self, connection: int) -> None:
        """A connection is gone, and with it whoever waited for an answer."""
        self._open.pop(connection, None)

    def departs(self, member: MemberRef, reason: DepartReason) -> None:
        """The bridge is about to say to a broker that a client's member leaves."""
        self._follower.departs(member.group_id, self.seat_id(member), DEPARTURES[reason], Road.UPSTREAM)

    def _ask(self, ref: RequestRef, client: ClientIdentity, request: Spoken) -> None:
        if self._follower.asked(ref, client, self._as_known(request), Road.UPSTREAM, self._now_us()):
            self._open.setdefault(ref.connection, {})[ref] = client, request

    def _answer(self, ref: RequestRef, client: ClientIdentity, request: Spoken, reply: Reply) -> None:
        if isinstance(request, Heartbeat):
            self._follower.asked(ref, client, self._as_known(request), Road.UPSTREAM, self._now_us())
        if isinstance(reply, JoinGroupReply):
            reply = replace(reply, member_id=self.seat_id(MemberRef(request.group_id, reply.member_id)))
        self._follower.answered(ref, reply, self._now_us())

    def _as_known(self, request: Spoken) -> Spoken:
        """A request by the ids by which a broker knows those who ask."""
        if isinstance(request, LeaveGroup):
            seats = [self.seat_id(MemberRef(request.group_id, one.member_id)) for one in request.members]
            members = [replace(one, member_id=seat) for one, seat in zip(request.members, seats, strict=True)]
            return replace(request, members=tuple(members))
        seat_id = self.seat_id(MemberRef(request.group_id, request.member_id))
        return request if seat_id == request.member_id else replace(request, member_id=seat_id)

    # ------------------------------------------------------------------ what brokers are asked in their place

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
