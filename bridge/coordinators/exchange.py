"""Between the machines of classic members and their coordinator: what one asks and the other answers, until both are
at rest; with the members whose client forgot its id when it was told that its generation is gone (clients.md, 7).
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import count
from typing import Generic, assert_never

from bridge.coordinators.leaving import Departures, OpenFarewells
from bridge.coordinators.machines import Machines, is_present
from bridge.coordinators.takeover import Takeovers
from bridge.log_lines import LogFields
from bridge.ports import Coordinator, OrderT
from translators.classic_member.departing import waits_for_farewell
from translators.classic_member.events import (
    Answered,
    Ask,
    DeadlinePassed,
    Depart,
    Effect,
    Event,
    LeaveReceived,
    Reply,
)
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    PreparingRebalance,
    Stable,
    State,
)
from translators.classic_member.tenure import usable
from translators.dialects.classic import JoinGroupReply, LeaveGroupReply
from translators.dialects.coordinator import (
    CoordinatorCalled,
    CoordinatorEvent,
    Farewell,
    FencedByCoordinator,
    Granted,
    GroupReleased,
    Inquiry,
    MemberAnswered,
    MemberFenced,
    MemberReleased,
    MembersCalled,
    MembershipReply,
    MembersTakenOver,
    Refused,
    RequestAnswered,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberRef, RequestRef

FORGETTING_MAX_MS = 10_000
"""How soon a client that forgets its id joins again: it tries at once, and at most after a few backoffs."""
REMEMBERED_MAX = 10_000
"""How many suspects are remembered; the oldest are dropped, and then live until their session ends."""
NAMES_CHARS_MAX = 1_000
"""The names of a group, a member and a client together: Kafka lets each have 32 kB."""
FORGETTING_CODES = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})


@dataclass(frozen=True, slots=True)
class _Suspect:
    connection: int
    client: tuple[str, str]
    told_ms: int


Sign = tuple[GroupId, int | tuple[str, str]]
"""By what a client that forgot its id is known again in its group: its connection, or its id and host."""


class ForgottenIds:
    """Members whose client may have forgotten their id; a client is known by its connection, or by its id and host."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._suspects: OrderedDict[MemberRef, _Suspect] = OrderedDict()
        self._by_sign: dict[Sign, OrderedDict[MemberRef, None]] = {}
        """Found without a look at all others: 10,000 that are told so join again at once."""
        self._remembered_max = remembered_max

    def note(self, key: MemberRef, connection: int, client: ClientIdentity, now_ms: int) -> None:
        """A member was just told that its generation or its id is gone; one with a name as nobody gives is let be."""
        self.forget(key)
        if len(key.group_id) + len(key.member_id) + len(client.client_id) > NAMES_CHARS_MAX:
            return
        suspect = self._suspects[key] = _Suspect(connection, (client.client_id, client.client_host), now_ms)
        for sign in _signs(key.group_id, suspect):
            self._by_sign.setdefault(sign, OrderedDict())[key] = None
        if len(self._suspects) > self._remembered_max:
            self.forget(next(iter(self._suspects)))

    def forget(self, key: MemberRef) -> None:
        """The member spoke under its own id again, or is gone."""
        suspect = self._suspects.pop(key, None)
        if suspect is None:
            return
        for sign in _signs(key.group_id, suspect):
            alike = self._by_sign[sign]
            del alike[key]
            if not alike:
                del self._by_sign[sign]

    def take(self, group_id: GroupId, connection: int, client: ClientIdentity, now_ms: int) -> MemberRef | None:
        """The member that a newcomer to the group seems to have been; it is told once."""
        self._drop_old(now_ms)
        signs = _signs(group_id, _Suspect(connection, (client.client_id, client.client_host), now_ms))
        found = next((next(iter(alike)) for sign in signs if (alike := self._by_sign.get(sign))), None)
        if found is not None:
            self.forget(found)
        return found

    def _drop_old(self, now_ms: int) -> None:
        while self._suspects:
            key, suspect = next(iter(self._suspects.items()))
            if now_ms - suspect.told_ms <= FORGETTING_MAX_MS:
                return
            self.forget(key)


def _signs(group_id: GroupId, suspect: _Suspect) -> tuple[Sign, Sign]:
    """By its connection first: of several clients that are called alike it tells which."""
    return (group_id, suspect.connection), (group_id, suspect.client)


ROUNDS_MAX = 10_000
"""How often a turn may go back and forth between machines and coordinator before that is taken for a bug."""

LOG = logging.getLogger("epochbridge.coordinators")


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn has to say: answers in the order they came about."""

    replies: tuple[tuple[RequestRef, MembershipReply], ...]


class EndlessTurn(Exception):
    """Machines and coordinator kept asking each other: a bug in one of them (EB-OWNER-001)."""


class Exchange(Generic[OrderT]):
    """The questions, answers and calls of the turn that runs, and the questions that outlive it."""

    def __init__(self, coordinator: Coordinator[OrderT], machines: Machines) -> None:
        self.coordinator = coordinator
        self.machines = machines
        self.departures = Departures()
        self.farewells = OpenFarewells()
        self.forgotten_ids = ForgottenIds()
        self._takeovers = Takeovers(machines)
        self._switching: dict[RequestRef, MemberRef] = {}
        self._asked: dict[MemberRef, int] = {}
        self._numbers = count(1)
        self._replies: list[tuple[RequestRef, MembershipReply]] = []

    def reply(self, ref: RequestRef, reply: MembershipReply) -> None:
        """Queue an answer."""
        self._replies.append((ref, reply))

    def expect_farewells(self, ref: RequestRef, leaving: Collection[MemberRef], until_ms: int) -> None:
        """The LeaveGroup `ref` is to be answered by `reply_leave` when the coordinator has heard these members out."""
        self.farewells.expect(ref, [key for key in leaving if waits_for_farewell(self.machines.get(key))], until_ms)

    def reply_leave(self, ref: RequestRef, reply: LeaveGroupReply) -> None:
        """Queue the answer of a LeaveGroup, once its farewells are heard."""
        if not self.farewells.keeps(ref, reply):
            self._replies.append((ref, reply))

    def pass_farewells(self, now_ms: int) -> None:
        """Queue the answers that have waited long enough."""
        self._replies += self.farewells.take_due(now_ms)

    def expect_switch(self, ref: RequestRef, key: MemberRef) -> None:
        """If the heartbeat `ref` is accepted, the classic member `key` speaks the consumer protocol from then on."""
        self._switching[ref] = key

    def result(self) -> TurnResult:
        """Everything there is to say; it is said once."""
        replies, self._replies = tuple(self._replies), []
        return TurnResult(replies)

    def recover(self, now_ms: int) -> TurnResult:
        """After a turn that raised: nothing half done stays behind, and nobody waits for an answer that won't come.

        What the turn had decided until then counts, since states have moved; questions that it lost are answered
        REQUEST_TIMED_OUT, so that their machines ask again.
        """
        self.coordinator.recover()
        self._switching.clear()
        self.departures.clear()
        self._replies += self._takeovers.abandon_syncs()
        self._replies += self.farewells.take_all()
        held = self.coordinator.open_questions()
        lost = [key for key, number in self._asked.items() if key._replace(number=number) not in held]
        for key in lost:
            del self._asked[key]
            self._tell_lost(key, now_ms)
        self.machines.note_all_deadlines()
        return self.result()

    def _tell_lost(self, key: MemberRef, now_ms: int) -> None:
        try:
            self.feed(key, Answered(Refused(ErrorCode.REQUEST_TIMED_OUT, "the turn failed")), now_ms)
        except Exception:
            client = self.machines.client_of(key)
            fields = LogFields(
                group_id=key.group_id,
                member_id=key.member_id,
                client_id=client.client_id,
                road=self.machines.road,
            )
            LOG.exception("EB-OWNER-002: member %r of group %r is dropped", key.member_id, key.group_id, extra=fields)
            self.machines.drop(key)

    def clear(self) -> None:
        """Forget every question and answer: the state they belong to is gone."""
        self.result()
        self.coordinator.clear()
        self._switching.clear()
        self._asked.clear()
        self.departures.clear()
        self.farewells.take_all()
        self._takeovers.clear()

    def settle(self, now_ms: int) -> None:
        """Let machines and coordinator talk until nobody has anything left to ask."""
        for _ in range(ROUNDS_MAX):
            events = self.coordinator.advance(now_ms)
            if events is not None:
                for event in events:
                    self._hear(event, now_ms)
            elif self._takeovers.late:
                for key, happened in self._takeovers.take_late():
                    self.feed(key, happened, now_ms)
            elif not self.coordinator.go_on(now_ms):
                return
        raise EndlessTurn(f"EB-OWNER-001: no rest after {ROUNDS_MAX} rounds, last asked {[*self._asked][-3:]!r}")

    # ------------------------------------------------------------------ what the coordinator says

    def _hear(self, event: CoordinatorEvent, now_ms: int) -> None:
        match event:
            case MemberAnswered():
                self._answer(event, now_ms)
            case RequestAnswered(ref, reply):
                self._answer_request(ref, reply, now_ms)
            case MembersCalled():
                self._call(event, now_ms)
            case MemberFenced():
                self._fence(event, now_ms)
            case MembersTakenOver(members):
                for key, happened in self._takeovers.begin(members, now_ms):
                    self.feed(key, happened, now_ms)
            case GroupReleased(group_id):
                self._release(group_id)
            case MemberReleased(key):
                self._asked.pop(key, None)
                self.forgotten_ids.forget(key)
                self.machines.drop(key)
                self._hear_out(key)
            case _:
                assert_never(event)

    def _answer(self, event: MemberAnswered, now_ms: int) -> None:
        """Only the machine that asked hears the answer, not a later one under the same id."""
        key = MemberRef(event.member.group_id, event.member.member_id)
        if self._asked.get(key) == event.member.number:
            del self._asked[key]
            self.feed(key, Answered(event.answer), now_ms)

    def _answer_request(self, ref: RequestRef, reply: MembershipReply, now_ms: int) -> None:
        if isinstance(reply, LeaveGroupReply):
            self.reply_leave(ref, self.departures.end(ref, reply))
            return
        self._replies.append((ref, reply))
        switched = self._switching.pop(ref, None) if self._switching else None
        if switched is not None and reply.error is ErrorCode.NONE:
            self._switch(switched, now_ms)

    def _switch(self, key: MemberRef, now_ms: int) -> None:
        """The member speaks the consumer protocol from now on, under its own id (K2.22): its machine is done.

        Leaving makes the machine answer what is parked; its farewell is not passed on.
        """
        for effect in self.machines.feed(key, LeaveReceived(), now_ms):
            if isinstance(effect, Reply):
                self._replies.append((effect.ref, effect.message))
        self._asked.pop(key, None)
        self.machines.drop(key)
        self._hear_out(key)

    def _call(self, event: MembersCalled, now_ms: int) -> None:
        concerns = _waits_or_has_to_spare if event.can_wait else is_present
        for member_id in event.member_ids:
            key = MemberRef(event.group_id, member_id)
            if concerns(self.machines.get(key)):
                self.feed(key, CoordinatorCalled(), now_ms)

    def _fence(self, event: MemberFenced, now_ms: int) -> None:
        if is_present(self.machines.get(event.member)):
            self.feed(event.member, FencedByCoordinator(event.code), now_ms)

    def _release(self, group_id: GroupId) -> None:
        released = list(self._takeovers.release(group_id))
        for key, held in released:
            self._asked.pop(key, None)
            self.forgotten_ids.forget(key)
            if held is not None:
                self.coordinator.submit(*held)
        for key, _ in released:
            self._hear_out(key)

    def answer_calmly(self, key: MemberRef, number: int, answer: Granted, now_ms: int) -> int | None:
        """Let a member hear the answer to its question of this number outside of turns, if it tells nothing new and
        nobody has anything to do for it; gives when the member is due next.

        None: nothing has happened, and the answer has to come about by a turn (`MemberAnswered`).
        """
        if self._asked.get(key) != number:
            return None
        due_ms = self.machines.hear_calmly(key, answer, now_ms)
        if due_ms is not None:
            del self._asked[key]
        return due_ms

    # ------------------------------------------------------------------ what machines ask for

    def pass_deadline(self, key: MemberRef, now_ms: int) -> None:
        """Something is due for a member: mostly that its coordinator hears of it, as it is."""
        asked = self.machines.ask_calmly(key, now_ms)
        if asked is not None:
            self._ask(key, asked)
        else:
            self.feed(key, DeadlinePassed(), now_ms)
            self.machines.note_deadline(key)

    def feed(self, key: MemberRef, event: Event, now_ms: int, met: Callable[[], None] | None = None) -> None:
        """Let one thing happen to a member; `met` is called in between if it is a member then."""
        effects = self.machines.feed(key, event, now_ms)
        if met is not None and self.machines.get(key) is not None:
            met()
        for effect in effects:
            self._carry_out(key, effect, now_ms)
        self._hear_out(key)

    def _hear_out(self, key: MemberRef) -> None:
        """The LeaveGroup of a member whose farewell is not waited for any more is answered."""
        if key in self.farewells and not waits_for_farewell(self.machines.get(key)):
            self._replies += self.farewells.end(key)

    def _carry_out(self, key: MemberRef, effect: Effect, now_ms: int) -> None:
        match effect:
            case Reply(ref, message):
                self._replies.append((ref, message))
                if not isinstance(message, JoinGroupReply):
                    self.suspect(key, ref, message.error, now_ms)
            case Ask(asked):
                self._ask(key, asked)
            case Depart(reason):
                # A machine that gave up on its question may have left its member behind.
                self._asked.pop(key, None)
                self.forgotten_ids.forget(key)
                self.coordinator.release(key, reason)
            case _:
                assert_never(effect)

    def _ask(self, key: MemberRef, asked: Inquiry | Farewell) -> None:
        number = self._asked[key] = next(self._numbers)
        client, via = self.machines.speaker_of(key)
        self.coordinator.submit(MemberRef(key.group_id, key.member_id, number), via, client, asked)

    def suspect(self, key: MemberRef, ref: RequestRef, code: ErrorCode, now_ms: int) -> None:
        """A member that is still there was told that its generation or id is gone: its client may forget the id."""
        if code in FORGETTING_CODES and is_present(self.machines.get(key)):
            self.forgotten_ids.note(key, ref.connection, self.machines.client_of(key), now_ms)


def _waits_or_has_to_spare(state: State | None) -> bool:
    """Whether a new target may concern a member before its client's next heartbeat: its JoinGroup is parked, or it was
    granted what its client has not been told of, which it can let go at once.
    """
    match state:
        case Stable():
            return not state.membership.granted <= usable(state.tenure)
        case PreparingRebalance():
            return True
        case None | CompletingRebalance() | Absent() | Leaving() | Fenced():
            return False
        case _:
            assert_never(state)
