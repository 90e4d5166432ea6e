"""A broker as the coordinator of translated members: `ports.Coordinator` over the members' own connections."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Never

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.journal_entries import Entry
from bridge.coordinators.machines import NOBODY
from bridge.coordinators.offset_requests import committed_partitions
from bridge.coordinators.upstream.heartbeats import UNKNOWN_TOPIC, Said, to_answer, to_heartbeat
from bridge.session.contracts import Access
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import (
    ClassicGroupRequest,
    CommitAdmitted,
    CommitRefused,
    CoordinatorCommand,
    CoordinatorEvent,
    DepartReason,
    Farewell,
    Granted,
    Inquiry,
    MemberAnswered,
    Refused,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    RequestRef,
    TopicPartition,
    Via,
)
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import GroupOffsets, OffsetCommit, TxnOffsetCommit
from translators.reactions import REACTIONS, Retry

FAREWELLS_MAX = 10_000
"""Members whose leaving could not be said, of all groups together; the broker ends the others by their session."""
_UNREACHABLE = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the client has no connection to the broker now")


@dataclass(frozen=True, slots=True)
class _Question:
    """One question of a member, and the connection that is to carry it."""

    ref: MemberRef
    via: Via
    asked: Inquiry | Farewell

    @property
    def member(self) -> MemberRef:
        """Who asks, whatever the question's number."""
        return self.ref._replace(number=0)


@dataclass(frozen=True, slots=True)
class _Flight:
    """A commit on its way: whose, and of which partitions."""

    member: MemberRef
    partitions: frozenset[TopicPartition]


class Farewells:
    """Members that are gone with their connection: the next one of their group says so, or else the others would wait
    for the broker's session, 45 s where a classic client asked for six.
    """

    def __init__(self) -> None:
        self._by_group: OrderedDict[GroupId, list[Farewell]] = OrderedDict()
        self._count = 0

    def __contains__(self, group_id: GroupId) -> bool:
        """Whether anybody of a group is to be seen off."""
        return group_id in self._by_group

    def keep(self, farewell: Farewell) -> None:
        """Let it be said later; beyond the limit the oldest group's are never said."""
        self._by_group.setdefault(farewell.group_id, []).append(farewell)
        self._count += 1
        while self._count > FAREWELLS_MAX:
            self._count -= len(self._by_group.popitem(last=False)[1])

    def take(self, group_id: GroupId) -> Sequence[Farewell]:
        """What is to be said for a group, once."""
        found = self._by_group.pop(group_id, [])
        self._count -= len(found)
        return found


class UpstreamCoordinator:
    """Members of groups that a broker coordinates; a question of theirs is one ConsumerGroupHeartbeat.

    `access` looks a client's connection up; `wake` is called when an answer came.
    """

    def __init__(
        self,
        catalog: Catalog,
        access: Access,
        fresh_member_id: Callable[[], MemberId],
        wake: Callable[[], None],
    ) -> None:
        self.is_urgent = False
        self.lacks_topics = False
        """Whether the topics have to be looked at; who does it sets it back."""
        self.knows_topics = False
        """Whether they were ever looked at."""
        self.fresh_member_id = fresh_member_id
        self.refused: list[tuple[MemberRef, Refused]] = []
        """Members that the broker won't have any more, or not at all; whoever tells people takes them out."""
        self._catalog = catalog
        self._access = access
        self._wake = wake
        self._said: dict[MemberRef, Said] = {}
        self._open: dict[MemberRef, _Question] = {}
        self._held: dict[MemberRef, _Question] = {}
        self._answered: list[tuple[_Question, GroupReply | None]] = []
        self._flights: dict[int, _Flight] = {}
        self._numbers = count(1)
        self._farewells = Farewells()
        self.speaks_for_others: Callable[[], bool] = lambda: False
        """Whether one client's connection may say that another's member has left: where all are the same to the
        broker, as it authenticates nobody.
        """

    # ------------------------------------------------------------------ what it takes

    def submit(self, ref: ReplyTo, via: Via, client: ClientIdentity, command: CoordinatorCommand) -> None:
        """See `ports.Coordinator`; what KIP-848 clients and classic groups ask goes to the broker by itself."""
        assert isinstance(ref, MemberRef), ref
        assert isinstance(command, Inquiry | Farewell), command
        self._ask(_Question(ref, via, command))

    def _ask(self, question: _Question) -> None:
        asked = question.asked
        if isinstance(asked, Inquiry) and self._lets_go_too_early(question.member, asked):
            self._held[question.member] = question
            return
        if not self.knows_topics:
            # After a restart: partitions without a topic id would be missing in the heartbeat, as if given up.
            self.lacks_topics = True
        way = self._access(question.via)
        if way.connection != question.via.connection or not self.knows_topics:
            self._answered.append((question, None))
            if isinstance(asked, Farewell):
                self._farewells.keep(asked)
            return
        if asked.group_id in self._farewells and self.speaks_for_others():
            for farewell in self._farewells.take(asked.group_id):
                way.ask(None, to_heartbeat(farewell, None, self._catalog), _unheard)
        self._open[question.ref] = question
        said = self._said.get(question.member)
        way.ask(None, to_heartbeat(asked, said, self._catalog), lambda reply: self._take(question, reply))

    def _take(self, question: _Question, reply: GroupReply | None) -> None:
        """The broker's word; a question that was given up meanwhile has no member any more."""
        if self._open.pop(question.ref, None) is not None:
            self._answered.append((question, reply))
            self._wake()

    def _lets_go_too_early(self, member: MemberRef, asked: Inquiry) -> bool:
        """A partition is not free while a commit on it is on its way (decision 2): the broker takes the commit of a
        partition that was lost under a current epoch, and it would land on top of the next owner's.
        """
        return any(
            flight.member == member and not flight.partitions <= asked.owned for flight in self._flights.values()
        )

    def order(self, order: Never) -> None:
        """See `ports.Coordinator`: a broker takes no orders from here."""

    def release(self, member: MemberRef, reason: DepartReason | None) -> None:
        """See `ports.Coordinator`: the farewell was said before, as far as there was a way to say it."""
        self._said.pop(member, None)
        self._held.pop(member, None)

    def lose_connection(self, connection: int) -> None:
        """See `ports.Coordinator`: the broker keeps the member's seat for its session; the machine asks again by the
        client's next connection.
        """
        lost = [question for question in self._held.values() if question.via.connection == connection]
        for question in lost:
            del self._held[question.member]
            self._answered.append((question, None))

    def recover(self) -> None:
        """See `ports.Coordinator`: answers that came are still to be heard."""

    def clear(self) -> None:
        """See `ports.Coordinator`."""
        self._said.clear()
        self._open.clear()
        self._held.clear()
        self._answered.clear()
        self.refused.clear()

    # ------------------------------------------------------------------ what it says

    def advance(self, now_ms: int) -> Sequence[CoordinatorEvent] | None:
        """See `ports.Coordinator`."""
        if not self._answered:
            return None
        answered, self._answered = self._answered, []
        return [MemberAnswered(question.ref, self._answer(question, reply)) for question, reply in answered]

    def _answer(self, question: _Question, reply: GroupReply | None) -> Granted | Refused:
        answer = to_answer(reply, self._catalog) if isinstance(reply, ConsumerGroupHeartbeatReply) else _UNREACHABLE
        if isinstance(answer, Granted) and isinstance(question.asked, Inquiry):
            self._said[question.member] = Said(question.asked)
        else:
            # What the broker made of it is not known: the next question says everything again.
            self._said.pop(question.member, None)
            if isinstance(answer, Refused) and not isinstance(REACTIONS[answer.code], Retry):
                self.refused.append((question.member, answer))
        if answer is UNKNOWN_TOPIC:
            self.lacks_topics = True
        return answer

    def go_on(self, now_ms: int) -> bool:
        """See `ports.Coordinator`."""
        return bool(self._answered)

    def pass_deadlines(self, now_ms: int) -> bool:
        """See `ports.Coordinator`: the machines keep the broker's interval, and the clients' sessions."""
        return bool(self._answered)

    def next_deadline_ms(self) -> int | None:
        """See `ports.Coordinator`."""
        return None

    # ------------------------------------------------------------------ what it is asked at once

    def open_questions(self) -> Collection[MemberRef]:
        """See `ports.Coordinator`."""
        waiting = (question.ref for question, _ in self._answered)
        return {*self._open, *(question.ref for question in self._held.values()), *waiting}

    def has_news(self, member: MemberRef) -> bool:
        """See `ports.Coordinator`: news come with answers."""
        return False

    def beat(self, client: ClientIdentity, request: ConsumerGroupHeartbeat, now_ms: int) -> bool:
        """See `ports.Coordinator`: the broker answers its own members."""
        return False

    def takes(self, request: ClassicGroupRequest) -> bool:
        """See `ports.Coordinator`: classic groups never come here."""
        return False

    def looks_classic(self, group_id: GroupId) -> bool:
        """See `ports.Coordinator`."""
        return False

    def judge_newcomer(self, request: JoinGroup) -> Refusal | None:
        """See `ports.Coordinator`: the broker judges."""
        return None

    def newcomer_id(self, client: ClientIdentity, request: JoinGroup) -> MemberId:
        """See `ports.Coordinator`: made here, as KIP-848 clients make their own (KIP-1082)."""
        return self.fresh_member_id()

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """See `ports.Coordinator`: who sits there without a machine, only the broker knows (111)."""
        return None

    def begin_commit(
        self, ref: RequestRef, request: OffsetCommit | TxnOffsetCommit, now_ms: int
    ) -> CommitAdmitted | CommitRefused:
        """See `ports.Coordinator`: the machine has judged it already, and the broker will."""
        commit_id = next(self._numbers)
        member = MemberRef(request.group_id, request.member_id)
        self._flights[commit_id] = _Flight(member, committed_partitions(request, self._catalog))
        return CommitAdmitted(commit_id)

    def end_commit(self, commit_id: int) -> None:
        """See `ports.Coordinator`; what was held for it is asked now."""
        flight = self._flights.pop(commit_id, None)
        held = None if flight is None else self._held.pop(flight.member, None)
        if held is not None:
            self._ask(held)

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """See `ports.Coordinator`."""
        return ErrorCode.NONE

    # ------------------------------------------------------------------ what survives of it: nothing (`Recorded`)

    @property
    def journal(self) -> "UpstreamCoordinator":
        """What a broker knows of its members, the broker keeps."""
        return self

    @property
    def kind(self) -> bytes:
        """See `durability.Recorded`."""
        return b"U"

    def begin(self) -> None:
        """See `durability.Recorded`."""

    def take(self) -> list[Entry]:
        """See `durability.Recorded`."""
        return []

    def all(self) -> Iterable[Entry]:
        """See `durability.Recorded`."""
        return ()

    def apply(self, data: bytes) -> None:
        """See `durability.Recorded`: there are none to be read."""

    def empty(self) -> None:
        """See `durability.Recorded`."""

    def forget(self) -> None:
        """See `durability.Recorded`."""

    def resume(self, now_ms: int) -> None:
        """See `durability.Recorded`."""

    def client_of(self, member: MemberRef) -> ClientIdentity | None:
        """See `durability.Recorded`: whoever is heard next on its behalf, by that connection."""
        return NOBODY

    def translated(self) -> Iterator[MemberRef]:
        """See `durability.Recorded`."""
        return iter(())


def _unheard(_reply: GroupReply | None) -> None:
    """Whatever the broker says of a member that is gone, nobody waits for it."""
