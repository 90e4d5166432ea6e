"""A take-over while it is made: heartbeats in the members' place by their own connections, their requests held as long
as it is not known whose they are.
"""

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import assert_never

from bridge.coordinators.mapped.groups import NO_MORE
from bridge.coordinators.moving.dealing import deals_anew, stand_otherwise
from bridge.coordinators.moving.one_by_one import OneByOne
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.requests import Held, classic_member_of, generation_of, joins_natively
from bridge.coordinators.moving.surroundings import SCOUT_ID, Around, in_a_sentence
from bridge.coordinators.moving.survey import left_out
from bridge.coordinators.upstream.heartbeats import UNKNOWN_TOPIC, to_answer, to_heartbeat
from bridge.log_lines import PASSING, LogFields
from bridge.migration.moves.members import ClassicMember, taken_over
from bridge.migration.moves.one_by_one import NO_MEMBER, Drop, Keep, MemberLeft
from bridge.migration.moves.takeover import (
    Answered,
    AskMember,
    AskScout,
    Effect,
    Event,
    Heard,
    Path,
    Scout,
    ScoutAnswered,
    Stage,
    Take,
    Unreachable,
    begin,
    step,
)
from bridge.migration.orders import MemberStage
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from translators.classic_member.talking import SERVER_ASSIGNORS
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, NOWHERE, GroupId, MemberId, MemberRef, Via
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, TxnOffsetCommit

LOG = logging.getLogger("epochbridge.moves")
_STAGES = {
    Stage.WAITING: MemberStage.WAITING,
    Stage.ASKED: MemberStage.MOVING,
    Stage.TAKEN: MemberStage.MOVED,
    Stage.STAYS: MemberStage.STAYS,
    Stage.GONE: MemberStage.GONE,
}
SCOUT_REBALANCE_MS = 60_000
"""What a scout says of itself: it has nothing to give up."""
SCOUT_BEAT_MS = 5_000
"""How often it is kept alive, as a client by Kafka's `group.consumer.heartbeat.interval.ms`: its session may be over
before a member of a long one is heard, and the group then be a classic one again with everybody called.
"""
_DEALT_ANEW = Refused(
    ErrorCode.REBALANCE_IN_PROGRESS,
    "at this broker a scout has to come and go, and its assignor would deal anew as it goes; order it again when the"
    " members have joined next, or with --allow-rebalance",
)
_OF_CONSUMER_MEMBERS = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.STALE_MEMBER_EPOCH})
"""What a broker answers to a classic client's commit whose member is a consumer one by now: to a version below 9, and
to a generation that is not its epoch. The first is the end of most clients.
"""
_OF_MEMBERS = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})
"""What a broker says to nobody but members of the group."""
_NOT_YET = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "nothing was asked: topics or journal are not at hand")


class TakeOverMove(OneByOne[Event]):
    """Members of one group on their way to road upstream (`groups.Underway`).

    Members of which `begin` names a connection are asked for at once, the others when they are heard next. Where it
    `is_resumed` an earlier life of the bridge may have asked for any of them, and the broker have switched them.
    """

    def __init__(
        self,
        around: Around,
        progress: Progress,
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        *,
        is_resumed: bool = False,
    ) -> None:
        self._left_out = left_out(group_id, members)
        super().__init__(
            around, progress, group_id, {one: it for one, it in members.items() if one not in self._left_out}
        )
        self.lacks_topics = False
        """Whether topics are to be looked at first: nobody has for this order, or somebody uses what is not known."""
        self.beside: set[MemberId] = set()
        """Classic members that joined their broker too late to be of this move: they are its own also behind the end,
        where nobody else knows them.
        """
        self._scout_epoch = JOIN_EPOCH
        self._scout_beats_ms = 0
        seats = around.mapped.seats_of(group_id)
        unsure = frozenset(self._members) if is_resumed else frozenset[MemberId]()
        generations = {one: it.generation for one, it in self._members.items() if it.generation >= 0}
        generations |= {one: seats[one].seat_generation for one in seats.keys() & self._members.keys()}
        self.state = begin({one: member.using for one, member in self._members.items()}, unsure, generations)

    # ------------------------------------------------------------------ what happens

    def begin(self, vias: Mapping[MemberId, Via]) -> None:
        """Ask for whoever can be asked, the first of them first; who can't be translated stays where it is."""
        self._progress.leave_out(self._left_out)
        for member_id, via in vias.items():
            member = self._members.get(member_id)
            if member is not None:
                self._hear(member_id, via, member.generation)
        self._end_if_over()

    def take(self, held: Held) -> None:
        """See `groups.Underway`."""
        member_id = classic_member_of(held.request)
        if isinstance(held.request, JoinGroup):
            self._take_join(held, held.request)
        elif joins_natively(held.request):
            # Between the pilot's question and its answer it would be given what members have that are asked for.
            self._waiting.hold_join(held)
        elif member_id is None:
            self._ways.to_broker(held)
        elif member_id not in self.state.members:
            self._let_go_home(held, member_id)
        else:
            generation = None if isinstance(held.request, TxnOffsetCommit) else generation_of(held.request)
            is_waiting = self.state.members[member_id].stage is Stage.WAITING
            if generation is not None and is_waiting and not self._comes_beside(member_id, held):
                # Asked before this request goes on: by the same connection the broker hears the one after the other.
                # A transaction's offsets come by its producer's connection.
                self._hear(member_id, held.via, generation, has_joined=isinstance(held.request, SyncGroup))
            self._pass_on(member_id, held)
            if self._is_held(member_id) and self.state.members[member_id].stage is Stage.WAITING:
                # It could not be asked for, and its client, which waits for this answer, says nothing else until then.
                self._waiting.excuse_all(member_id)
        self._end_if_over()

    def _hear(self, member_id: MemberId, via: Via, generation: int, *, has_joined: bool = False) -> None:
        """What its client says is its generation; its broker may know it by another."""
        seat = self._mapped.seat(self._group_id, member_id)
        if seat is not None and generation != seat.generation:
            # Of an earlier generation, and long on its way.
            return
        self._vias[member_id] = via
        self._happen(Heard(member_id, generation if seat is None else seat.seat_generation, has_joined))

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`."""
        self._waiting.forget(connection)
        lost = self._vias.lose(connection)
        for member_id in lost:
            self._happen(Unreachable(member_id))
        if lost:
            self._end_if_over()

    # ------------------------------------------------------------------ where a request goes

    def _take_join(self, held: Held, request: JoinGroup) -> None:
        member = self.state.members.get(request.member_id)
        if member is None and self._around.is_newcomer(held.via, self._group_id, request.member_id):
            # A newcomer would move the group under everybody's feet: it waits for the end.
            self._waiting.hold_join(held)
            self._note_bounced(request)
        elif member is None:
            # Somebody who is no part of this move, and has to be heard by its coordinator to stay a member.
            self._let_go_home(held, request.member_id)
        elif member.stage is Stage.WAITING:
            # By its classic words the broker would make everybody join anew; it is asked for first.
            known = self._members[request.member_id].generation
            if known >= 0:
                self._hear(request.member_id, held.via, known)
            self._waiting.hold(request.member_id, held)
            self._let_go_where_known()
        else:
            self._pass_on(request.member_id, held)

    def _note_bounced(self, request: JoinGroup) -> None:
        """Whoever had the static seat of this newcomer until its client was bounced says nothing any more: nobody waits
        for it. One that was heard by a connection of its own lives, and is asked for.
        """
        for member_id, member in self._members.items():
            is_former = request.instance_id is not None and member.instance_id == request.instance_id
            if is_former and member_id not in self._vias:
                self._happen(MemberLeft(member_id))

    def _let_go_home(self, held: Held, member_id: MemberId) -> None:
        road = self._around.home(self._group_id, member_id)
        is_word = isinstance(held.request, JoinGroup | SyncGroup | Heartbeat)
        if road is Road.PASS and is_word and member_id and member_id not in self.beside:
            # Until its broker denies it: what it answers may come behind the end.
            self.beside.add(member_id)
            self._ways.to_broker(held, then=partial(self._hear_beside, member_id))
            return
        if isinstance(held.request, LeaveGroup):
            self.beside.discard(member_id)
        self._ways.by_road(held, road)

    def _hear_beside(self, member_id: MemberId, reply: GroupReply) -> None:
        """Whoever makes up ids is no member: each of them had a road of its own behind the end, in the journal, too."""
        match reply:
            case JoinGroupReply(error=error) | SyncGroupReply(error=error) | HeartbeatReply(error=error):
                is_member = error in _OF_MEMBERS
            case _:
                is_member = False
        if not is_member:
            self.beside.discard(member_id)

    def _is_held(self, member_id: MemberId) -> bool:
        """Whether the broker may have it as a consumer member by now, and would end it (25) for its classic words."""
        member = self.state.members[member_id]
        return member.stage is Stage.ASKED or (member.stage is Stage.WAITING and member.may_be_switched)

    def _comes_beside(self, member_id: MemberId, held: Held) -> bool:
        """Whether this is a commit by a connection of its own, while its member is about to be asked by another: it
        waits. Asked by this one, it was a consumer member before the broker read the heartbeat that was on its way by
        the other, and was ended (25); this commit it would refuse (35), if that came behind the question.
        """
        if not isinstance(held.request, OffsetCommit) or self._vias.get(member_id, held.via) == held.via:
            return False
        state, member = self.state, self.state.members[member_id]
        if member.stage is not Stage.WAITING or member.may_be_switched or not member.is_reachable:
            return False
        is_found_out = state.path is Path.OPEN or state.path is Path.SHUT
        is_asking = state.scout is Scout.JOINING or any(one.stage is Stage.ASKED for one in state.members.values())
        return is_asking and not is_found_out

    def _pass_on(self, member_id: MemberId, held: Held) -> None:
        is_held = self._is_held(member_id) or self._comes_beside(member_id, held)
        if isinstance(held.request, Heartbeat):
            self._sessions.beats(member_id, held.via, is_passed_on=not is_held)
        if is_held:
            self._waiting.hold(member_id, held)
            return
        stage = self.state.members[member_id].stage
        if stage is Stage.TAKEN or stage is Stage.GONE:
            self._ways.by_road(held, Road.UPSTREAM)
        elif isinstance(held.request, OffsetCommit):
            self._pass_commit(member_id, held)
        else:
            self._pass_home(member_id, held)
            if isinstance(held.request, LeaveGroup):
                self._happen(MemberLeft(member_id))

    def _pass_home(self, member_id: MemberId, held: Held) -> None:
        """To its broker, as before the move."""
        road = self._around.home(self._group_id, member_id)
        is_outrun = partial(self._is_beat_outrun, member_id, road)

        def hear(reply: GroupReply) -> None:
            if is_outrun(reply):
                self._pass_on(member_id, held)
            else:
                self._hear_of_end(member_id, reply)

        def take(reply: GroupReply) -> None:
            if not is_outrun(reply):
                self._ways.deliver(held.ref, reply)
            hear(reply)

        if road is Road.MAPPED:
            self._mapped.pass_on(held.ref, held.client, held.via, held.request, take)
        elif road is Road.PASS:
            self._ways.to_broker(held, then=hear, is_hidden=is_outrun)
        else:
            self._ways.by_road(held, road)

    def _hear_of_end(self, member_id: MemberId, reply: GroupReply) -> None:
        """Whom its broker has put out joins anew, and its JoinGroup waits for the end of this."""
        match reply:
            case HeartbeatReply(error=error) | SyncGroupReply(error=error):
                is_no_more = error in NO_MORE
            case OffsetCommitReply(topics=topics):
                is_no_more = any(item.error in NO_MORE for topic in topics for item in topic.partitions)
            case _:
                is_no_more = False
        if is_no_more:
            self._note_told_gone(member_id, NO_MEMBER)

    def _pass_commit(self, member_id: MemberId, held: Held) -> None:
        """A commit by a connection of its own, that was passed on before its member was asked by another, may come
        behind the question: it is asked for again, in the words of a consumer member.
        """

        def take(reply: GroupReply) -> None:
            if self._is_outrun(member_id, reply):
                self._pass_on(member_id, held)
            else:
                self._ways.deliver(held.ref, reply)
                self._hear_of_end(member_id, reply)

        road = self._around.home(self._group_id, member_id)
        if road is Road.MAPPED:
            self._mapped.pass_on(held.ref, held.client, held.via, held.request, take)
        elif road is Road.PASS:
            self._ways.to_broker(held, take)
        else:
            self._ways.by_road(held, road)

    def _is_beat_outrun(self, member_id: MemberId, road: Road, reply: GroupReply) -> bool:
        """Whether a heartbeat was passed on before its member was asked by another connection, and came behind that: to
        a classic one of a consumer member a broker says 25. Its client would join anew, and what it had be nobody's
        until its session is over. A mapping ends with that word: who is not taken over yet can't be any more.
        """
        is_refused = isinstance(reply, HeartbeatReply) and reply.error is ErrorCode.UNKNOWN_MEMBER_ID
        is_taken = self.state.members[member_id].stage is Stage.TAKEN
        return is_refused and (is_taken or (road is Road.PASS and self._is_held(member_id)))

    def _is_outrun(self, member_id: MemberId, reply: GroupReply) -> bool:
        is_switched = self._is_held(member_id) or self.state.members[member_id].stage is Stage.TAKEN
        if not is_switched or not isinstance(reply, OffsetCommitReply):
            return False
        return any(item.error in _OF_CONSUMER_MEMBERS for topic in reply.topics for item in topic.partitions)

    @property
    def _all_have_ended(self) -> bool:
        return self.state.is_over

    def _let_go_where_known(self) -> None:
        """A JoinGroup of a classic member still waits."""
        for member_id in self._waiting.members():
            if not self._is_held(member_id):
                for held in self._waiting.take(member_id):
                    is_waiting = self.state.members[member_id].stage is Stage.WAITING
                    if is_waiting and isinstance(held.request, JoinGroup):
                        self._waiting.hold_join(held)
                    else:
                        self._pass_on(member_id, held)

    # ------------------------------------------------------------------ what is done

    def _step(self, event: Event) -> None:
        before = self.state.members
        self.state, effects = step(self.state, event)
        for member_id, member in self.state.members.items():
            if member is not before[member_id]:
                reason = "" if member.reason is None else in_a_sentence(member.reason)
                self._progress.note(member_id, _STAGES[member.stage], reason)
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case AskMember(member_id, epoch):
                self._ask(member_id, epoch)
            case AskScout(by, epoch):
                self._ask_scout(by, epoch)
            case Take(member_id, epoch):
                self._take_over(member_id, epoch)
            case Drop(member_id):
                # Whatever it still has in use is somebody else's by now: it is not asked what it has, as after a start.
                self._upstream.note_gone(MemberRef(self._group_id, member_id))
                # A client that never comes back would have its mapping kept for good.
                self._mapped.take_out(self._group_id, member_id)
            case Keep():
                """Its requests go where its stage says."""
            case _:
                assert_never(effect)

    def _ask(self, member_id: MemberId, epoch: int) -> None:
        member = self._members[member_id]
        if epoch == LEAVE_EPOCH:
            self._say_farewell(member)
            return
        wants = member.subscription()
        inquiry = Inquiry(
            group_id=self._group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=member.instance_id,
            rack_id=wants.rack_id,
            topics=frozenset(wants.topics),
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            owned=frozenset() if epoch == JOIN_EPOCH else member.using,
            assignor=SERVER_ASSIGNORS.get(member.protocol_name),
        )
        catalog = self._upstream.catalog
        # Partitions without a topic id would be missing in the heartbeat, as if given up.
        is_known = catalog.knows({one.topic for one in member.using})
        if not is_known or self._upstream.is_closed:
            self.lacks_topics = self.lacks_topics or not is_known
            self._happen(Answered(member_id, _NOT_YET))
            return
        request = replace(to_heartbeat(inquiry, None, catalog), member_id=self._seat_id(member_id))
        asked_ms = self._around.now_ms()

        def heard(reply: GroupReply | None) -> None:
            answer = self._to_answer(reply)
            if isinstance(answer, Granted):
                self._sessions.answered(member_id, asked_ms)
            self._happen(Answered(member_id, answer))
            if self.state.members[member_id].stage is Stage.WAITING and self._is_held(member_id):
                # Nothing is on its way that could tell whose its requests are: they are to come again.
                self._waiting.excuse_all(member_id, answer.code if isinstance(answer, Refused) else None)
            self._end_if_over()

        self._access_of(member_id).ask(None, request, heard)

    def _say_farewell(self, member: ClassicMember) -> None:
        request = ConsumerGroupHeartbeat(
            group_id=self._group_id,
            member_id=self._seat_id(member.member_id),
            member_epoch=LEAVE_EPOCH,
            instance_id=member.instance_id,
        )
        self._access_of(member.member_id).ask(None, request, _unheard)

    def _seat_id(self, member_id: MemberId) -> MemberId:
        """As whom its broker knows a member."""
        seat = self._mapped.seat(self._group_id, member_id)
        return member_id if seat is None else seat.seat_id

    def _may_be_dealt_anew(self) -> bool:
        """Whether somebody would be dealt something else as soon as the group's epoch moves, which a scout's farewell
        has it do; of an order for some members it is known only whether range would.
        """
        order = self._progress.now.order
        if order.allow_rebalance:
            return False
        members = self._members.values()
        if order.members:
            return stand_otherwise(members, self._seat_id)
        return deals_anew(members, self._seat_id, self._upstream.catalog)

    def _ask_scout(self, by: MemberId, epoch: int) -> None:
        if epoch == JOIN_EPOCH and (self.lacks_topics or self._may_be_dealt_anew()):
            # Behind a restart no topic is known, and of none nothing is dealt anew: a pilot without partitions, which
            # needs no topic's id, had the scout sent, and others were called as it left.
            self._happen(ScoutAnswered(_NOT_YET if self.lacks_topics else _DEALT_ANEW))
            return
        request = ConsumerGroupHeartbeat(
            group_id=self._group_id,
            member_id=SCOUT_ID,
            member_epoch=epoch,
            rebalance_timeout_ms=SCOUT_REBALANCE_MS,
            subscribed_topic_names=(),
            owned=frozenset(),
        )

        def heard(reply: GroupReply | None) -> None:
            answer = self._to_answer(reply)
            self._note_scout(answer)
            self._happen(ScoutAnswered(answer))
            self._end_if_over()

        self._access_of(by).ask(None, request, heard)

    def _note_scout(self, answer: Granted | Refused | None) -> None:
        self._scout_beats_ms = self._around.now_ms() + SCOUT_BEAT_MS
        if isinstance(answer, Granted) and answer.member_epoch > JOIN_EPOCH:
            self._scout_epoch = answer.member_epoch

    async def look_at_topics(self) -> None:
        """Look at the topics, which `lacks_topics`: as long as the broker takes for it."""
        with contextlib.suppress(BrokerUnreachable):
            await self._upstream.look_at_topics()
            self.lacks_topics = False

    def keep_scout(self) -> None:
        """Have it say that it lives, when it is time; to be called now and then."""
        via = NOWHERE if self.state.pilot is None else self.via_of(self.state.pilot)
        is_due = self._around.now_ms() >= self._scout_beats_ms
        if self.state.scout is not Scout.IN or self._scout_epoch == JOIN_EPOCH or via == NOWHERE or not is_due:
            return
        self._scout_beats_ms = self._around.now_ms() + SCOUT_BEAT_MS
        request = ConsumerGroupHeartbeat(group_id=self._group_id, member_id=SCOUT_ID, member_epoch=self._scout_epoch)
        self._ways.access(via).ask(None, request, lambda reply: self._note_scout(self._to_answer(reply)))

    def _to_answer(self, reply: GroupReply | None) -> Granted | Refused | None:
        if not isinstance(reply, ConsumerGroupHeartbeatReply):
            return None
        answer = to_answer(reply, self._upstream.catalog)
        if answer is UNKNOWN_TOPIC:
            # It is asked again, and would be answered the same until the topic is known.
            self.lacks_topics = True
            return None
        return answer

    def _take_over(self, member_id: MemberId, epoch: int) -> None:
        member = self._members[member_id]
        seat = self._mapped.take_out(self._group_id, member_id)
        if seat is not None:
            self._upstream.names.put(MemberRef(self._group_id, member_id), seat.seat_id)
        heard = self.state.members[member_id].generation
        assert heard is not None, "who was asked for was heard"
        known = replace(member, epoch=epoch, generation=heard if seat is None else seat.generation)
        via = self.via_of(member_id)
        self._upstream.take_over((taken_over(known, self._group_id, self._around.now_ms(), via),))
        LOG.info(
            "group %r: member %r of client %r is a consumer member at its broker now, epoch %d, and was not disturbed",
            *(self._group_id, member_id, member.client.client_id, epoch),
            extra=LogFields(group_id=self._group_id, member_id=member_id, road=PASSING, member_epoch=epoch),
        )


def _unheard(reply: GroupReply | None) -> None:
    """Nobody waits for the answer to a farewell."""
