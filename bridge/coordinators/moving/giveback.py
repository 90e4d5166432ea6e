"""A give-back while it is made: JoinGroup and SyncGroup in the members' place by their own connections, their requests
held until it is known by which words the broker knows them.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.held_requests import CONSUMER_SESSION_MS
from bridge.coordinators.moving.one_by_one import OneByOne
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.requests import Held, classic_member_of, joins_natively
from bridge.coordinators.moving.surroundings import Around, in_a_sentence
from bridge.log_lines import UPSTREAM, LogFields
from bridge.migration.moves.giveback import (
    ENDED,
    CameToRest,
    Effect,
    Event,
    Join,
    Joined,
    Map,
    Stage,
    Sync,
    Synced,
    begin,
    step,
)
from bridge.migration.moves.members import ClassicMember, rejoining, taken_over
from bridge.migration.moves.one_by_one import Drop, Keep, MemberLeft
from bridge.migration.orders import MemberStage
from bridge.migration.route import Road
from translators.dialects.classic import JoinGroup, JoinGroupReply, LeaveGroup, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import CONSUMER, NO_GENERATION, MalformedBlob
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, NOWHERE, GroupId, MemberId, MemberRef
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetFetch, TxnOffsetCommit

LOG = logging.getLogger("epochbridge.moves")
_STAGES = {
    Stage.WAITING: MemberStage.WAITING,
    Stage.JOINING: MemberStage.MOVING,
    Stage.ASKING: MemberStage.MOVING,
    Stage.SYNCING: MemberStage.MOVING,
    Stage.BACK: MemberStage.MOVED,
    Stage.CALLED: MemberStage.MOVED,
    Stage.STAYS: MemberStage.STAYS,
    Stage.GONE: MemberStage.GONE,
}


BEAT_MS = 5_000
"""Whoever is at rest had a heartbeat answered within this: Kafka's `group.consumer.heartbeat.interval.ms`."""


class GiveBackMove(OneByOne[Event]):
    """Members of one group on their way from road upstream to the broker's classic protocol (`groups.Underway`).

    Members with a machine are given back when they are at rest; `returning` are those that an earlier life of the
    bridge had begun with.
    """

    def __init__(
        self,
        around: Around,
        progress: Progress,
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        returning: Mapping[MemberId, ClassicMember],
    ) -> None:
        super().__init__(around, progress, group_id, {**members, **returning})
        self._epochs: dict[MemberId, int] = {}
        self._protocol_names: dict[MemberId, str] = {}
        self._end_machines(returning)
        self.state = begin({one: None if one in members else member.using for one, member in self._members.items()})

    def _end_machines(self, returning: Mapping[MemberId, ClassicMember]) -> None:
        """An earlier life that had asked for them may not have lived to write that their machines were let go: what
        they would ask their broker as consumer members it would answer by 25, if it has them as classic ones.
        """
        for member_id, member in returning.items():
            key = MemberRef(self._group_id, member_id)
            epoch = max(self._upstream.epoch_of(key), member.epoch)
            if epoch > JOIN_EPOCH:
                self._epochs[member_id] = epoch
            if self._upstream.translates(self._group_id, member_id):
                self._upstream.let_go(key)

    # ------------------------------------------------------------------ what happens

    def at_rest(self) -> list[ClassicMember]:
        """Those whose turn it is now, as they are: to be written down, and then given to `give_back`."""
        if self._upstream.is_closed:
            return []
        untouched = [one for one in self.state.members if self._is_untouched(one)]
        for member_id in untouched:
            if self._upstream.seat(MemberRef(self._group_id, member_id)) is None:
                self._happen(MemberLeft(member_id))
        self._end_if_over()
        return [member for one in untouched if (member := self._at_rest(one)) is not None]

    def give_back(self, members: Iterable[ClassicMember]) -> None:
        """Ask for these members, which are written down; whoever is not any more as it was then comes later."""
        for member in members:
            member_id, key = member.member_id, MemberRef(self._group_id, member.member_id)
            if self._is_untouched(member_id) and self._at_rest(member_id) == member:
                self._vias[member_id] = self._upstream.via_of(key)
                self._epochs[member_id] = self._upstream.epoch_of(key)
                self._members[member_id] = member
                early_ms = max(0, min(member.session_timeout_ms, CONSUMER_SESSION_MS) - CONSUMER_SESSION_MS + BEAT_MS)
                self._sessions.answered(member_id, self._around.now_ms() - early_ms)
                # Asked on as a consumer the broker would switch it there and back.
                self._upstream.let_go(key)
                self._happen(CameToRest(member_id, member.using))
        self._end_if_over()

    def take(self, held: Held) -> None:
        """See `groups.Underway`."""
        member_id = classic_member_of(held.request)
        if joins_natively(held.request):
            # Whoever comes back with less than it had would be called for it.
            self._waiting.hold_join(held)
        elif member_id is None:
            self._ways.to_broker(held)
        elif member_id in self.state.members:
            self._pass_on(member_id, held)
            if not self._is_untouched(member_id) and not isinstance(held.request, TxnOffsetCommit | OffsetFetch):
                # A transaction's offsets come by its producer's connection, and offsets are told to whoever may
                # DESCRIBE the group: what is asked by that one's the broker would refuse.
                self._vias[member_id] = held.via
                self._ask_again(member_id)
        elif isinstance(held.request, JoinGroup) and self._around.is_newcomer(held.via, self._group_id, member_id):
            # The broker would deal anew for a newcomer, and members would come back to other partitions than they have.
            self._waiting.hold_join(held)
        else:
            # Also the JoinGroup of who is no part of this move: its coordinator may wait for it to answer the others'.
            self._ways.by_road(held, self._around.home(self._group_id, member_id))
        self._end_if_over()

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`."""
        self._waiting.forget(connection)
        self._vias.lose(connection)

    def given_back(self) -> Mapping[MemberId, ClassicMember] | None:
        """Its members if each of them is a classic one now with just what its client has, and None otherwise."""
        left = self._left()
        if not left or any(stage is not Stage.BACK for stage in left.values()):
            return None
        return {one: self._members[one] for one in left}

    @property
    def are_all_classic(self) -> bool:
        """Whether somebody is left, and nobody stayed a consumer member: some may have been called."""
        left = self._left()
        return bool(left) and all(stage in (Stage.BACK, Stage.CALLED) for stage in left.values())

    def _left(self) -> Mapping[MemberId, Stage]:
        known = {one: member.stage for one, member in self.state.members.items()}
        return {one: stage for one, stage in known.items() if stage is not Stage.GONE}

    # ------------------------------------------------------------------ where a request goes

    def _is_untouched(self, member_id: MemberId) -> bool:
        member = self.state.members[member_id]
        return member.stage is Stage.WAITING and not member.was_asked

    def _is_held(self, member_id: MemberId) -> bool:
        """Whether it is not known by which protocol the broker has it: then its client's words are for neither."""
        return self.state.members[member_id].stage not in ENDED and not self._is_untouched(member_id)

    def _pass_on(self, member_id: MemberId, held: Held) -> None:
        if self._is_held(member_id):
            self._waiting.hold(member_id, held)
            return
        match self.state.members[member_id].stage:
            case Stage.BACK | Stage.CALLED:
                # Who was called and has joined is mapped no more.
                self._ways.by_road(held, self._around.home(self._group_id, member_id))
            case Stage.GONE:
                self._ways.to_broker(held)
            case _:
                self._ways.by_road(held, Road.UPSTREAM)
                if isinstance(held.request, LeaveGroup):
                    self._happen(MemberLeft(member_id))

    @property
    def _all_have_ended(self) -> bool:
        return self.state.is_over

    def _let_go_where_known(self) -> None:
        for member_id in self._waiting.members():
            if not self._is_held(member_id):
                for held in self._waiting.take(member_id):
                    self._pass_on(member_id, held)

    # ------------------------------------------------------------------ what is done

    def _at_rest(self, member_id: MemberId) -> ClassicMember | None:
        """A member as it is, if its client has just what the broker granted and can be asked; None otherwise."""
        key = MemberRef(self._group_id, member_id)
        seat = self._upstream.seat(key)
        if seat is None or self._upstream.via_of(key) == NOWHERE or not self._upstream.is_at_rest(key):
            return None
        return ClassicMember(
            member_id=member_id,
            instance_id=seat.instance_id,
            client=seat.identity,
            protocols=seat.protocols,
            protocol_name=self._upstream.protocol_of(key),
            session_timeout_ms=seat.session_timeout_ms,
            rebalance_timeout_ms=seat.rebalance_timeout_ms,
            generation=seat.generation,
            using=seat.using,
            epoch=self._upstream.epoch_of(key),
        )

    def _ask_again(self, member_id: MemberId) -> None:
        """Its machine is gone, and what the broker made of it is not known: a SyncGroup by this way tells."""
        if self.state.members[member_id].stage is Stage.WAITING:
            epoch = self._epochs.get(member_id, NO_GENERATION)
            self._happen(CameToRest(member_id, self._members[member_id].using, epoch))

    def _step(self, event: Event) -> None:
        before = self.state.members
        self.state, effects = step(self.state, event)
        for member_id, member in self.state.members.items():
            if member is not before[member_id]:
                reason = "" if member.reason is None else in_a_sentence(member.reason)
                if member.stage is Stage.CALLED:
                    reason = "others want what it has: its client is told to join again, as in any rebalance"
                self._progress.note(member_id, _STAGES[member.stage], reason)
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Join(member_id):
                self._join(member_id)
            case Sync(member_id, generation):
                self._sync(member_id, generation)
            case Map(member_id, generation, is_called):
                self._map(member_id, generation, is_called)
            case Keep(member_id):
                self._keep(member_id)
            case Drop(member_id):
                # Its requests go to the broker, which knows it no more, by whatever name; nor does a machine.
                self._upstream.names.take_out(MemberRef(self._group_id, member_id))
            case _:
                assert_never(effect)

    def _join(self, member_id: MemberId) -> None:
        try:
            known = replace(self._members[member_id], member_id=self._seat_id(member_id))
            request = rejoining(known, self._group_id, NO_GENERATION)
        except MalformedBlob:
            # Its client offers several protocols, and the bytes of one by which the group does not work can't be read.
            self._happen(
                Joined(member_id, JoinGroupReply(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=member_id))
            )
            return

        asked_ms = self._around.now_ms()

        def heard(reply: GroupReply | None) -> None:
            joined = reply if isinstance(reply, JoinGroupReply) else None
            if joined is not None:
                if joined.error is ErrorCode.NONE:
                    self._sessions.answered(member_id, asked_ms)
                # The broker chose among what all members offer; SyncGroup has to name the same.
                self._protocol_names[member_id] = joined.protocol_name or self._members[member_id].protocol_name
            self._happen(Joined(member_id, joined))
            self._excuse_if_lost(member_id, joined)

        self._access_of(member_id).ask(None, request, heard)

    def _excuse_if_lost(self, member_id: MemberId, reply: JoinGroupReply | SyncGroupReply | None) -> None:
        """Nothing is on its way that could tell whose its requests are: they are to come again."""
        if self.state.members[member_id].stage is Stage.WAITING:
            self._waiting.excuse_all(member_id, None if reply is None else reply.error)
        self._end_if_over()

    def _seat_id(self, member_id: MemberId) -> MemberId:
        """As whom its broker knows a member."""
        return self._upstream.names.seat_id(MemberRef(self._group_id, member_id))

    def _sync(self, member_id: MemberId, generation: int) -> None:
        member = self._members[member_id]
        request = SyncGroup(
            group_id=self._group_id,
            generation=generation,
            member_id=self._seat_id(member_id),
            instance_id=member.instance_id,
            protocol_type=CONSUMER,
            protocol_name=self._protocol_names.get(member_id, member.protocol_name),
            names_protocol=True,
        )

        asked_ms = self._around.now_ms()

        def heard(reply: GroupReply | None) -> None:
            synced = reply if isinstance(reply, SyncGroupReply) else None
            if synced is not None and synced.error is ErrorCode.NONE:
                self._sessions.answered(member_id, asked_ms)
            self._happen(Synced(member_id, synced))
            self._excuse_if_lost(member_id, synced)

        self._access_of(member_id).ask(None, request, heard)

    def _map(self, member_id: MemberId, generation: int, is_called: bool) -> None:
        known = self._members[member_id].generation
        seat = MappedSeat(
            member_id=member_id,
            generation=known,
            seat_id=self._seat_id(member_id),
            seat_generation=generation,
            is_called=is_called,
            member=self._members[member_id],
        )
        self._mapped.put(self._group_id, seat)
        self._upstream.names.take_out(MemberRef(self._group_id, member_id))
        LOG.info(
            "group %r: member %r is a classic member at its broker again, generation %d there, %d for its client",
            *(self._group_id, member_id, generation, known),
            extra=LogFields(group_id=self._group_id, member_id=member_id, road=UPSTREAM, generation=known),
        )

    def _keep(self, member_id: MemberId) -> None:
        """It goes on as a consumer member; one whose machine was let go gets it again.

        Whom an earlier life let go is asked back as it joins: at which epoch it was is not known any more.
        """
        key = MemberRef(self._group_id, member_id)
        member = self._members[member_id]
        if member_id not in self._epochs or self._upstream.seat(key) is not None:
            return
        known = replace(member, epoch=self._epochs[member_id])
        via = self.via_of(member_id)
        self._upstream.take_over((taken_over(known, self._group_id, self._around.now_ms(), via),))
