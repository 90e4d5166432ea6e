"""Groups on road `upstream` as the session room sees them: requests in, answers out, a task that owns the machines."""

import contextlib
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import trio

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog, TopicsChange, TopicWatcher
from bridge.coordinators.commit_pieces import CommitPieces
from bridge.coordinators.ledger import Clients
from bridge.coordinators.machines import Machines
from bridge.coordinators.offset_requests import merge_fetch, to_memberless_fetch
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.owner_task import OwnerTask
from bridge.coordinators.refusals import Refusals, in_words
from bridge.coordinators.takeover import Seats
from bridge.coordinators.upstream.commits import CommitWays, UpstreamCommits
from bridge.coordinators.upstream.coordinator import LetGo, TakeOver, UpstreamCoordinator, UpstreamOrder
from bridge.coordinators.upstream.left_overs import LeftOvers
from bridge.coordinators.upstream.seat_names import SeatNames
from bridge.log_lines import UPSTREAM, LogFields
from bridge.ports import Broker, BrokerUnreachable, Clock, Journal
from bridge.session.contracts import AccessOnUse
from bridge.supervision import LOOK_UP, TOPICS, Failures, start_guarded, start_job
from bridge.wire.codec.registry import error_reply, group_ids
from translators.classic_member.member_records import profile_of
from translators.classic_member.profile import Profile, read_profile, read_subscription
from translators.classic_member.states import MemberLimits, State, seated
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, LeaveGroup, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import ClassicSeat, DepartReason, TakenOver
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    MemberId,
    MemberRef,
    RequestRef,
    TopicName,
    Via,
    via_of,
)
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetFetch, OffsetFetchReply, TxnOffsetCommit

LOG = logging.getLogger("epochbridge.coordinators")
LOOK_TIMEOUT_S = 5.0
"""How long a join may wait for its topics' ids before its client is told to try again."""
FAREWELL_WAIT_MS = 3_000
"""How long a LeaveGroup's answer waits for the broker to let the member go: kafka-go and librdkafka give it 5 s."""
JOINS_WAITING_MAX = 10_000
"""Joins that wait for their topics at once; further ones are told to come again."""
_FULL = Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "too many joins wait for the cluster's topics already")
_UNSEEN = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE, "the cluster's topics could not be looked at; check that it runs"
)
_UNHEARD = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE, "its broker does not say whether it still has its seat; the client tries again"
)
_MOVED = Refusal(ErrorCode.NOT_COORDINATOR, "another broker coordinates the group now; the client looks for it")
_STARTING = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the bridge is still starting")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings:
    """What an operator decides for groups on this road, and where ids of new members come from."""

    limits: MemberLimits
    bounds: SessionBounds
    fresh_member_id: Callable[[], MemberId]
    topics_refresh_ms: int
    commit_drain_ms: int
    resume_ms: int = 0
    """How long after the start a broker may still have the seats of members of an earlier life."""


class JournalShares(Protocol):
    """How much of the journal each group, and each client's address, may hold."""

    def judge(self, arrival: Arrival) -> Refusal | None:
        """Refuse a request that would bring one of them over its share."""
        ...

    def end_turn(self) -> None:
        """What was admitted is about to be carried out, or refused for other reasons."""
        ...

    def recount(self) -> None:
        """Members came or went in ways that nobody told."""
        ...


class UpstreamGroups:
    """Takes what classic clients of upstream groups ask (`session.contracts.Groups`); `run` has to run meanwhile.

    What KIP-848 clients ask, and what admins do, goes to the broker without coming by.
    """

    def __init__(
        self, broker: Broker, clock: Clock, clients: Clients, settings: UpstreamSettings, supervised: Failures
    ) -> None:
        self.supervised = supervised
        self.on_refused: Callable[[GroupId, ErrorCode], None] = lambda _group_id, _code: None
        """Hears whom a broker would not have as a member of a group."""
        self._refusals = Refusals(road=UPSTREAM)
        self._now_ms = clock.now_ms
        self._catalog = Catalog()
        self.names = SeatNames(clients.access)
        """Members that their broker knows by the ids of seats that were taken in their place."""
        self._access = self.names.access
        self._machines = machines = Machines(settings.limits, UPSTREAM)
        self._seats = Seats(machines)
        self._coordinator = UpstreamCoordinator(self._catalog, self._access, settings.fresh_member_id, self._wake)
        self._coordinator.now_ms = clock.now_ms
        self._coordinator.is_member = lambda member: machines.get(member) is not None
        self._coordinator.seat_id = self.names.seat_id
        self._coordinator.member_of = self.names.member_of
        self._coordinator.left_overs = LeftOvers(clock.now_ms() + settings.resume_ms)
        owner: GroupOwner[UpstreamOrder] = GroupOwner(
            self._coordinator, self._catalog, machines, settings.bounds, FAREWELL_WAIT_MS
        )
        self.task: OwnerTask[UpstreamOrder] = OwnerTask(owner, clock, clients.deliver, supervised, self)
        self._coordinator.hear_calmly = self.task.answer_calmly
        self._deliver = self.task.ledger.deliver
        self._topics = TopicWatcher(broker, self._catalog, self._see_topics, clock, settings.topics_refresh_ms)
        self._pieces = CommitPieces(self._deliver, self._wake, UPSTREAM)
        ways = CommitWays(
            begin=self.task.begin_commit,
            end=self.task.end_commit,
            deliver=self._pieces.deliver,
            due_changed=self.task.alarm.due_changed,
            is_left_over=lambda member: self._coordinator.left_overs.may_have(member, clock.now_ms()),
        )
        self._commits = UpstreamCommits(self._catalog, machines, ways, settings.commit_drain_ms, clock.now_ms)
        self._pieces.begin = self._commits.submit
        self._nursery: trio.Nursery | None = None
        self._waiting = 0
        self._shares: JournalShares | None = None

    def share_out(self, shares_of: Callable[[Machines], JournalShares]) -> None:
        """Let no group, and no client's address, hold more than its share from now on: of members that said much of
        themselves one client filled the journal, and then all groups stood still, whoever's they were.
        """
        self._shares = shares_of(self._machines)

    def keep(self, journal: Journal) -> None:
        """Go on with the members that a journal holds: their clients keep ids and generations, and the broker their
        seats. Raises `plain.UnreadableRecord`.
        """
        self.task.keep(journal, lambda: self._coordinator.journal)
        if self._machines:
            LOG.info(
                "%s on, of groups that brokers coordinate", counted(len(self._machines), "member goes", "members go")
            )

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """See `session.contracts.Groups`."""
        self.task.ledger.expect(ref, request)
        is_commit = isinstance(request, (OffsetCommit, TxnOffsetCommit))
        if is_commit or not self._pieces.keeps(ref, request, partial(self._take, ref, client, via, request)):
            self._take(ref, client, via, request)

    def _take(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        closed = self.task.ledger.closed
        if closed is not None:
            self.refuse(ref, client, request, closed)
            return
        if isinstance(request, (Heartbeat, SyncGroup)):
            # The journal tells of members, and not of clients; a JoinGroup says so by itself.
            self._machines.meet_first(MemberRef(request.group_id, request.member_id), client, ref)
        match request:
            case Heartbeat():
                self._beat(Arrival(ref, client, request), request)
            case JoinGroup():
                self._join(Arrival(ref, client, request), request)
            case SyncGroup() if self._calls_left_over(request):
                self._deliver(ref, SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS))
            case SyncGroup() | LeaveGroup():
                self.task.queue(Arrival(ref, client, request))
            case OffsetCommit() | TxnOffsetCommit():
                self.task.catch_up()
                self._pieces.submit(ref, AccessOnUse(self._access, via), request)
            case OffsetFetch():
                self._fetch(ref, via, request)
            case _:
                raise TypeError(f"nothing for road upstream: {request}")

    def _beat(self, arrival: Arrival, request: Heartbeat) -> None:
        member = MemberRef(request.group_id, request.member_id)
        if self._coordinator.is_elsewhere(member, arrival.ref.connection):
            # Its client asks for the coordinator and comes back there; seat and generation stay.
            self._machines.beat(member, request.generation, self._now_ms())
            self._deliver(arrival.ref, HeartbeatReply(ErrorCode.NOT_COORDINATOR))
        elif self._calls_left_over(request):
            # Also where joins of others are queued, as they are behind every restart.
            self._deliver(arrival.ref, HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS))
        elif self.task.has_queued:
            self.task.queue(arrival)
        else:
            self.task.beat(arrival, request)

    def _calls_left_over(self, request: Heartbeat | SyncGroup) -> bool:
        member = MemberRef(request.group_id, request.member_id)
        is_unknown = bool(request.member_id) and self._machines.get(member) is None
        return is_unknown and self._coordinator.left_overs.call(member, self._now_ms())

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """See `session.contracts.Groups`."""
        return isinstance(request, Heartbeat) and self.task.beat_calmly(request)

    def groups(self) -> frozenset[GroupId]:
        """The groups that have members with a machine here."""
        return self._machines.groups()

    def members(self) -> Iterator[tuple[MemberRef, State]]:
        """Every translated member, for those who show them."""
        for key in self._machines:
            state = self._machines.get(key)
            if state is not None:
                yield key, state

    def sizes(self) -> Iterator[tuple[GroupId, int, bool]]:
        """Each group with how many translated members it has, and whether all of them have what they should; O(groups),
        for those who count.
        """
        machines = self._machines
        return ((group_id, size, machines.is_settled(group_id)) for group_id, size in machines.sizes())

    def members_of(self, group_id: GroupId) -> Mapping[MemberId, State]:
        """The translated members of one group."""
        return self._machines.members_of(group_id)

    def client_of(self, member: MemberRef) -> ClientIdentity:
        """Who speaks for a member."""
        return self._machines.client_of(member)

    def client_of_seat(self, seat: MemberRef) -> ClientIdentity:
        """Who speaks for a member, by the id by which its broker knows it."""
        return self.client_of(self.names.member_of(seat))

    def translates(self, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether a member has a machine here."""
        return self._machines.get(MemberRef(group_id, member_id)) is not None

    def is_gone(self, member: MemberRef) -> bool:
        """Whether a member has no machine, and no seat of an earlier life of the bridge that it may go on with."""
        is_here = self.translates(member.group_id, member.member_id)
        return not is_here and not self._coordinator.left_overs.may_have(member, self._now_ms())

    # ------------------------------------------------------------------ members that come and go by moves

    @property
    def catalog(self) -> Catalog:
        """The topics as they were seen last."""
        return self._catalog

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be written, so that nobody may come or go."""
        return self.task.ledger.closed is not None

    async def written(self) -> bool:
        """Wait until whoever came or went is so in the journal; False if that fails first."""
        return await self.task.ledger.written()

    async def look_at_topics(self) -> None:
        """See the cluster's topics as they are now; raises BrokerUnreachable."""
        await self._look_at_topics()

    def take_over(self, members: tuple[TakenOver, ...]) -> None:
        """These classic members have just become the broker's consumer members; their requests count from now on."""
        self.task.order_at_once(TakeOver(members))

    def seat(self, member: MemberRef) -> ClassicSeat | None:
        """A member with a machine as a classic group would go on with it; None where there is none."""
        return self._seats.seat(member, self._now_ms())

    def epoch_of(self, member: MemberRef) -> int:
        """At which epoch the broker knows a member, as far as was heard; 0 where it has no machine."""
        at_work = seated(self._machines.get(member))
        return JOIN_EPOCH if at_work is None else at_work.membership.epoch

    def profile_of(self, member: MemberRef) -> Profile | None:
        """What a member's client said of itself as it joined last; None where it has no machine."""
        return profile_of(self._machines.get(member))

    def protocol_of(self, member: MemberRef) -> str:
        """Under which protocol a member's client works; "" where it has no machine."""
        profile = self.profile_of(member)
        return "" if profile is None else profile.protocol_name

    def is_at_rest(self, member: MemberRef) -> bool:
        """Whether its client has exactly what the broker granted, and nothing of it is on its way."""
        is_settled = self._seats.is_settled(member, self._now_ms())
        is_committing = self._coordinator.is_committing(member) or self._pieces.holds(member.group_id)
        return is_settled and not is_committing

    def via_of(self, member: MemberRef) -> Via:
        """The connection by which a member was heard last."""
        return self._machines.via_of(member)

    def tell_of_the_gone(self, gone: Callable[[MemberRef], None]) -> None:
        """Have this called for each member that is no member any more."""
        self._coordinator.gone = gone

    def tell_departures(self, departs: Callable[[MemberRef, DepartReason], None]) -> None:
        """Have this called for each member that the broker is about to be told is leaving, and why."""
        self._coordinator.departs = departs

    def let_go(self, member: MemberRef) -> None:
        """End the machine of a member without a word to its client or the broker."""
        self.task.order_at_once(LetGo(member))

    def note_gone(self, member: MemberRef) -> None:
        """A member without a machine is none of its broker's any more, or is to be none: its client is told (25), also
        where seats of an earlier life of the bridge are still looked for.
        """
        self._coordinator.left_overs.note_gone(member)

    def tell_principals(self, principal_of: Callable[[Via], Hashable | None]) -> None:
        """Learn who says whom the broker takes the client of a connection for: members of one see each other off."""
        self._coordinator.principal_of = principal_of

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""
        self.task.ledger.forget(connection)
        self._pieces.forget(connection)
        self.task.lose_connection(connection)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the machines until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            start_job(nursery, self.supervised, TOPICS, partial(self._topics.watch, lambda: len(self._machines) > 0))
            self.task.start(nursery)
            task_status.started()

    # ------------------------------------------------------------------ joins and topics

    def _join(self, arrival: Arrival, request: JoinGroup) -> None:
        """The broker names topics by id: a join waits until those of its subscription were seen."""
        read = read_subscription(request)
        names = frozenset[TopicName]() if isinstance(read, Refusal) else frozenset(read[1].topics)
        if self._catalog.knows(names):
            self._enter(arrival, request)
        elif self._nursery is None:
            self.refuse(arrival.ref, arrival.client, request, _STARTING)
        elif self._waiting >= JOINS_WAITING_MAX:
            self.refuse(arrival.ref, arrival.client, request, _FULL)
        else:
            self._waiting += 1
            start_guarded(self._nursery, self.supervised, LOOK_UP, partial(self._look, arrival, request))

    def _enter(self, arrival: Arrival, request: JoinGroup) -> None:
        left_over = None if not request.member_id else self._left_over(arrival, request)
        if left_over is None:
            self._queue_join(arrival)
        else:
            put_off = partial(self._put_off, arrival, request)
            self._coordinator.ask_back(left_over, lambda: self._queue_join(arrival), put_off)

    def _put_off(self, arrival: Arrival, request: JoinGroup, code: ErrorCode) -> None:
        """It has to go on with what it has, and would be told that it is no member."""
        is_elsewhere = code is ErrorCode.NOT_COORDINATOR
        self.refuse(arrival.ref, arrival.client, request, _MOVED if is_elsewhere else _UNHEARD)

    def _queue_join(self, arrival: Arrival) -> None:
        """Of who has hung up while its JoinGroup waited nothing is left; a static client has perhaps joined again since
        by another connection, and would be fenced for good (82) by its own former self.
        """
        via = via_of(arrival.ref)
        if self._access(via).connection != via.connection:
            return
        refusal = None if self._shares is None else self._shares.judge(arrival)
        if refusal is None:
            self.task.queue(arrival)
        else:
            self.refuse(arrival.ref, arrival.client, arrival.request, refusal)

    def _left_over(self, arrival: Arrival, request: JoinGroup) -> TakenOver | None:
        """A cooperative client that goes on with what it has, if the broker has it down as its own still.

        It may be from before the start, of which nothing is known here. An eager one has dropped everything already.
        """
        member = MemberRef(request.group_id, request.member_id)
        if self._machines.get(member) is not None or not self._coordinator.left_overs.may_have(member, self._now_ms()):
            return None
        profile = read_profile(request)
        if isinstance(profile, Refusal) or not profile.owned or profile.is_eager:
            return None
        chosen = next(one for one in request.protocols if one.name == profile.protocol_name)
        wants = request.subscription(chosen)
        return TakenOver(
            member=member,
            client=arrival.client,
            instance_id=request.instance_id,
            protocols=request.protocols,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=profile.rebalance_timeout_ms,
            protocol_name=profile.protocol_name,
            wants=wants,
            epoch=0,
            generation=max(1, wants.generation),
            handed=profile.owned,
            using=profile.owned,
            joining=arrival.ref,
        )

    async def _look(self, arrival: Arrival, request: JoinGroup) -> None:
        has_seen = False
        try:
            with trio.fail_after(LOOK_TIMEOUT_S):
                await self._look_at_topics()
            has_seen = True
        except (BrokerUnreachable, trio.TooSlowError):
            has_seen = False
        finally:
            # Whatever went wrong, the client is answered; the refusal is in the log.
            self._waiting -= 1
            if has_seen:
                self._enter(arrival, request)
            else:
                self.refuse(arrival.ref, arrival.client, arrival.request, _UNSEEN)

    async def _look_in_time(self) -> None:
        """A look that nobody waits for; while no broker can be asked, whoever lacks topics goes on asking."""
        with contextlib.suppress(BrokerUnreachable):
            await self._look_at_topics()

    async def _look_at_topics(self) -> None:
        await self._topics.look()
        self._coordinator.knows_topics = True

    def _see_topics(self, change: TopicsChange) -> None:
        """Who was told of a topic that nobody had seen asks again by itself."""

    def _wake(self) -> None:
        self.task.wake()

    # ------------------------------------------------------------------ offsets

    def _fetch(self, ref: RequestRef, via: Via, request: OffsetFetch) -> None:
        """Without member and epoch: to an epoch that has moved Kafka answers 113, to none at all the offsets."""

        def take(reply: GroupReply | None) -> None:
            if isinstance(reply, OffsetFetchReply):
                judged = [ErrorCode.NONE] * len(request.groups)
                self._deliver(ref, merge_fetch(request, reply, judged, self._catalog))
            else:
                self._deliver(ref, error_reply(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

        self._access(via).ask(ref, to_memberless_fetch(request, self._catalog), take)

    # ------------------------------------------------------------------ what surrounds its turns

    def begins(self) -> None:
        """See `owner_task.Turning`."""
        if self._shares is not None:
            self._shares.end_turn()

    def revived(self) -> None:
        """See `owner_task.Turning`."""
        if self._shares is not None:
            self._shares.recount()

    def released(self) -> None:
        """See `owner_task.Turning`: an answer that named a topic nobody has seen yet has it looked for."""
        refused, self._coordinator.refused = self._coordinator.refused, []
        for member, answer in refused:
            reason = answer.reason or "the broker gives no reason"
            client_id = self._machines.client_of(member).client_id
            self._refusals.note(member.group_id, client_id, Refusal(answer.code, reason), self._now_ms())
            self.on_refused(member.group_id, answer.code)
        hidden, self._coordinator.hidden = self._coordinator.hidden, []
        for member in hidden:
            LOG.warning(
                "EB-GROUP-010: client %r of group %r may not see a topic of its own any more; it keeps what it has: "
                "give its principal the right DESCRIBE on all of its topics back",
                *(quote(self._machines.client_of(member).client_id), quote(member.group_id)),
                extra=LogFields(group_id=member.group_id, member_id=member.member_id, road=UPSTREAM),
            )
        if self._coordinator.lacks_topics and self._nursery is not None:
            self._coordinator.lacks_topics = False
            start_guarded(self._nursery, self.supervised, LOOK_UP, self._look_in_time)

    def refuse(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, refusal: Refusal) -> None:
        """See `owner_task.Turning`: the log says why, once in a while."""
        for group_id in group_ids(request):
            self._refusals.note(group_id, client.client_id, refusal, self._now_ms())
        self._deliver(ref, in_words(error_reply(request, refusal.code), refusal))

    def next_due_ms(self) -> int | None:
        """See `owner_task.Turning`."""
        return self._commits.next_drain_ms()

    def pass_due(self, now_ms: int) -> None:
        """See `owner_task.Turning`."""
        self._commits.pass_drains(now_ms)
        self._pieces.go_on()
