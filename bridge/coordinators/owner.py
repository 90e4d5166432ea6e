"""The owner of groups: the machines of classic members and the coordinator behind them, moved turn by turn."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Generic, Protocol

from bridge.coordinators.admission import (
    SessionBounds,
    check_join,
    check_name,
    judge_fetch,
    refuse_join,
    translate_commit,
)
from bridge.coordinators.arrivals import Arrival, in_turn, request_fields
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import BridgeFact, JournalWriter, Recorded, revive
from bridge.coordinators.exchange import Exchange, TurnResult
from bridge.coordinators.leaving import once_each
from bridge.coordinators.machines import NOBODY, Machines, is_present
from bridge.coordinators.offset_requests import Commit, committed_partitions
from bridge.log_lines import LogFields
from bridge.ports import Coordinator, OrderT
from translators.classic_member.departing import judge_leave
from translators.classic_member.events import (
    ConnectionLost,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
)
from translators.classic_member.member_records import end_session, profile_of
from translators.classic_member.profile import (
    Known,
    Successor,
    check_protocols,
    identify_join,
    identify_leaver,
    identify_request,
)
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import CommitAdmitted, CommitRefused, CoordinatorCalled
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import (
    JOIN_EPOCH,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    via_of,
)
from translators.dialects.offsets import GroupOffsets

LOG = logging.getLogger("epochbridge.coordinators")


class Recoverable(Coordinator[OrderT], Protocol[OrderT]):
    """A coordinator with its part in the journal."""

    @property
    def journal(self) -> Recorded:
        """What of it survives a restart."""
        ...


class GroupOwner(Generic[OrderT]):
    """All groups of one coordinator; every method takes the time and changes nothing outside."""

    def __init__(
        self,
        coordinator: Recoverable[OrderT],
        catalog: Catalog,
        machines: Machines,
        bounds: SessionBounds,
        farewell_wait_ms: int = 0,
    ) -> None:
        """`farewell_wait_ms`: how long a LeaveGroup's answer waits for the coordinator to hear of it; one that is here
        has heard by the end of the turn.
        """
        self.catalog = catalog
        self.machines = machines
        self._coordinator: Coordinator[OrderT] = coordinator
        self.beat_natively = coordinator.beat
        """The same as `beat_calmly` for a KIP-848 member, whose coordinator says so by itself."""
        self._recorded = coordinator.journal
        self._writer = JournalWriter(coordinator.journal, machines)
        self._bounds = bounds
        self._farewell_wait_ms = farewell_wait_ms
        self._exchange = Exchange(coordinator, machines)
        self.answer_calmly = self._exchange.answer_calmly
        """What a coordinator may say outside of turns; see `Exchange.answer_calmly`."""

    def take_turn(self, arrivals: Iterable[Arrival | OrderT], now_ms: int) -> TurnResult:
        """Carry out everything that is queued, as one batch, until nobody has anything left to ask."""
        taken = in_turn(arrivals)
        for arrival in taken:
            if isinstance(arrival, Arrival):
                self._accept(arrival, now_ms)
            else:
                self._coordinator.order(arrival)
            if self._coordinator.is_urgent:
                # Whoever comes next in this turn meets the group as it is then.
                self._exchange.settle(now_ms)
        result = self._finish(now_ms)
        for arrival in taken:
            if isinstance(arrival, Arrival) and isinstance(arrival.request, JoinGroup):
                arrival.request.forget()
        return result

    def beat(self, ref: RequestRef, request: Heartbeat, now_ms: int) -> TurnResult:
        """Answer one heartbeat at once."""
        if self._coordinator.takes(request):
            self._coordinator.submit(ref, via_of(ref), NOBODY, request)
        else:
            self._heartbeat(ref, request, now_ms)
        return self._finish(now_ms)

    def beat_calmly(self, request: Heartbeat, now_ms: int) -> bool:
        """Let a heartbeat count that changes nothing for anybody; False: nothing has happened, it has to be taken.

        A member of a classic group has no machine, and one whose coordinator has news is to hear them.
        """
        key = MemberRef(request.group_id, request.member_id)
        if self._coordinator.has_news(key):
            return False
        if request.instance_id is not None and self._check(request) is not ErrorCode.NONE:
            return False
        return self.machines.beat(key, request.generation, now_ms)

    def recover(self, now_ms: int) -> TurnResult:
        """After a turn that raised, see `Exchange.recover`."""
        self._writer.tear()
        return self._exchange.recover(now_ms)

    def entries(self) -> Collection[bytes]:
        """What the journal has to hold before any answer of what was done so far goes; said once."""
        return self._writer.take()

    def fact(self, name: str) -> str | None:
        """What is kept of the bridge itself under this name."""
        return self._writer.fact(name)

    def facts(self, start: str) -> Mapping[str, str]:
        """What is kept of the bridge under names that begin like this."""
        return self._writer.facts(start)

    def keep_fact(self, fact: BridgeFact) -> None:
        """Keep something about the bridge itself; `entries` has it next."""
        self._writer.keep_fact(fact)

    def revive(self, entries: Iterable[bytes], now_ms: int) -> TurnResult:
        """Go back, or on, to what a journal holds; whatever else was known is forgotten, and written down from now on.

        Raises `plain.UnreadableRecord`.
        """
        self._exchange.clear()
        for key in revive(entries, self._recorded, self.machines, self._writer, now_ms):
            self._coordinator.release(key, None)
        return self._finish(now_ms)

    def begin_commit(self, ref: RequestRef, request: Commit, now_ms: int) -> CommitAdmitted | CommitRefused:
        """Judge a commit and, if it is admitted, count it as under way until `EndCommit` (decisions 2 and 3).

        A classic member's own machine knows its generations; its coordinator knows it by its member epoch.
        """
        key = MemberRef(request.group_id, request.member_id)
        state = self.machines.get(key)
        if state is not None:
            translated = translate_commit(state, request, committed_partitions(request, self.catalog))
            if isinstance(translated, ErrorCode):
                self._exchange.suspect(key, ref, translated, now_ms)
                return CommitRefused(translated)
            request = translated
        return self._coordinator.begin_commit(ref, request, now_ms)

    def end_commit(self, commit_id: int, now_ms: int) -> TurnResult:
        """The broker answered a commit, or its time is over."""
        self._coordinator.end_commit(commit_id)
        return self._finish(now_ms)

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """Whether a member may fetch offsets (K5.20); what Kafka has as a classic group asks nothing."""
        member_id = request.member_id
        if self._coordinator.looks_classic(request.group_id):
            return ErrorCode.NONE
        state = None if member_id is None else self.machines.get(MemberRef(request.group_id, member_id))
        if state is not None:
            return judge_fetch(state, request.member_epoch)
        return self._coordinator.check_fetch(request)

    def pass_deadlines(self, now_ms: int) -> TurnResult:
        """Do what is due at the coordinator and in every machine."""
        if self._coordinator.pass_deadlines(now_ms):
            # The coordinator first: what it answers now is no longer waited for.
            self._exchange.settle(now_ms)
        for key in self.machines.take_due(now_ms):
            self._exchange.pass_deadline(key, now_ms)
        self._exchange.pass_farewells(now_ms)
        return self._finish(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When `pass_deadlines` has to be called, perhaps too early."""
        times = (
            self._coordinator.next_deadline_ms(),
            self.machines.next_deadline_ms(),
            self._exchange.farewells.next_due_ms(),
        )
        return min((at for at in times if at is not None), default=None)

    def lose_connection(self, connection: int, now_ms: int) -> TurnResult:
        """Tell the members parked on a connection that it is gone (decision 11)."""
        self._coordinator.lose_connection(connection)
        for key, ref in self.machines.take_parked(connection):
            self._exchange.feed(key, ConnectionLost(ref), now_ms)
        return self._finish(now_ms)

    # ------------------------------------------------------------------ what arrives

    def _accept(self, arrival: Arrival, now_ms: int) -> None:
        request = arrival.request
        if not isinstance(request, ConsumerGroupHeartbeat) and self._coordinator.takes(request):
            self._coordinator.submit(arrival.ref, via_of(arrival.ref), arrival.client, request)
            return
        match arrival.request:
            case JoinGroup():
                self._join(arrival, arrival.request, now_ms)
            case SyncGroup():
                self._sync(arrival.ref, arrival.request, now_ms)
            case Heartbeat():
                self._heartbeat(arrival.ref, arrival.request, now_ms)
            case LeaveGroup():
                self._leave(arrival.ref, arrival.request, now_ms)
            case ConsumerGroupHeartbeat():
                self._report(arrival, arrival.request)

    def _report(self, arrival: Arrival, request: ConsumerGroupHeartbeat) -> None:
        key = MemberRef(request.group_id, request.member_id)
        if self.machines.get(key) is not None and request.member_epoch >= JOIN_EPOCH:
            self._exchange.expect_switch(arrival.ref, key)
        self._coordinator.submit(arrival.ref, via_of(arrival.ref), arrival.client, request)

    def _join(self, arrival: Arrival, request: JoinGroup, now_ms: int) -> None:
        fresh_id = self._coordinator.newcomer_id(arrival.client, request)
        refusal = (
            check_join(request, self._bounds)
            or self._coordinator.judge_newcomer(request)
            or check_protocols(request)
            or check_name(request, fresh_id)
        )
        if refusal is not None:
            self._exchange.reply(arrival.ref, refuse_join(request, refusal.code))
            return
        group_id, instance_id = request.group_id, request.instance_id
        found = identify_join(request.member_id, instance_id, self._holder(group_id, instance_id))
        if isinstance(found, Refusal):
            self._exchange.reply(arrival.ref, refuse_join(request, found.code))
            return
        if isinstance(found, Known):
            key = MemberRef(group_id, found.member_id)
            self._exchange.forgotten_ids.forget(key)
        else:
            key = MemberRef(group_id, fresh_id)
            self._drop_forgotten(arrival, now_ms)
        former_session_ms = 0
        if isinstance(found, Successor):
            former_session_ms = self._former_session_ms(group_id, found.former)
            self._exchange.feed(MemberRef(group_id, found.former), Replaced(fresh_id), now_ms)
        self._exchange.feed(
            key,
            JoinReceived(arrival.ref, request, fresh_id, former_session_ms),
            now_ms,
            lambda: self.machines.meet(key, arrival.client, via_of(arrival.ref)),
        )

    def _former_session_ms(self, group_id: GroupId, former: MemberId) -> int:
        """The session that goes on for whoever takes the seat of `former`, 0 for none.

        Kafka lets it run where it has a classic group (K1.40); a consumer group takes the newcomer's at once (K4.50).
        """
        profile = profile_of(self.machines.get(MemberRef(group_id, former)))
        if profile is None or not self._coordinator.looks_classic(group_id):
            return 0
        return profile.session_timeout_ms

    def _drop_forgotten(self, arrival: Arrival, now_ms: int) -> None:
        """Drop the member that this newcomer was until it forgot its id (clients.md, 7)."""
        former = self._exchange.forgotten_ids.take(
            arrival.request.group_id, arrival.ref.connection, arrival.client, now_ms
        )
        if former is not None and is_present(self.machines.get(former)):
            LOG.info(
                "group %r: member %r came back under a new id",
                *(former.group_id, former.member_id),
                extra=request_fields(arrival.request, arrival.client, self.machines.road)
                | LogFields(member_id=former.member_id),
            )
            self._exchange.feed(former, LeaveReceived(), now_ms)

    def _sync(self, ref: RequestRef, request: SyncGroup, now_ms: int) -> None:
        code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL if request.lacks_protocol else self._check(request)
        if code is ErrorCode.NONE:
            key = MemberRef(request.group_id, request.member_id)
            self.machines.hear(key, ref)
            self._exchange.feed(key, SyncReceived(ref, request), now_ms)
        else:
            self._exchange.reply(ref, SyncGroupReply(error=code))

    def _heartbeat(self, ref: RequestRef, request: Heartbeat, now_ms: int) -> None:
        code = self._check(request)
        if code is not ErrorCode.NONE:
            self._exchange.reply(ref, HeartbeatReply(code))
            return
        key = MemberRef(request.group_id, request.member_id)
        self.machines.hear(key, ref)
        self._exchange.settle(now_ms)
        if self._coordinator.has_news(key):
            self._exchange.feed(key, CoordinatorCalled(), now_ms)
            self._exchange.settle(now_ms)
        if self._coordinator.takes(request):
            # The group has just turned classic, perhaps because nothing but this was waited for.
            self._coordinator.submit(ref, via_of(ref), NOBODY, request)
        else:
            self._exchange.feed(key, HeartbeatReceived(ref, request), now_ms)

    def _leave(self, ref: RequestRef, request: LeaveGroup, now_ms: int) -> None:
        """All entries are judged on the state before the batch, so one that is there twice succeeds twice (K12.19).

        Not so where Kafka has a classic group: there each finds what the one before has left (K1.59).
        """
        if not request.group_id:
            self._exchange.reply(ref, LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID))
            return
        leavers = [self._judge_leaver(request.group_id, entry) for entry in request.members]
        if self._coordinator.looks_classic(request.group_id):
            leavers = once_each(leavers)
        leaving = dict.fromkeys(key for key, code in leavers if code is ErrorCode.NONE)
        for key in leaving:
            # By this connection its farewell gets to a broker: the one that the member lived by may be closed, as
            # kafka-go leaves by a new one.
            self.machines.hear(key, ref)
            self._exchange.feed(key, LeaveReceived(), now_ms)
        if self._farewell_wait_ms:
            self._exchange.expect_farewells(ref, leaving, now_ms + self._farewell_wait_ms)
        reply = self._exchange.departures.begin(ref, request, tuple(code for _, code in leavers))
        if reply is not None:
            self._exchange.reply_leave(ref, reply)
        else:
            self._coordinator.submit(ref, via_of(ref), NOBODY, self._exchange.departures.remainder(ref))

    def _judge_leaver(self, group_id: GroupId, entry: LeavingMember) -> tuple[MemberRef, ErrorCode | None]:
        """Whom an entry means and what becomes of it; None is for the coordinator to say (K4.40 with 11.4)."""
        found = identify_leaver(entry.member_id, entry.instance_id, self._holder(group_id, entry.instance_id))
        if isinstance(found, Refusal):
            return MemberRef(group_id, entry.member_id), found.code
        key = MemberRef(group_id, found)
        state = self.machines.get(key)
        return key, None if state is None else judge_leave(state)

    def end_sessions(self, away_ms: int, until_ms: int, now_ms: int) -> frozenset[GroupId]:
        """Members whose session ended before this start have until `until_ms` to be heard of; gives their groups."""
        ended: set[GroupId] = set()
        for key in tuple(self.machines):
            state = self.machines.get(key)
            shortened = None if state is None else end_session(state, now_ms, away_ms, until_ms)
            if shortened is not None and shortened is not state:
                self.machines.begin(key, shortened)
                ended.add(key.group_id)
        return frozenset(ended)

    def _check(self, request: SyncGroup | Heartbeat) -> ErrorCode:
        """Group id, instance id and membership, in Kafka's order (K1.54, K4.20, K4.30)."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        holder = self._holder(request.group_id, request.instance_id)
        found = identify_request(request.member_id, request.instance_id, holder)
        if isinstance(found, Refusal):
            return found.code
        known = self.machines.get(MemberRef(request.group_id, found)) is not None
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_MEMBER_ID

    def _holder(self, group_id: GroupId, instance_id: InstanceId | None) -> MemberId | None:
        if instance_id is None:
            return None
        seated = self.machines.seat_of(group_id, instance_id)
        return self._coordinator.holder_of(group_id, instance_id) if seated is None else seated

    def _finish(self, now_ms: int) -> TurnResult:
        self._exchange.settle(now_ms)
        return self._exchange.result()
