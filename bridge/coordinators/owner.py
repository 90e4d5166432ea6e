"""The owner of embedded groups: the engine's state and the machines of its classic members, moved turn by turn.

It must not know sockets, tasks, the broker or when a turn is due.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bridge.coordinators.admission import SessionBounds, check_join, refuse_join
from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.asks import to_answer, to_command
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.leaving import Departures
from bridge.coordinators.machines import Machines, is_present
from bridge.coordinators.offset_requests import Commit, committed_partitions
from bridge.engine.advance import advance
from bridge.engine.commands import (
    AskRef,
    BeginCommit,
    Command,
    DeleteGroup,
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    Speaks,
)
from bridge.engine.commits import check_fetch
from bridge.engine.outcome import (
    CommitAdmitted,
    CommitRefused,
    MemberAnswer,
    MemberRemoved,
    Message,
    Notice,
    PartitionsFreed,
    TargetChanged,
)
from bridge.engine.queries import has_news, next_deadline
from bridge.engine.state import Shard
from translators.classic_member.commits import admit_commit
from translators.classic_member.effects import Ask, Effect, MemberReply, Reply
from translators.classic_member.events import (
    Answered,
    ConnectionLost,
    CoordinatorCalled,
    DeadlinePassed,
    Event,
    FencedByCoordinator,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
)
from translators.classic_member.identity import (
    Known,
    Successor,
    identify_join,
    identify_leaver,
    identify_request,
)
from translators.classic_member.states import CompletingRebalance, PreparingRebalance, Stable
from translators.dialects.admin import DeletedGroup
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import JOIN_EPOCH, NO_MEMBER_ID, GroupId, InstanceId, MemberId, RequestRef
from translators.dialects.offsets import GroupOffsets

ROUNDS_MAX = 10_000
"""How often a turn may go back and forth between machines and engine before that is taken for a bug."""

OwnerReply = MemberReply | LeaveGroupReply | ConsumerGroupHeartbeatReply


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn has to say: answers in the order they came about, and the engine's notices for whoever watches."""

    replies: tuple[tuple[RequestRef, OwnerReply], ...]
    notices: tuple[Notice, ...]


class EndlessTurn(Exception):
    """Machines and engine kept asking each other: a bug in one of them (EB-OWNER-001)."""


class GroupOwner:
    """All groups of one shard; every method takes the time and changes nothing outside."""

    def __init__(
        self, shard: Shard, catalog: Catalog, machines: Machines, fresh_member_id: Callable[[], MemberId]
    ) -> None:
        self.shard = shard
        self.catalog = catalog
        self.machines = machines
        self._fresh_member_id = fresh_member_id
        self._bounds = SessionBounds(
            shard.settings.group_min_session_timeout_ms, shard.settings.group_max_session_timeout_ms
        )
        self._departures = Departures()
        self._switching: dict[RequestRef, AskRef] = {}
        self._replies: list[tuple[RequestRef, OwnerReply]] = []
        self._commands: list[Command] = []

    def take_turn(self, arrivals: Iterable[Arrival | Command], now_ms: int) -> TurnResult:
        """Carry out everything that is queued, as one batch, until nobody has anything left to ask."""
        for arrival in arrivals:
            if isinstance(arrival, Arrival):
                self._accept(arrival, now_ms)
            else:
                self._commands.append(arrival)
        return self._finish(now_ms)

    def beat(self, ref: RequestRef, request: Heartbeat, now_ms: int) -> TurnResult:
        """Answer one heartbeat at once."""
        self._heartbeat(ref, request, now_ms)
        return self._finish(now_ms)

    def begin_commit(self, ref: RequestRef, request: Commit, now_ms: int) -> CommitAdmitted | CommitRefused:
        """Judge a commit and, if it is admitted, count it as under way until `EndCommit` (decisions 2 and 3).

        A classic member's own machine knows its generations; the engine then knows it by its member epoch.
        """
        state = self.machines.get(AskRef(request.group_id, request.member_id))
        if state is not None:
            code = admit_commit(state, request.generation, committed_partitions(request, self.catalog))
            if code is not ErrorCode.NONE:
                return CommitRefused(code)
            if isinstance(state, PreparingRebalance | CompletingRebalance | Stable):
                request = replace(request, generation=state.membership.epoch)
        outcome = advance(self.shard, [BeginCommit(ref, request)], now_ms)
        judged = next(message for _, message in outcome.replies)
        assert isinstance(judged, CommitAdmitted | CommitRefused)
        return judged

    def delete_group(self, group_id: GroupId, now_ms: int) -> ErrorCode:
        """Forget a group if it is empty (K6.7)."""
        outcome = advance(self.shard, [DeleteGroup(AskRef(group_id, NO_MEMBER_ID), group_id)], now_ms)
        return next(message.error for _, message in outcome.replies if isinstance(message, DeletedGroup))

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """Whether a member may fetch offsets (K5.20)."""
        member_id = request.member_id
        state = None if member_id is None else self.machines.get(AskRef(request.group_id, member_id))
        if isinstance(state, CompletingRebalance | Stable):
            is_current = request.member_epoch == state.tenure.generation
            return ErrorCode.NONE if is_current else ErrorCode.ILLEGAL_GENERATION
        return check_fetch(self.shard, request.group_id, member_id, request.member_epoch)

    def pass_deadlines(self, now_ms: int) -> TurnResult:
        """Do what is due in the engine and in every machine."""
        due = next_deadline(self.shard)
        if due is not None and due <= now_ms:
            self._commands.append(PassDeadlines())
        for key in self.machines.take_due(now_ms):
            self._feed(key, DeadlinePassed(), now_ms)
            self.machines.note_deadline(key)
        return self._finish(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When `pass_deadlines` has to be called, perhaps too early."""
        times = [at for at in (next_deadline(self.shard), self.machines.next_deadline_ms()) if at is not None]
        return min(times, default=None)

    def lose_connection(self, connection: int, now_ms: int) -> TurnResult:
        """Tell the members parked on a connection that it is gone (decision 11)."""
        for key, ref in self.machines.take_parked(connection):
            self._feed(key, ConnectionLost(ref), now_ms)
        return self._finish(now_ms)

    # ------------------------------------------------------------------ what arrives

    def _accept(self, arrival: Arrival, now_ms: int) -> None:
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
        key = AskRef(request.group_id, request.member_id)
        if self.machines.get(key) is not None and request.member_epoch >= JOIN_EPOCH:
            self._switching[arrival.ref] = key
        command = MemberHeartbeat(
            ref=arrival.ref,
            request=request,
            identity=arrival.client,
            speaks=Speaks.CONSUMER,
            fresh_id=self._fresh_member_id(),
        )
        self._commands.append(command)

    def _join(self, arrival: Arrival, request: JoinGroup, now_ms: int) -> None:
        refusal = check_join(request, self._bounds)
        if refusal is not None:
            self._replies.append((arrival.ref, refuse_join(request, refusal.code)))
            return
        group_id, instance_id = request.group_id, request.instance_id
        found = identify_join(request.member_id, instance_id, self._holder(group_id, instance_id))
        if isinstance(found, Refusal):
            self._replies.append((arrival.ref, refuse_join(request, found.code)))
            return
        fresh_id = self._fresh_member_id()
        if isinstance(found, Successor):
            self._feed(AskRef(group_id, found.former), Replaced(fresh_id), now_ms)
        key = AskRef(group_id, found.member_id if isinstance(found, Known) else fresh_id)
        self._feed(
            key, JoinReceived(arrival.ref, request, fresh_id), now_ms, lambda: self.machines.meet(key, arrival.client)
        )

    def _sync(self, ref: RequestRef, request: SyncGroup, now_ms: int) -> None:
        code = self._check(request)
        if code is ErrorCode.NONE:
            self._feed(AskRef(request.group_id, request.member_id), SyncReceived(ref, request), now_ms)
        else:
            self._replies.append((ref, SyncGroupReply(error=code)))

    def _heartbeat(self, ref: RequestRef, request: Heartbeat, now_ms: int) -> None:
        code = self._check(request)
        if code is not ErrorCode.NONE:
            self._replies.append((ref, HeartbeatReply(code)))
            return
        key = AskRef(request.group_id, request.member_id)
        if has_news(self.shard, *key):
            self._feed(key, CoordinatorCalled(), now_ms)
            self._settle(now_ms)
        self._feed(key, HeartbeatReceived(ref, request), now_ms)

    def _leave(self, ref: RequestRef, request: LeaveGroup, now_ms: int) -> None:
        others: list[int] = []
        for position, entry in enumerate(request.members):
            found = identify_leaver(
                entry.member_id, entry.instance_id, self._holder(request.group_id, entry.instance_id)
            )
            key = None if isinstance(found, Refusal) else AskRef(request.group_id, found)
            if key is not None and is_present(self.machines.get(key)):
                self._feed(key, LeaveReceived(), now_ms)
            else:
                others.append(position)
        reply = self._departures.begin(ref, request, others)
        if reply is not None:
            self._replies.append((ref, reply))
        else:
            self._commands.append(RemoveMembers(ref, self._departures.remainder(ref)))

    def _check(self, request: SyncGroup | Heartbeat) -> ErrorCode:
        """Group id, instance id and membership, in Kafka's order (K1.54, K4.20, K4.30)."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        holder = self._holder(request.group_id, request.instance_id)
        found = identify_request(request.member_id, request.instance_id, holder)
        if isinstance(found, Refusal):
            return found.code
        known = self.machines.get(AskRef(request.group_id, found)) is not None
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_MEMBER_ID

    def _holder(self, group_id: GroupId, instance_id: InstanceId | None) -> MemberId | None:
        if instance_id is None:
            return None
        seated = self.machines.seat_of(group_id, instance_id)
        group = self.shard.groups.get(group_id)
        return seated if seated is not None or group is None else group.instances.get(instance_id)

    # ------------------------------------------------------------------ between machines and engine

    def _finish(self, now_ms: int) -> TurnResult:
        notices = self._settle(now_ms)
        replies, self._replies = tuple(self._replies), []
        return TurnResult(replies, notices)

    def _settle(self, now_ms: int) -> tuple[Notice, ...]:
        notices: list[Notice] = []
        for _ in range(ROUNDS_MAX):
            if not self._commands:
                return tuple(notices)
            commands, self._commands = self._commands, []
            outcome = advance(self.shard, commands, now_ms)
            notices += outcome.notices
            for ref, message in outcome.replies:
                self._route(ref, message, now_ms)
            for notice in outcome.notices:
                self._hear(notice, now_ms)
        raise EndlessTurn(f"EB-OWNER-001: no rest after {ROUNDS_MAX} rounds, last asked {self._commands[:3]!r}")

    def _route(self, ref: RequestRef | AskRef, message: Message, now_ms: int) -> None:
        if isinstance(ref, AskRef):
            if isinstance(message, MemberAnswer) and self.machines.get(ref) is not None:
                self._feed(ref, Answered(to_answer(message, self.catalog)), now_ms)
        elif isinstance(message, MemberAnswer):
            self._replies.append((ref, message.reply))
            switched = self._switching.pop(ref, None)
            if switched is not None and message.reply.error is ErrorCode.NONE:
                self._switch(switched, now_ms)
        elif isinstance(message, LeaveGroupReply):
            self._replies.append((ref, self._departures.end(ref, message)))

    def _switch(self, key: AskRef, now_ms: int) -> None:
        """The member speaks the consumer protocol from now on, under its own id (K2.22): its machine is done."""
        for effect in self.machines.feed(key, FencedByCoordinator(ErrorCode.UNKNOWN_MEMBER_ID), now_ms):
            if isinstance(effect, Reply):
                self._replies.append((effect.ref, effect.message))
        self.machines.drop(key)

    def _hear(self, notice: Notice, now_ms: int) -> None:
        if isinstance(notice, TargetChanged | PartitionsFreed):
            for member_id in notice.member_ids:
                key = AskRef(notice.group_id, member_id)
                if isinstance(self.machines.get(key), PreparingRebalance):
                    self._feed(key, CoordinatorCalled(), now_ms)
        elif isinstance(notice, MemberRemoved):
            key = AskRef(notice.group_id, notice.member_id)
            if is_present(self.machines.get(key)):
                self._feed(key, FencedByCoordinator(ErrorCode.UNKNOWN_MEMBER_ID), now_ms)

    def _feed(self, key: AskRef, event: Event, now_ms: int, met: Callable[[], None] | None = None) -> None:
        effects: Sequence[Effect] = self.machines.feed(key, event, now_ms)
        if met is not None and self.machines.get(key) is not None:
            met()
        for effect in effects:
            if isinstance(effect, Reply):
                self._replies.append((effect.ref, effect.message))
            elif isinstance(effect, Ask):
                self._commands.append(to_command(effect.inquiry, self.machines.client_of(key), self.catalog))
