"""The engine as a coordinator: `ports.Coordinator` in its commands, replies and notices."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from bridge.coordinators.admission import SessionBounds, check_join, check_name, refuse_join
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.downgrades import Downgrades, taken_over
from bridge.coordinators.embedded.engine_commands import classic_command, takes_classic, to_answer, to_command
from bridge.coordinators.embedded.shard_journal import ShardJournal
from bridge.coordinators.embedded.shares import Shares
from bridge.engine.advance import advance
from bridge.engine.commands import (
    BeginCommit,
    Command,
    ConvertGroup,
    DeleteGroup,
    EndCommit,
    GroupType,
    MemberHeartbeat,
    PassDeadlines,
    Speaks,
)
from bridge.engine.commits import check_fetch
from bridge.engine.consumer.heartbeats import find_fault, stays_classic, take_calm_heartbeat
from bridge.engine.consumer.membership import admit, has_room
from bridge.engine.model import Member
from bridge.engine.outcome import (
    Converted,
    DowngradeDue,
    GroupDowngraded,
    GroupGivenUp,
    GroupUpgraded,
    MemberAnswer,
    MemberRemoved,
    Message,
    NotConverted,
    Notice,
    Outcome,
    PartitionsFreed,
    RemovalCause,
    TargetChanged,
)
from bridge.engine.queries import group_type, has_members, has_news, looks_classic, next_deadline
from bridge.engine.state import Shard, settings_of
from bridge.ports import Members
from translators.dialects.admin import DeletedGroup
from translators.dialects.classic import HeartbeatReply, JoinGroup, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from translators.dialects.configs import AlteredResource, MigrationPolicy
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import (
    ClassicGroupRequest,
    CommitAdmitted,
    CommitRefused,
    CoordinatorCommand,
    CoordinatorEvent,
    DepartReason,
    Farewell,
    GroupReleased,
    Inquiry,
    MemberAnswered,
    MemberFenced,
    MembersCalled,
    RequestAnswered,
)
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_MEMBER_ID,
    STATIC_LEAVE_EPOCH,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    RequestRef,
    Via,
    classic_member_id,
)
from translators.dialects.offsets import GroupOffsets, OffsetCommit, TxnOffsetCommit


@dataclass(frozen=True, slots=True)
class FreshIds:
    """Ids that no member has had: how those of classic members end, which are named after their clients, and whole ones
    for members of the consumer protocol that bring none.
    """

    ending: Callable[[], str]
    whole: Callable[[], MemberId]


class Watcher(Protocol):
    """Hears what the engine did and why machines gave their members up; must not raise."""

    def advanced(self, outcome: Outcome) -> None:
        """The engine carried out commands; its records are applied."""
        ...

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """A classic client's member is about to leave the engine."""
        ...


class Unwatched:
    """Nobody watches."""

    def advanced(self, outcome: Outcome) -> None:
        """See `Watcher`."""

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """See `Watcher`."""


_NOBODYS = RequestRef(0, 0, 0)
"""Where nothing is answered."""
_FAREWELLS = {
    DepartReason.SESSION_EXPIRED: RemovalCause.SESSION_EXPIRED,
    DepartReason.REJOIN_EXPIRED: RemovalCause.REBALANCE_TIMED_OUT,
    DepartReason.SYNC_EXPIRED: RemovalCause.SYNC_TIMED_OUT,
    DepartReason.REPLACED: RemovalCause.REPLACED,
}
"""Why the engine lost a member whose machine gave it up; any other reason is a departure by itself."""
Verdict = Converted | NotConverted


class EmbeddedCoordinator:
    """One shard of the engine; what watchers, the journal's shares and operators want of it goes with it.

    `notices` and `verdicts` (what became of operators' orders) gather until somebody takes them.
    """

    def __init__(self, shard: Shard, catalog: Catalog, members: Members, shares: Shares, fresh_ids: FreshIds) -> None:
        self.shard = shard
        self.shares = shares
        self.journal = ShardJournal(shard, catalog)
        # Asked for each heartbeat, so without a call between (the shard stays the same, whatever a journal brings).
        self.has_news = partial(has_news, shard)
        self.takes = partial(takes_classic, shard)
        self.watcher: Watcher = Unwatched()
        self.is_urgent = False
        self.bounds = SessionBounds(
            shard.settings.group_min_session_timeout_ms, shard.settings.group_max_session_timeout_ms
        )
        self._catalog = catalog
        self._fresh_ids = fresh_ids
        self._downgrades = Downgrades(shard, members)
        self.look_again = self._downgrades.look_again
        self._commands: list[Command] = []
        self._said: list[CoordinatorEvent] = []
        self._reasons: dict[MemberRef, DepartReason] = {}
        self._notices: list[Notice] = []
        self._verdicts: list[tuple[RequestRef, Verdict]] = []
        self._altered: AlteredResource | None = None

    # ------------------------------------------------------------------ what it takes

    def submit(self, ref: ReplyTo, via: Via, client: ClientIdentity, command: CoordinatorCommand) -> None:
        """See `ports.Coordinator`; by which connection something came makes no difference here."""
        del via
        match command:
            case Inquiry() | Farewell():
                assert isinstance(ref, MemberRef), ref
                if isinstance(command, Farewell):
                    key = MemberRef(ref.group_id, ref.member_id)
                    self._reasons[key] = command.reason
                    self.watcher.departs(key, command.reason)
                self._commands.append(to_command(command, client, self._catalog, ref.number))
            case ConsumerGroupHeartbeat():
                self._commands.append(self._native(ref, client, command))
            case _:
                self._submit_classic(ref, client, command)

    def would_refuse(self, client: ClientIdentity, request: ConsumerGroupHeartbeat) -> bool:
        """Whether the engine would refuse a KIP-848 member's heartbeat now, whatever its pattern matches."""
        fresh_id = request.member_id or NO_MEMBER_ID
        command = MemberHeartbeat(
            ref=_NOBODYS, request=request, identity=client, speaks=Speaks.CONSUMER, fresh_id=fresh_id
        )
        verdict = find_fault(command, self.shard.assignors) or admit(self.shard, command)
        if isinstance(verdict, Refusal) and verdict.code is not ErrorCode.INVALID_REGULAR_EXPRESSION:
            return True
        return stays_classic(self.shard, request)

    def _native(self, ref: ReplyTo, client: ClientIdentity, request: ConsumerGroupHeartbeat) -> Command:
        if request.member_epoch == JOIN_EPOCH and self._is_classic(request.group_id):
            self.is_urgent = True
        return MemberHeartbeat(
            ref=ref,
            request=request,
            identity=client,
            speaks=Speaks.CONSUMER,
            fresh_id=request.member_id or self._fresh_ids.whole(),
        )

    def _submit_classic(self, ref: ReplyTo, client: ClientIdentity, request: ClassicGroupRequest) -> None:
        """A classic group names its newcomers by an ending of ours; the name has to fit into an answer."""
        ending = self._fresh_ids.ending() if isinstance(request, JoinGroup) and not request.member_id else ""
        if isinstance(request, JoinGroup) and isinstance(ref, RequestRef) and check_join(request, self.bounds) is None:
            refusal = check_name(request, classic_member_id(client.client_id, request.instance_id, ending))
            if refusal is not None:
                self._said.append(RequestAnswered(ref, refuse_join(request, refusal.code)))
                return
        self._commands.append(classic_command(ref, client, request, MemberId(ending)))

    def order(self, order: Command) -> None:
        """See `ports.Coordinator`: the engine's own commands, for what no client asked for."""
        self.is_urgent = self.is_urgent or isinstance(order, ConvertGroup)
        self._commands.append(order)

    def release(self, member: MemberRef, reason: DepartReason | None) -> None:
        """See `ports.Coordinator`; a static seat that was left to a successor stays for it."""
        found = self._member(member)
        if found is None or found.subscription.speaks is not Speaks.CLASSIC:
            return
        if reason is DepartReason.REPLACED and found.current.epoch == STATIC_LEAVE_EPOCH:
            return
        if reason is not None:
            self.watcher.departs(member, reason)
        farewell = Farewell(
            group_id=member.group_id,
            member_id=member.member_id,
            member_epoch=LEAVE_EPOCH,
            instance_id=found.subscription.instance_id,
            reason=reason or DepartReason.UNANSWERED,
        )
        self._commands.append(to_command(farewell, found.subscription.identity, self._catalog, member.number))

    def recover(self) -> None:
        """See `ports.Coordinator`."""
        self._drop()
        self._verdicts += self._downgrades.abandon_orders()

    def clear(self) -> None:
        """See `ports.Coordinator`."""
        self._drop()
        self._downgrades.clear()
        self._notices.clear()
        self._verdicts.clear()

    def _drop(self) -> None:
        self.is_urgent = False
        self._commands.clear()
        self._said.clear()
        self._reasons.clear()
        self._altered = None
        self.shares.recount()

    def lose_connection(self, connection: int) -> None:
        """See `ports.Coordinator`: members outlive their connections."""

    # ------------------------------------------------------------------ what it says

    def advance(self, now_ms: int) -> Sequence[CoordinatorEvent] | None:
        """See `ports.Coordinator`."""
        if not self._commands and not self._said:
            return None
        said, self._said = self._said, []
        if not self._commands:
            return said
        commands, self._commands = self._commands, []
        self.is_urgent = False
        outcome = self._advance(commands, now_ms)
        for ref, message in outcome.replies:
            self._route(said, ref, message)
        for notice in outcome.notices:
            self._notices.append(self._explained(notice))
            said += self._told(notice)
        self._reasons.clear()
        return said

    def go_on(self, now_ms: int) -> bool:
        """See `ports.Coordinator`: a group that was to turn classic may be ready now."""
        following = self._downgrades.next_step(now_ms) if self._downgrades.due else None
        if following is not None:
            self._commands.append(following)
        return following is not None

    def pass_deadlines(self, now_ms: int) -> bool:
        """See `ports.Coordinator`."""
        due = next_deadline(self.shard)
        if due is None or due > now_ms:
            return False
        self._commands.append(PassDeadlines())
        return True

    def next_deadline_ms(self) -> int | None:
        """See `ports.Coordinator`."""
        return next_deadline(self.shard)

    def take_notices(self) -> tuple[Notice, ...]:
        """What the engine noticed since the last call."""
        notices, self._notices = tuple(self._notices), []
        return notices

    def take_verdicts(self) -> tuple[tuple[RequestRef, Verdict], ...]:
        """What became of operators' orders since the last call."""
        verdicts, self._verdicts = tuple(self._verdicts), []
        return verdicts

    def _advance(self, commands: Sequence[Command], now_ms: int) -> Outcome:
        """Let the engine carry out commands, and note what has to survive."""
        outcome = advance(self.shard, commands, now_ms)
        self.journal.note(outcome.records)
        self.shares.note(outcome.records)
        self._downgrades.hear(outcome.records)
        self.watcher.advanced(outcome)
        return outcome

    def _route(self, said: list[CoordinatorEvent], ref: ReplyTo, message: Message) -> None:
        if isinstance(message, AlteredResource):
            self._altered = message
        elif isinstance(ref, MemberRef):
            if isinstance(message, MemberAnswer):
                said.append(MemberAnswered(ref, to_answer(message, self._catalog)))
        elif isinstance(message, MemberAnswer):
            said.append(RequestAnswered(ref, message.reply))
        elif isinstance(message, (JoinGroupReply, SyncGroupReply, HeartbeatReply, LeaveGroupReply)):
            said.append(RequestAnswered(ref, message))
        elif isinstance(message, (Converted, NotConverted)):
            self._verdicts.append((ref, message))

    def _told(self, notice: Notice) -> Iterator[CoordinatorEvent]:
        match notice:
            case TargetChanged(group_id, member_ids):
                yield MembersCalled(group_id, member_ids, can_wait=True)
            case PartitionsFreed(group_id, _, member_ids):
                yield MembersCalled(group_id, member_ids)
            case MemberRemoved():
                yield MemberFenced(MemberRef(notice.group_id, notice.member_id), _removal_code(notice.cause))
            case GroupUpgraded():
                self._downgrades.note_upgraded(notice.group_id)
                yield from taken_over(self.shard, notice)
            case DowngradeDue():
                self._downgrades.note(notice)
            case GroupDowngraded(group_id) | GroupGivenUp(group_id):
                self._downgrades.note_done(group_id)
                yield GroupReleased(group_id)
            case _:
                pass

    def _explained(self, notice: Notice) -> Notice:
        """The engine takes every farewell of a machine for a member that left: the machine said why."""
        if not isinstance(notice, MemberRemoved):
            return notice
        reason = self._reasons.get(MemberRef(notice.group_id, notice.member_id))
        return notice if reason is None else replace(notice, cause=_FAREWELLS.get(reason, notice.cause))

    # ------------------------------------------------------------------ what it is asked at once

    def open_questions(self) -> Collection[MemberRef]:
        """See `ports.Coordinator`."""
        parked = (ask.ref for group in self.shard.groups.values() for ask in group.parked)
        return {ref for ref in parked if isinstance(ref, MemberRef)}

    def beat(self, client: ClientIdentity, request: ConsumerGroupHeartbeat, now_ms: int) -> bool:
        """See `ports.Coordinator`; without topic ids KIP-848 members are refused."""
        return self._catalog.has_ids and take_calm_heartbeat(self.shard, request, client, now_ms)

    def looks_classic(self, group_id: GroupId) -> bool:
        """See `ports.Coordinator`."""
        return looks_classic(self.shard, group_id)

    def judge_newcomer(self, request: JoinGroup) -> Refusal | None:
        """See `ports.Coordinator`."""
        return judge_newcomer(self.shard, request)

    def newcomer_id(self, client: ClientIdentity, request: JoinGroup) -> MemberId:
        """The id of whoever has none, as Kafka forms it: named after the client in a classic group, and what it gives
        to all newcomers of a consumer group that has members (K1.17, K4.2).
        """
        if request.member_id:
            return request.member_id
        group_id = request.group_id
        if has_members(self.shard, group_id) and not looks_classic(self.shard, group_id):
            return self._fresh_ids.whole()
        return classic_member_id(client.client_id, request.instance_id, self._fresh_ids.ending())

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """See `ports.Coordinator`; seats of classic groups are not asked for here."""
        group = self.shard.groups.get(group_id)
        return None if group is None else group.instances.get(instance_id)

    def begin_commit(
        self, ref: RequestRef, request: OffsetCommit | TxnOffsetCommit, now_ms: int
    ) -> CommitAdmitted | CommitRefused:
        """See `ports.Coordinator`."""
        outcome = self._advance([BeginCommit(ref, request)], now_ms)
        judged = next(message for _, message in outcome.replies)
        assert isinstance(judged, (CommitAdmitted, CommitRefused)), "what BeginCommit is answered with"
        return judged

    def end_commit(self, commit_id: int) -> None:
        """See `ports.Coordinator`."""
        self._commands.append(EndCommit(commit_id))

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """See `ports.Coordinator`."""
        return check_fetch(self.shard, request.group_id, request.member_id, request.member_epoch)

    def delete_group(self, group_id: GroupId, now_ms: int) -> ErrorCode:
        """Forget a group if it is empty (K6.7)."""
        outcome = self._advance([DeleteGroup(MemberRef(group_id, NO_MEMBER_ID), group_id)], now_ms)
        return next(message.error for _, message in outcome.replies if isinstance(message, DeletedGroup))

    def take_altered(self) -> AlteredResource | None:
        """What became of the settings of a group since the last call, None if nothing was altered."""
        altered, self._altered = self._altered, None
        return altered

    def _is_classic(self, group_id: GroupId) -> bool:
        return group_type(self.shard, group_id) is GroupType.CLASSIC

    def _member(self, member: MemberRef) -> Member | None:
        group = self.shard.groups.get(member.group_id)
        return None if group is None else group.members.get(member.member_id)


def _removal_code(cause: RemovalCause) -> ErrorCode:
    """Who lost a static seat to another must not take it back (K1.40); everybody else may join again."""
    return ErrorCode.FENCED_INSTANCE_ID if cause is RemovalCause.REPLACED else ErrorCode.UNKNOWN_MEMBER_ID


def judge_newcomer(state: Shard, request: JoinGroup) -> Refusal | None:
    """Why a consumer group with members takes nobody in: it is full, or, where groups begin classic and may not change
    their kind, it has KIP-848 members only (K4.3; K3.3 with 11.4).
    """
    group = state.groups.get(request.group_id)
    if group is None or not group.members:
        return None
    # Who comes back to its seat names no id; to any other the group is full, as in Kafka, which looks at ids first.
    seat = None if request.member_id else request.instance_id
    if not has_room(state, group, request.member_id, seat):
        return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {quote(request.group_id)!r} is full")
    settings = settings_of(state, request.group_id)
    is_closed = settings.group_begins_classic and settings.group_consumer_migration_policy is MigrationPolicy.DISABLED
    if is_closed and group.natives == len(group.members):
        reason = f"group {quote(request.group_id)!r} speaks KIP-848, and no group changes its kind (policy disabled)"
        return Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, reason)
    return None
