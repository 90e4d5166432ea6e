"""A broker as the coordinator of translated members: `ports.Coordinator` over the members' own connections."""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from bridge.coordinators.by_connection import OfConnections
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import Unrecorded
from bridge.coordinators.offset_requests import committed_partitions
from bridge.coordinators.upstream.commits import Flights
from bridge.coordinators.upstream.group_news import GroupNews, Target, Targets, Untold
from bridge.coordinators.upstream.heard import HeardMember, may_gain
from bridge.coordinators.upstream.heartbeats import UNKNOWN_TOPIC, Farewells, Said, Unsaid, to_answer, to_heartbeat
from bridge.coordinators.upstream.left_overs import LeftOvers, asks_for_its_seat, clear_seat, leaves_its_seat, unheard
from bridge.coordinators.upstream.questions import SILENT_AGAIN_MS, SILENT_MS, OpenQuestions, Question
from bridge.session.contracts import Access, BrokerAccess
from translators.dialects.classic import JoinGroup, LeaveGroup, LeaveGroupReply
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
    MemberReleased,
    MembersCalled,
    MembersTakenOver,
    Refused,
    RequestAnswered,
    TakenOver,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    RequestRef,
    TopicPartition,
    Via,
    via_of,
)
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import GroupOffsets, OffsetCommit, TxnOffsetCommit
from translators.reactions import REACTIONS, Retry

_UNREACHABLE = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the client has no connection to the broker now")
_ELSEWHERE_OR_NOT_YET = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
"""What a broker says that has not heard a farewell."""


@dataclass(frozen=True, slots=True)
class TakeOver:
    """These classic members are the broker's consumer members now, each at the epoch it brings."""

    members: tuple[TakenOver, ...]


@dataclass(frozen=True, slots=True)
class LetGo:
    """The member is to be a classic one at the broker again: nothing is asked for it any more."""

    member: MemberRef


UpstreamOrder = TakeOver | LetGo


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
        self.journal = Unrecorded(b"U")
        """What a broker knows of its members, the broker keeps."""
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
        self._open = OpenQuestions()
        self.now_ms: Callable[[], int] = lambda: 0
        """What time it is where questions are asked."""
        self._held: OfConnections[MemberRef, Question] = OfConnections(lambda question: question.via.connection)
        self._answered: list[tuple[Question, GroupReply | None]] = []
        self._flights = Flights()
        self._farewells = Farewells()
        self._seen_off: set[MemberRef] = set()
        """Whose farewell was kept for others to say, as long as its own machine tries to."""
        self._told: list[CoordinatorEvent] = []
        self.gone: Callable[[MemberRef], None] = lambda _: None
        """Hears of a member that is no member any more."""
        self.departs: Callable[[MemberRef, DepartReason], None] = lambda _member, _reason: None
        """Hears why the broker is about to be told that a member leaves."""
        self.hear_calmly: Callable[[MemberRef, int, Granted], bool] = lambda _member, _number, _answer: False
        """Lets a machine hear an answer without a turn, if that is all there is to do; False: nothing has happened."""
        self.seat_id: Callable[[MemberRef], MemberId] = lambda member: member.member_id
        """Tells as whom the broker knows a member."""
        self.member_of: Callable[[MemberRef], MemberRef] = lambda seat: seat
        """Tells whom the broker knows by this id."""
        self._elsewhere: dict[MemberRef, int | None] = {}
        """Members that nothing can be asked for by the connection that is known of them: that one, where it leads to
        a broker that does not coordinate their group; None where there is no way to any.
        """
        self._news = GroupNews()
        self._targets = Targets(self._news.calls)
        self._heard: dict[MemberRef, HeardMember] = {}
        self._hidden: set[MemberRef] = set()
        self.hidden: list[MemberRef] = []
        """Members that may not see a topic of theirs any more; whoever tells people takes them out."""
        self.is_member: Callable[[MemberRef], bool] = lambda _: True
        """Whether there is still somebody for whom was asked."""
        self.left_overs = LeftOvers(until_ms=0)
        """Who may have been a member before the start, where no journal tells."""
        self.principal_of: Callable[[Via], Hashable | None] = lambda _: None
        """Tells whom the broker takes the client of a connection for: by one connection of the same it may be said that
        another's member has left. None: nobody here can say.
        """

    # ------------------------------------------------------------------ what it takes

    def submit(self, ref: ReplyTo, via: Via, client: ClientIdentity, command: CoordinatorCommand) -> None:
        """See `ports.Coordinator`; what KIP-848 clients and classic groups ask goes to the broker by itself, and who is
        to leave and has no machine here is the broker's.
        """
        if isinstance(command, LeaveGroup):
            assert isinstance(ref, RequestRef), ref
            self._access(via).ask(None, command, lambda reply: self._take_leave(ref, reply))
            return
        assert isinstance(ref, MemberRef), ref
        assert isinstance(command, (Inquiry, Farewell)), command
        member = MemberRef(ref.group_id, ref.member_id)
        if isinstance(command, Farewell):
            self.departs(member, command.reason)
        said = self._said.get(member)
        if (
            said is not None
            and isinstance(command, Inquiry)
            and command is not said.inquiry
            and command == said.inquiry
        ):
            # The same object from here on: most of what members ask is the last question over again.
            said.inquiry = command
        self._ask(Question(ref, member, via, command, self.now_ms() + SILENT_MS))

    def _ask(self, question: Question) -> None:
        asked = question.asked
        # A partition is not free while a commit on it is on its way (decision 2): the broker takes the commit of one
        # that was lost under a current epoch, and it would land on top of the next owner's.
        if isinstance(asked, Inquiry) and self._flights.hold_back(question.member, asked.owned):
            self._held[question.member] = question
            return
        if not self.knows_topics:
            # After a restart: partitions without a topic id would be missing in the heartbeat, as if given up.
            self.lacks_topics = True
        way = self._access(question.via)
        if way.connection != question.via.connection or not self.knows_topics:
            self._answered.append((question, None))
            if isinstance(asked, Farewell) and question.member not in self._seen_off:
                # Its machine says it again and again; and by the time that it is said by another nobody knows any more
                # as whom the broker has it.
                self._seen_off.add(question.member)
                farewell = replace(asked, member_id=self.seat_id(question.member))
                heard = self._heard.get(question.member)
                self._farewells.keep(Unsaid(farewell, None if heard is None else heard.principal))
            return
        if asked.group_id in self._farewells.groups:
            for unsaid in self._farewells.take(asked.group_id, self.principal_of(question.via)):
                self._see_off(unsaid, way)
        if asked.instance_id is not None and asked.member_epoch == JOIN_EPOCH:
            for unsaid in self._farewells.take_seat(asked.group_id, asked.instance_id):
                self._see_off(unsaid, way)
        self._begin(question)
        self._say(question, way)

    def _begin(self, question: Question) -> None:
        if self._elsewhere and self._elsewhere.get(question.member) == question.via.connection:
            self._open.begin_again(question._replace(due_ms=self.now_ms() + SILENT_AGAIN_MS))
        else:
            self._open[question.ref] = question

    def _give_up(self, now_ms: int) -> None:
        """What was asked long ago gets no answer, or goes on without what only others' connections would tell of it."""
        for question in self._open.take_silent(now_ms):
            self._answered.append((question._replace(is_given_up=question.heard is None), question.heard))

    def _see_off(self, unsaid: Unsaid, way: BrokerAccess) -> None:
        """Say it for a member that is gone; who is not heard, as while the coordinator moves, has it said later."""

        def take(reply: GroupReply | None) -> None:
            if not isinstance(reply, ConsumerGroupHeartbeatReply) or reply.error in _ELSEWHERE_OR_NOT_YET:
                self._farewells.keep(unsaid)

        way.ask(None, to_heartbeat(unsaid.farewell, None, self._catalog), take)

    def _say(self, question: Question, way: BrokerAccess) -> None:
        said = self._said.get(question.member)
        if said is None:
            self._heard.setdefault(question.member, HeardMember()).principal = self.principal_of(question.via)
        heartbeat = to_heartbeat(question.asked, said, self._catalog, names_topics=question.names_topics)
        way.ask(None, heartbeat, partial(self._take, question))

    def _take(self, question: Question, reply: GroupReply | None) -> None:
        """The broker's word; a question that was given up meanwhile has no member any more."""
        if question.ref not in self._open or self._hears_calmly(question, reply):
            return
        asked = question.asked
        code = reply.error if isinstance(reply, ConsumerGroupHeartbeatReply) else ErrorCode.NONE
        if isinstance(asked, Inquiry) and code is ErrorCode.UNRELEASED_INSTANCE_ID:
            clear_seat(asked, self._access(question.via))
        elif code is ErrorCode.TOPIC_AUTHORIZATION_FAILED and asked.member_epoch > 0 and question.names_topics:
            # Rights were taken since it joined: Kafka checks them where topics are named, and only there.
            again = self._open[question.ref] = self._open[question.ref]._replace(names_topics=False)
            self._say(again, self._access(question.via))
            return
        if isinstance(reply, ConsumerGroupHeartbeatReply) and self._gains(question, reply):
            self._open[question.ref] = self._open[question.ref]._replace(heard=reply)
            seat = question.member._replace(member_id=self.seat_id(question.member))
            hear = partial(self._hear, question, reply)
            self._targets.find(seat, reply.member_epoch, self._access(question.via), hear)
        else:
            self._hear(question, reply)

    def _hears_calmly(self, question: Question, reply: GroupReply | None) -> bool:
        """Whether a member has heard the last answer over again, to the last question over again, without a turn: by
        one it would be judged just so (`_answer`), and nothing of what is remembered here would be another. Who was
        refused or not reached meanwhile has nothing left of what it said.
        """
        said = self._said.get(question.member)
        if said is None or reply is not said.calm_reply or question.asked is not said.inquiry or reply is None:
            return False
        heard = self._heard.get(question.member)
        if (
            # What came before it is heard before it.
            self._answered
            or self._told
            or not question.names_topics
            or heard is None
            or heard.owned is not said.inquiry.owned
            or not self.hear_calmly(question.member, question.ref.number, said.calm_answer)
        ):
            return False
        del self._open[question.ref]
        return True

    def _gains(self, question: Question, reply: ConsumerGroupHeartbeatReply) -> bool:
        assigned = None if reply.assignment is None else self._catalog.to_names(reply.assignment)
        return may_gain(self._heard.get(question.member), question.asked.member_epoch, reply.member_epoch, assigned)

    def _hear(self, question: Question, reply: GroupReply | None, target: Target | Untold = Untold.UNKNOWN) -> None:
        if self._open.pop(question.ref, None) is not None:
            self._answered.append(
                (question._replace(target=target) if target is not Untold.UNKNOWN else question, reply)
            )
            self._wake()

    def ask_back(self, member: TakenOver, refuse: Callable[[], None], put_off: Callable[[ErrorCode], None]) -> None:
        """Ask for the seat of a client that the broker may still have as a member (Kafka 4.2 and later), and go on with
        it if it holds all that the client has; otherwise the seat is given up, and `refuse` called. `put_off` is where
        nobody says whether it does.
        """
        ref = member.joining
        assert ref is not None, member
        way = self._access(via_of(ref))

        def take(reply: GroupReply | None) -> None:
            answer = to_answer(reply, self._catalog) if isinstance(reply, ConsumerGroupHeartbeatReply) else _UNREACHABLE
            if isinstance(answer, Granted) and answer.assigned is not None and member.using <= answer.assigned:
                self._told.append(MembersTakenOver((replace(member, epoch=answer.member_epoch),)))
            elif isinstance(answer, Refused) and _is_no_word(answer.code):
                self.lacks_topics = self.lacks_topics or answer is UNKNOWN_TOPIC
                put_off(answer.code)
            else:
                if isinstance(answer, Granted):
                    way.ask(None, leaves_its_seat(member), unheard)
                refuse()
            self._wake()

        way.ask(None, asks_for_its_seat(member), take)

    def _take_leave(self, ref: RequestRef, reply: GroupReply | None) -> None:
        no_answer = LeaveGroupReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._told.append(RequestAnswered(ref, reply if isinstance(reply, LeaveGroupReply) else no_answer))
        self._wake()

    def is_elsewhere(self, member: MemberRef, connection: int) -> bool:
        """Whether the broker of a connection has said that it does not coordinate the member's group any more."""
        return self._elsewhere.get(member) == connection

    def order(self, order: "UpstreamOrder") -> None:
        """See `ports.Coordinator`: who is taken over asks at once, since a broker calls nobody."""
        match order:
            case TakeOver(members):
                self._told.append(MembersTakenOver(members))
                for group_id in dict.fromkeys(one.member.group_id for one in members):
                    ids = frozenset(one.member.member_id for one in members if one.member.group_id == group_id)
                    self._told.append(MembersCalled(group_id, ids))
            case LetGo(member):
                self._forget(member)
                self._told.append(MemberReleased(member))
            case _:
                assert_never(order)

    def is_committing(self, member: MemberRef) -> bool:
        """Whether a commit of the member is on its way."""
        return self._flights.is_out(member)

    def release(self, member: MemberRef, reason: DepartReason | None) -> None:
        """See `ports.Coordinator`: the farewell was said before, as far as there was a way to say it."""
        self._forget(member)
        if reason is not None:
            self.left_overs.note_gone(member)
            self.gone(member)

    def _forget(self, member: MemberRef) -> None:
        self._said.pop(member, None)
        self._held.pop(member, None)
        self._elsewhere.pop(member, None)
        self._heard.pop(member, None)
        if self._news.drop(member):
            self._targets.drop(member.group_id)
        self._hidden.discard(member)
        self._seen_off.discard(member)

    def lose_connection(self, connection: int) -> None:
        """See `ports.Coordinator`: the broker keeps the member's seat for its session; the machine asks again by the
        client's next connection.
        """
        self._answered.extend((question, None) for question in self._held.lose(connection).values())

    def recover(self) -> None:
        """See `ports.Coordinator`: answers that came are still to be heard."""

    def clear(self) -> None:
        """See `ports.Coordinator`."""
        self._said.clear()
        self._open.clear()
        self._held.clear()
        self._answered.clear()
        self._told.clear()
        self._elsewhere.clear()
        self._heard.clear()
        self._news.clear()
        self._targets.clear()
        self._hidden.clear()
        self._seen_off.clear()
        self.hidden.clear()
        self.refused.clear()

    # ------------------------------------------------------------------ what it says

    def advance(self, now_ms: int) -> Sequence[CoordinatorEvent] | None:
        """See `ports.Coordinator`."""
        if not self.go_on(now_ms):
            return None
        self._give_up(now_ms)
        answered, self._answered = self._answered, []
        told, self._told = self._told, []
        heard = [MemberAnswered(question.ref, self._answer(question, reply, now_ms)) for question, reply in answered]
        return [*told, *heard, *self._news.take_due(now_ms)]

    def _answer(self, question: Question, reply: GroupReply | None, now_ms: int) -> Granted | Refused:
        answer = to_answer(reply, self._catalog) if isinstance(reply, ConsumerGroupHeartbeatReply) else _UNREACHABLE
        if not self.is_member(question.member):
            # Its machine gave the question up, and is gone: nothing of it is kept.
            return answer
        self._note_place(question, answer)
        if isinstance(answer, Granted):
            self._note_news(question, answer, now_ms)
            heard = self._heard.get(question.member)
            if heard is not None:
                answer = heard.with_pending(answer, question.target, question.asked.member_epoch)
            if answer.is_to_come:
                self._news.await_deal(question.member, now_ms)
        if isinstance(answer, Granted) and isinstance(question.asked, Inquiry):
            before = self._said.get(question.member)
            self._note_rights(question, question.asked)
            if answer.assigned is not None and before is not None and before.covers(question.asked):
                # To a short heartbeat: what is taken back the broker waits to hear given up, also where the client
                # never came to use it, so that what it owns does not change.
                self._said.pop(question.member, None)
            elif reply is not None:
                self._note_calm(question, answer, reply)
        else:
            # What the broker made of it is not known: the next question says everything again.
            self._said.pop(question.member, None)
            if isinstance(answer, Refused) and not isinstance(REACTIONS[answer.code], Retry):
                self.refused.append((question.member, answer))
        if answer is UNKNOWN_TOPIC:
            self.lacks_topics = True
        return answer

    def _note_calm(self, question: Question, answer: Granted, reply: GroupReply) -> None:
        """Remember what told nothing new: brokers say it over again, and then it does again."""
        said = self._said.get(question.member)
        is_same = answer.assigned is None and answer.member_epoch == question.asked.member_epoch
        # Behind one without its topics the next is to note that the member may see them again.
        if is_same and question.names_topics and said is not None and question.asked is said.inquiry:
            said.calm_reply, said.calm_answer = reply, answer

    def _note_rights(self, question: Question, asked: Inquiry) -> None:
        member = question.member
        if question.names_topics:
            said = self._said.get(member)
            if said is None or not said.is_of(asked):
                self._said[member] = Said(asked)
            if self._hidden:
                self._hidden.discard(member)
            return
        if member not in self._hidden:
            self._hidden.add(member)
            self.hidden.append(member)
        said = self._said.get(member)
        if said is not None and said.inquiry.topics == asked.topics:
            self._said[member] = Said(asked)

    def _note_news(self, question: Question, answer: Granted, now_ms: int) -> None:
        """Who else is to be asked for, as if each had just come to its interval's end."""
        member, asked = question.member, question.asked
        if isinstance(asked, Farewell):
            self._news.stir(member, now_ms)
            return
        heard = self._heard.setdefault(member, HeardMember())
        if answer.assigned is not None:
            heard.granted = answer.assigned
        before = heard.owned
        if before is asked.owned and answer.member_epoch == asked.member_epoch:
            return
        heard.owned = asked.owned
        self._news.enter(member)
        if asked.member_epoch == JOIN_EPOCH:
            self._news.welcome(member, answer.member_epoch, now_ms)
            return
        if answer.member_epoch != asked.member_epoch:
            self._news.hear_epoch(member, answer.member_epoch, now_ms)
        freed = frozenset[TopicPartition]() if before is None else before - asked.owned
        if freed:
            self._news.stir(member, now_ms)
            self._offer(question, freed, answer.member_epoch)

    def _offer(self, question: Question, freed: frozenset[TopicPartition], epoch: int) -> None:
        """Ask at once for those who are to have what a member let go of, and need not wait for the call of the group:
        an eager client that was called holds nothing until it has all.
        """
        member = question.member
        if not self._news.has_others(member):
            return

        def call(target: Target | Untold) -> None:
            seats = self._targets.owners(member.group_id, freed) if isinstance(target, frozenset) else ()
            owners = frozenset(self.member_of(MemberRef(member.group_id, one)).member_id for one in seats)
            if owners := owners - {member.member_id}:
                self._told.append(MembersCalled(member.group_id, owners))
                self._wake()

        seat = member._replace(member_id=self.seat_id(member))
        self._targets.find(seat, epoch, self._access(question.via), call)

    def _note_place(self, question: Question, answer: Granted | Refused) -> None:
        if question.is_given_up or (isinstance(answer, Refused) and answer.code is ErrorCode.NOT_COORDINATOR):
            self._elsewhere[question.member] = question.via.connection
        elif answer is _UNREACHABLE:
            # Its client may speak by an older connection than the one it joined by, and say there what it always says:
            # the short way of heartbeats does not tell by which one a member lives.
            self._elsewhere[question.member] = None
        elif self._elsewhere:
            self._elsewhere.pop(question.member, None)

    def go_on(self, now_ms: int) -> bool:
        """See `ports.Coordinator`."""
        if self._answered or self._told or self._news.is_due(now_ms):
            return True
        silent_ms = self._open.next_due_ms()
        return silent_ms is not None and silent_ms <= now_ms

    def pass_deadlines(self, now_ms: int) -> bool:
        """See `ports.Coordinator`: the machines keep the broker's interval, and the clients' sessions."""
        return self.go_on(now_ms)

    def next_deadline_ms(self) -> int | None:
        """See `ports.Coordinator`."""
        due_ms = (self._news.next_due_ms(), self._open.next_due_ms())
        return min((one for one in due_ms if one is not None), default=None)

    # ------------------------------------------------------------------ what it is asked at once

    def open_questions(self) -> Collection[MemberRef]:
        """See `ports.Coordinator`."""
        waiting = (question.ref for question, _ in self._answered)
        return {*self._open, *(question.ref for question in self._held.values()), *waiting}

    def has_news(self, member: MemberRef) -> bool:
        """See `ports.Coordinator`: news come with answers. But the client has to be told that its coordinator moved,
        and to say by which connection it lives where nothing can be asked for it by the one that is known.
        """
        return member in self._elsewhere

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
        member = MemberRef(request.group_id, request.member_id)
        return CommitAdmitted(self._flights.begin(member, committed_partitions(request, self._catalog)))

    def end_commit(self, commit_id: int) -> None:
        """See `ports.Coordinator`; what was held for it is asked now."""
        member = self._flights.end(commit_id)
        held = None if member is None else self._held.pop(member, None)
        if held is not None:
            self._ask(held._replace(due_ms=self.now_ms() + SILENT_MS))

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """See `ports.Coordinator`."""
        return ErrorCode.NONE


def _is_no_word(code: ErrorCode) -> bool:
    """Whether a broker says nothing of the member itself, as while its coordinator moves."""
    return isinstance(REACTIONS[code], Retry) and code is not ErrorCode.UNRELEASED_INSTANCE_ID
