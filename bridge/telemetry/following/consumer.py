"""Follows the consumer protocol: ConsumerGroupHeartbeat and its answer, on every road; on road `upstream` also those
that the bridge sends in the place of a classic client.

Where the engine tells of epochs (`is_led`) those in answers say nothing of rebalances.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from bridge.telemetry.following.classic import ClassicFollower, departure_of
from bridge.telemetry.following.connections import SilenceFollower
from bridge.telemetry.following.fact_fields import input_fields, member_fields
from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import NO_PARTITIONS, Inputs, Join, Partitions, read_report
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.facts import MemberSubscribed
from bridge.telemetry.schema.terms import Carrier, Conversion, Departure, News, Phase, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ClientIdentity,
    TopicIdPartition,
)

GONE = frozenset((ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID))


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
        self._writer = writer
        self._classic = classic
        self._topics = topics
        self._session_ms = session_ms
        self._silence = silence

    def report_came(self, group: GroupTrack, ref: object, said: Said, client: ClientIdentity, at_us: int) -> None:
        """A heartbeat came: it may join, acknowledge what was to be given up, or say something new."""
        request = said.request
        member = group.members.get(request.member_id)
        owned = NO_PARTITIONS if request.owned is None else self._topics(request.owned)
        before = Inputs(session_timeout_ms=self._session_ms(group)) if member is None else member.inputs
        inputs = read_report(request, client, before, owned)
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
            used = member.due & inputs.owned
            if not used <= member.assigned:
                # Its SyncGroup went by unheard.
                self.handed_out(group, member, used, at_us)

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
                is_back = request.member_epoch == STATIC_LEAVE_EPOCH
                self._writer.leave(group, member, Departure.STATIC_LEFT if is_back else Departure.LEFT, at_us)
        else:
            self._lives(group, join, said, reply, at_us)
        self._writer.look(group, at_us)

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
        writer.convert(group, Protocol.CONSUMER, Conversion.MEMBER_JOINED, at_us)
        if join is not None:
            member = self._classic.tell_join(group, join, member_id)
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
        if member.phase is not Phase.REVOKING:
            writer.rest(group, member, at_us)
        else:
            writer.settle(group, member, at_us)

    def _keeps_all(self, member: MemberTrack | None, reply: ConsumerGroupHeartbeatReply) -> bool:
        """Whether a member goes on with what it has."""
        if member is None or member.protocol is not Protocol.CLASSIC:
            return False
        return reply.assignment is None or self._topics(reply.assignment) == member.assigned

    def _grant(
        self, group: GroupTrack, member: MemberTrack, said: Said, by_id: Collection[TopicIdPartition], at_us: int
    ) -> None:
        """A broker grants a member these. A classic client in whose place the bridge asks hears of them by its next
        SyncGroup (`handed_out`), and reads what it has until then: seconds later, which are no stall.
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
        self._assign(group, member, granted & (member.assigned | owned), at_us)

    def handed_out(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """A classic client in whose place the bridge asks was told of these, or uses them."""
        gained = partitions - member.assigned
        if gained:
            self._silence.taken(group, member, gained, at_us)
            self._writer.inform(group, member, News.ASSIGN, Carrier.SYNC_GROUP, at_us)
            self._writer.assign(group, member, gained, at_us)
        if member.phase is not Phase.REVOKING:
            self._writer.rest(group, member, at_us)

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
