"""Follows the consumer protocol: ConsumerGroupHeartbeat and its answer, on every road; on road `upstream` also those
that the bridge sends in the place of a classic client. These tell what its broker has for it; what it gives up, waits
for and is given its own requests tell (`translated`).

Where the engine tells of epochs (`is_led`) those in answers say nothing of rebalances.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

from bridge.telemetry.following.classic import GONE, ClassicFollower, departure_of
from bridge.telemetry.following.connections import SilenceFollower
from bridge.telemetry.following.fact_fields import input_fields, member_fields
from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import (
    NO_PARTITIONS,
    Inputs,
    Join,
    Partitions,
    read_assignment,
    read_report,
)
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.disturbance import AT_WORK
from bridge.telemetry.schema.facts import MemberSubscribed
from bridge.telemetry.schema.terms import Carrier, Conversion, Departure, News, Phase, Protocol
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ClientIdentity,
    GroupId,
    MemberId,
    TopicIdPartition,
)


class Said(NamedTuple):
    """A heartbeat of a consumer group, and what the client speaks of the member that it is for."""

    request: ConsumerGroupHeartbeat
    spoken: Protocol


class ConsumerFollower:
    """Members of consumer groups, who beat by themselves or by the bridge."""

    def __init__(
        self,
        writer: FactWriter,
        classic: ClassicFollower,
        topics: TopicBook,
        session_ms: Callable[[GroupTrack], int],
        silence: SilenceFollower,
    ) -> None:
        """`session_ms` tells the session timeout of a group's members, -1 where only the broker knows it."""
        self.translated = ClassicFollower(writer, is_translated=True)
        """Classic clients in whose place the bridge beats."""
        self.departing: dict[tuple[GroupId, MemberId], Departure] = {}
        """Why members are about to leave in whose place the bridge says so."""
        self._writer = writer
        self._classic = classic
        self._topics = topics
        self._session_ms = session_ms
        self._silence = silence

    def report_came(self, group: GroupTrack, ref: object, said: Said, client: ClientIdentity, at_us: int) -> None:
        """A heartbeat came: it may join, acknowledge what was to be given up, or say something new."""
        request = said.request
        member = group.members.get(request.member_id)
        if member is not None and said.spoken is Protocol.CLASSIC and request.owned is not None:
            # What its client let go it let go as it joined, whatever it still waits for.
            self.translated.tell_known_joins(group, frozenset({member.member_id}))
        owned = NO_PARTITIONS if request.owned is None else self._topics(request.owned)
        before = Inputs(session_timeout_ms=self._session_ms(group)) if member is None else member.inputs
        inputs = read_report(request, client, before, owned)
        if said.spoken is Protocol.CLASSIC and before.assignors:
            # Its client has said more of itself than the bridge says in its place.
            inputs = replace(inputs, assignors=before.assignors, user_data=before.user_data)
        if request.member_epoch == JOIN_EPOCH:
            join = Join(
                member_id=request.member_id,
                instance_id=request.instance_id,
                protocol=said.spoken,
                inputs=inputs,
                at_us=at_us,
            )
            group.joins.put(ref, join)
        elif member is not None and request.member_epoch > JOIN_EPOCH:
            self._hear(group, member, inputs, at_us)

    def _hear(self, group: GroupTrack, member: MemberTrack, inputs: Inputs, at_us: int) -> None:
        before = self._writer.learn(group, member, inputs)
        if inputs.differs_from(before):
            fact = MemberSubscribed(**member_fields(group, member), **input_fields(inputs))
            self._writer.tell(group, fact, at_us)
        if inputs.owned is not None and member.told:
            self._writer.release(group, member, member.told - inputs.owned, at_us)
            if not member.told and member.phase is Phase.REVOKING:
                self._writer.rest(group, member, at_us)
        if inputs.owned is not None and member.due is not None and not group.is_led:
            self._note_use(group, member, member.due & inputs.owned, at_us)

    def report_answered(
        self,
        group: GroupTrack,
        ref: object,
        said: Said,
        reply: ConsumerGroupHeartbeatReply,
        at_us: int,
    ) -> None:
        """A heartbeat was answered."""
        request = said.request
        join = group.joins.pop(ref)
        member = group.members.get(reply.member_id or request.member_id)
        if reply.error is not ErrorCode.NONE:
            if member is not None and reply.error in GONE:
                self._fence(group, member, reply.error, at_us)
            elif member is not None and reply.error is ErrorCode.FENCED_MEMBER_EPOCH:
                self._start_over(group, member, at_us)
        elif request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            if member is not None:
                self._writer.leave(group, member, self._departure(group, request, member), at_us)
        else:
            self._lives(group, join, said, reply, at_us)
        self._writer.look(group, at_us)

    def _departure(self, group: GroupTrack, request: ConsumerGroupHeartbeat, member: MemberTrack) -> Departure:
        """Why a member leaves, which the bridge knows where it says so in a client's place."""
        known = self.departing.pop((group.group_id, member.member_id), Departure.LEFT)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            return Departure.STATIC_LEFT
        return Departure.REMOVED if member.is_removed else known

    def _lives(
        self,
        group: GroupTrack,
        join: Join | None,
        said: Said,
        reply: ConsumerGroupHeartbeatReply,
        at_us: int,
    ) -> None:
        writer = self._writer
        member_id = reply.member_id or said.request.member_id
        member = group.members.get(member_id)
        if not group.is_led and reply.member_epoch > group.epoch:
            if group.is_on_the_move and self._keeps_all(member, reply):
                # The broker counts on when it takes a classic group over: nobody joined, and nothing is dealt.
                group.epoch = reply.member_epoch
            else:
                began_us = at_us if join is None else join.at_us
                writer.begin_rebalance(group, began_us, reply.member_epoch)
                if said.spoken is Protocol.CLASSIC:
                    self.translated.tell_known_joins(group)
        writer.convert(group, Protocol.CONSUMER, Conversion.MEMBER_JOINED, at_us)
        is_waiting = member is not None and said.spoken is Protocol.CLASSIC and member.phase in AT_WORK
        if join is not None:
            own = self._own_join(group, said, join)
            if own is not None or not is_waiting:
                classic = self.translated if said.spoken is Protocol.CLASSIC else self._classic
                member = classic.tell_join(group, own or join, member_id)
            is_waiting = is_waiting or own is not None
        if member is None:
            return
        member.speak(said.spoken)
        member.be_told_interval(reply.heartbeat_interval_ms)
        group.natives.add(member_id)
        writer.advance(group, member, reply.member_epoch, at_us)
        member.enter_epoch(reply.member_epoch)
        if not group.is_led:
            member.reach(reply.member_epoch)
        if reply.assignment is not None:
            self._grant(group, member, said, reply.assignment, at_us)
        if member.phase is Phase.REVOKING or is_waiting:
            writer.settle(group, member, at_us)
        else:
            writer.rest(group, member, at_us)

    @staticmethod
    def _own_join(group: GroupTrack, said: Said, join: Join) -> Join | None:
        """The JoinGroup of a classic client for which the bridge has joined: it waits for that, and is to be told of
        from when it came. None where nobody heard one.
        """
        if said.spoken is not Protocol.CLASSIC:
            return None
        client = ClientIdentity(client_id=join.inputs.client_id, client_host=join.inputs.client_host)
        return group.joins.pop_member(join.member_id, join.instance_id, client)

    def _keeps_all(self, member: MemberTrack | None, reply: ConsumerGroupHeartbeatReply) -> bool:
        """Whether a member goes on with what it has."""
        if member is None or member.protocol is not Protocol.CLASSIC:
            return False
        return reply.assignment is None or self._topics(reply.assignment) == member.assigned

    def _grant(
        self, group: GroupTrack, member: MemberTrack, said: Said, by_id: Collection[TopicIdPartition], at_us: int
    ) -> None:
        """A broker grants a member these. A classic client in whose place the bridge asks is called by its next
        heartbeat and hears of them by the SyncGroup behind it (`sync_answered`); until then it reads what it has:
        seconds, which are no stall.
        """
        granted = self._topics(by_id)
        if said.spoken is Protocol.CONSUMER:
            self._assign(group, member, granted, at_us)
            return
        if not self._topics.knows(by_id):
            # Its client is told names, which nothing can be held against.
            member.be_due(None)
            return
        owned = NO_PARTITIONS if said.request.owned is None else self._topics(said.request.owned)
        member.be_due(granted)
        # What its client uses already, as its bridge says behind a restart of either, is its own.
        self._note_use(group, member, granted & owned, at_us)

    def _note_use(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """A classic client in whose place the bridge asks uses these, of which nobody heard that they were given; one
        that joins is to hear of them by its SyncGroup, whatever its broker is told before.
        """
        gained = partitions - member.assigned
        if gained and member.phase not in AT_WORK:
            self._silence.taken(group, member, gained, at_us)
            self._writer.inform(group, member, News.ASSIGN, Carrier.SYNC_GROUP, at_us)
            self._writer.assign(group, member, gained, at_us)

    def sync_answered(self, group: GroupTrack, request: SyncGroup, reply: SyncGroupReply, at_us: int) -> None:
        """The SyncGroup of a classic client was answered in whose place the bridge is a member of a broker's group."""
        member = group.members.get(request.member_id)
        handed_out = read_assignment(reply.assignment) if reply.error is ErrorCode.NONE else None
        if member is not None and handed_out is not None and not handed_out <= member.assigned:
            self._silence.taken(group, member, handed_out - member.assigned, at_us)
        self.translated.sync_answered(group, request, reply, at_us)

    def _assign(self, group: GroupTrack, member: MemberTrack, assigned: Partitions, at_us: int) -> None:
        writer = self._writer
        if assigned - member.assigned:
            self._silence.taken(group, member, assigned - member.assigned, at_us)
            writer.inform(group, member, News.ASSIGN, Carrier.CONSUMER_GROUP_HEARTBEAT, at_us)
        had_told = member.told
        lost = writer.swap(group, member, assigned, at_us)
        if lost - had_told:
            writer.inform(group, member, News.REVOKE, Carrier.CONSUMER_GROUP_HEARTBEAT, at_us)
            writer.begin_phase(group, member, Phase.REVOKING, at_us)

    def _fence(self, group: GroupTrack, member: MemberTrack, error: ErrorCode, at_us: int) -> None:
        self._writer.inform(group, member, News.FENCED, Carrier.CONSUMER_GROUP_HEARTBEAT, at_us)
        self._writer.leave(group, member, departure_of(error, member), at_us)

    def _start_over(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        """Its epoch is not the coordinator's: it stays a member, gives up all that it has, and joins again by its id
        or leaves (KIP-848).
        """
        self._writer.inform(group, member, News.FENCED, Carrier.CONSUMER_GROUP_HEARTBEAT, at_us)
        self._writer.release(group, member, member.assigned, at_us)
