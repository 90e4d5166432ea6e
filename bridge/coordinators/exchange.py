"""Between the machines of classic members and the engine: what one asks and the other answers, until both are at rest.

It must not know requests of clients, the broker or when a turn is due.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from bridge.coordinators.asks import to_answer, to_command
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.conversions import Conversions
from bridge.coordinators.durability import Scribe
from bridge.coordinators.ghosts import FORGETTING_CODES, Ghosts
from bridge.coordinators.leaving import Departures
from bridge.coordinators.machines import Machines, is_present
from bridge.coordinators.shares import Shares
from bridge.coordinators.watching import Unwatched, Watcher
from bridge.engine.advance import advance
from bridge.engine.commands import Command, Speaks
from bridge.engine.model import Member
from bridge.engine.outcome import (
    Converted,
    DowngradeDue,
    GroupDowngraded,
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
from bridge.engine.state import Shard
from translators.classic_member.effects import Ask, Depart, Effect, MemberReply, Reply
from translators.classic_member.events import Answered, Event, LeaveReceived
from translators.classic_member.states import Leaving, PreparingRebalance, Stable, State
from translators.classic_member.tenure import usable
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, Farewell, FencedByCoordinator, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, MemberRef, RequestRef

ROUNDS_MAX = 10_000
"""How often a turn may go back and forth between machines and engine before that is taken for a bug."""

LOG = logging.getLogger("epochbridge.coordinators")
_FAREWELLS = {
    DepartReason.SESSION_EXPIRED: RemovalCause.SESSION_EXPIRED,
    DepartReason.REJOIN_EXPIRED: RemovalCause.REBALANCE_TIMED_OUT,
    DepartReason.SYNC_EXPIRED: RemovalCause.SYNC_TIMED_OUT,
    DepartReason.REPLACED: RemovalCause.REPLACED,
}
"""Why the engine lost a member whose machine gave it up; any other reason is a departure by itself."""
OwnerReply = MemberReply | LeaveGroupReply | ConsumerGroupHeartbeatReply
Verdict = Converted | NotConverted


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn has to say: answers in the order they came about, the engine's notices for whoever watches, and what
    became of operators' orders.
    """

    replies: tuple[tuple[RequestRef, OwnerReply], ...]
    notices: tuple[Notice, ...]
    verdicts: tuple[tuple[RequestRef, Verdict], ...] = ()


class EndlessTurn(Exception):
    """Machines and engine kept asking each other: a bug in one of them (EB-OWNER-001)."""


class Exchange:
    """The commands, replies and notices of the turn that runs, and the questions that outlive it."""

    def __init__(self, shard: Shard, catalog: Catalog, machines: Machines) -> None:
        self.shard = shard
        self.catalog = catalog
        self.machines = machines
        self.scribe = Scribe(shard, machines)
        self.shares = Shares(shard, machines)
        self.departures = Departures()
        self.conversions = Conversions(shard, machines)
        self.ghosts = Ghosts()
        self.watcher: Watcher = Unwatched()
        self._switching: dict[RequestRef, MemberRef] = {}
        self._asked: dict[MemberRef, int] = {}
        self._numbers = count(1)
        self._replies: list[tuple[RequestRef, OwnerReply]] = []
        self._notices: list[Notice] = []
        self._verdicts: list[tuple[RequestRef, Verdict]] = []
        self._commands: list[Command] = []

    def tell(self, command: Command) -> None:
        """Queue a command for the engine."""
        self._commands.append(command)

    def reply(self, ref: RequestRef, reply: OwnerReply) -> None:
        """Queue an answer."""
        self._replies.append((ref, reply))

    def expect_switch(self, ref: RequestRef, key: MemberRef) -> None:
        """If the heartbeat `ref` is accepted, the classic member `key` speaks the consumer protocol from then on."""
        self._switching[ref] = key

    def result(self) -> TurnResult:
        """Everything there is to say; it is said once."""
        replies, self._replies = tuple(self._replies), []
        notices, self._notices = tuple(self._notices), []
        verdicts, self._verdicts = tuple(self._verdicts), []
        return TurnResult(replies, notices, verdicts)

    def recover(self, now_ms: int) -> TurnResult:
        """After a turn that raised: nothing half done stays behind, and nobody waits for an answer that won't come.

        What the turn had decided until then counts, since states have moved; questions that it lost are answered
        REQUEST_TIMED_OUT, so that their machines ask again.
        """
        self.scribe.tear()
        self.shares.recount()
        self._commands.clear()
        self._switching.clear()
        self.departures.clear()
        self._verdicts += self.conversions.abandon_orders()
        self._replies += self.conversions.abandon_syncs()
        parked = {ask.ref for group in self.shard.groups.values() for ask in group.parked}
        lost = [key for key, number in self._asked.items() if key._replace(number=number) not in parked]
        for key in lost:
            del self._asked[key]
            self._tell_lost(key, now_ms)
        self.machines.note_all_deadlines()
        return self.result()

    def _tell_lost(self, key: MemberRef, now_ms: int) -> None:
        try:
            self.feed(key, Answered(Refused(ErrorCode.REQUEST_TIMED_OUT, "the turn failed")), now_ms)
        except Exception:
            LOG.exception("EB-OWNER-002: member %r of group %r is dropped", key.member_id, key.group_id)
            self.machines.drop(key)

    def clear(self) -> None:
        """Forget every question and answer: the state they belong to is gone."""
        self.result()
        self.shares.recount()
        self._commands.clear()
        self._switching.clear()
        self._asked.clear()
        self.departures.clear()
        self.conversions.clear()

    def advance(self, commands: Sequence[Command], now_ms: int) -> Outcome:
        """Let the engine carry out commands, and write down what has to survive."""
        outcome = advance(self.shard, commands, now_ms)
        self.scribe.note(outcome.records)
        self.shares.note(outcome.records)
        self.watcher.advanced(outcome)
        return outcome

    def settle(self, now_ms: int) -> None:
        """Let machines and engine talk until nobody has anything left to ask."""
        for _ in range(ROUNDS_MAX):
            if not self._commands and not self._go_on_converting(now_ms):
                return
            commands, self._commands = self._commands, []
            outcome = self.advance(commands, now_ms)
            self._notices += map(self._explained, outcome.notices)
            for ref, message in outcome.replies:
                self._route(ref, message, now_ms)
            for notice in outcome.notices:
                self._hear(notice, now_ms)
        raise EndlessTurn(f"EB-OWNER-001: no rest after {ROUNDS_MAX} rounds, last asked {self._commands[:3]!r}")

    def _explained(self, notice: Notice) -> Notice:
        """The engine takes every farewell of a machine for a member that left: the machine knows why."""
        if not isinstance(notice, MemberRemoved):
            return notice
        state = self.machines.get(MemberRef(notice.group_id, notice.member_id))
        return (
            replace(notice, cause=_FAREWELLS.get(state.reason, notice.cause)) if isinstance(state, Leaving) else notice
        )

    def _go_on_converting(self, now_ms: int) -> bool:
        """At rest: do what conversions left for this moment; whether there was anything."""
        late = self.conversions.take_late()
        for key, event in late:
            self.feed(key, event, now_ms)
        following = None if late else self.conversions.next_step(now_ms)
        if following is not None:
            self.tell(following)
        return bool(late) or following is not None

    def _route(self, ref: RequestRef | MemberRef, message: Message, now_ms: int) -> None:
        if isinstance(ref, MemberRef):
            if isinstance(message, MemberAnswer):
                self._answer(ref, message, now_ms)
        elif isinstance(message, MemberAnswer):
            self._replies.append((ref, message.reply))
            switched = self._switching.pop(ref, None)
            if switched is not None and message.reply.error is ErrorCode.NONE:
                self._switch(switched, now_ms)
        elif isinstance(message, LeaveGroupReply):
            self._replies.append((ref, self.departures.end(ref, message)))
        elif isinstance(message, JoinGroupReply | SyncGroupReply | HeartbeatReply):
            self._replies.append((ref, message))
        elif isinstance(message, Converted | NotConverted):
            self._verdicts.append((ref, message))

    def _answer(self, ref: MemberRef, message: MemberAnswer, now_ms: int) -> None:
        """Only the machine that asked hears the answer, not a later one under the same id."""
        key = ref._replace(number=0)
        if self._asked.get(key) == ref.number:
            del self._asked[key]
            self.feed(key, Answered(to_answer(message, self.catalog)), now_ms)

    def _switch(self, key: MemberRef, now_ms: int) -> None:
        """The member speaks the consumer protocol from now on, under its own id (K2.22): its machine is done.

        Leaving makes the machine answer what is parked; its farewell is not passed on.
        """
        for effect in self.machines.feed(key, LeaveReceived(), now_ms):
            if isinstance(effect, Reply):
                self._replies.append((effect.ref, effect.message))
        self._asked.pop(key, None)
        self.machines.drop(key)

    def _hear(self, notice: Notice, now_ms: int) -> None:
        if isinstance(notice, TargetChanged):
            for member_id in notice.member_ids:
                key = MemberRef(notice.group_id, member_id)
                if _waits_or_has_to_spare(self.machines.get(key)):
                    self.feed(key, CoordinatorCalled(), now_ms)
        elif isinstance(notice, PartitionsFreed):
            for member_id in notice.member_ids:
                key = MemberRef(notice.group_id, member_id)
                if is_present(self.machines.get(key)):
                    self.feed(key, CoordinatorCalled(), now_ms)
        elif isinstance(notice, MemberRemoved):
            key = MemberRef(notice.group_id, notice.member_id)
            if is_present(self.machines.get(key)):
                self.feed(key, FencedByCoordinator(_removal_code(notice.cause)), now_ms)
        else:
            self._hear_conversion(notice, now_ms)

    def _hear_conversion(self, notice: Notice, now_ms: int) -> None:
        if isinstance(notice, GroupUpgraded):
            for key, event in self.conversions.begin(notice, now_ms):
                self.feed(key, event, now_ms)
            self._replies += self.conversions.take_refused()
        elif isinstance(notice, DowngradeDue):
            self.conversions.note_due(notice)
        elif isinstance(notice, GroupDowngraded):
            for key in self.conversions.keys_of(notice.group_id):
                self._asked.pop(key, None)
                self.ghosts.forget(key)
            self._commands += self.conversions.leave(notice.group_id)

    def feed(self, key: MemberRef, event: Event, now_ms: int, met: Callable[[], None] | None = None) -> None:
        """Let one thing happen to a member; `met` is called in between if it is a member then."""
        effects = self.machines.feed(key, event, now_ms)
        if met is not None and self.machines.get(key) is not None:
            met()
        for effect in effects:
            self._carry_out(key, effect, now_ms)

    def _carry_out(self, key: MemberRef, effect: Effect, now_ms: int) -> None:
        if isinstance(effect, Reply):
            self._replies.append((effect.ref, effect.message))
            if not isinstance(effect.message, JoinGroupReply):
                self.suspect(key, effect.ref, effect.message.error, now_ms)
        elif isinstance(effect, Ask):
            state = self.machines.get(key)
            if isinstance(state, Leaving):
                self.watcher.departs(key, state.reason)
            number = self._asked[key] = next(self._numbers)
            asked = to_command(effect.inquiry, self.machines.client_of(key), self.catalog, number)
            self._commands.append(asked)
        else:
            self._depart(key, effect)

    def suspect(self, key: MemberRef, ref: RequestRef, code: ErrorCode, now_ms: int) -> None:
        """A member that is still there was told that its generation or id is gone: its client may forget the id."""
        if code in FORGETTING_CODES and is_present(self.machines.get(key)):
            self.ghosts.note(key, ref.connection, self.machines.client_of(key), now_ms)

    def _depart(self, key: MemberRef, effect: Depart) -> None:
        """The machine is gone; one that gave up on its question may have left its member behind."""
        self._asked.pop(key, None)
        self.ghosts.forget(key)
        group = self.shard.groups.get(key.group_id)
        member = None if group is None else group.members.get(key.member_id)
        if member is None or member.subscription.speaks is not Speaks.CLASSIC:
            return
        if effect.reason is DepartReason.REPLACED and member.current.epoch == STATIC_LEAVE_EPOCH:
            return
        self.watcher.departs(key, effect.reason)
        self._say_farewell(key, member, effect.reason)

    def dismiss(self, key: MemberRef) -> None:
        """Let a member leave the engine that has no machine."""
        self._say_farewell(key, self.shard.groups[key.group_id].members[key.member_id], DepartReason.UNANSWERED)

    def _say_farewell(self, key: MemberRef, member: Member, reason: DepartReason) -> None:
        farewell = Farewell(
            group_id=key.group_id,
            member_id=key.member_id,
            member_epoch=LEAVE_EPOCH,
            instance_id=member.subscription.instance_id,
            reason=reason,
        )
        client = member.subscription.identity
        self._commands.append(to_command(farewell, client, self.catalog, next(self._numbers)))


def _waits_or_has_to_spare(state: State | None) -> bool:
    """Whether a new target may concern a member before its client's next heartbeat: its JoinGroup is parked, or it was
    granted what its client has not been told of, which it can let go at once.
    """
    if isinstance(state, Stable):
        return not state.membership.granted <= usable(state.tenure)
    return isinstance(state, PreparingRebalance)


def _removal_code(cause: RemovalCause) -> ErrorCode:
    """Who lost a static seat to another must not take it back (K1.40); everybody else may join again."""
    return ErrorCode.FENCED_INSTANCE_ID if cause is RemovalCause.REPLACED else ErrorCode.UNKNOWN_MEMBER_ID
