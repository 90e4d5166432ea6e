"""Follows the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup with their answers, on every road.

Where the engine tells of epochs (`is_led`), or a broker tells the bridge in a client's place (road `upstream`),
generations say nothing about rebalances.
"""

from collections.abc import Collection, Mapping

from bridge.telemetry.following.fact_fields import group_fields, input_fields, member_fields
from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import (
    NO_PARTITIONS,
    NOTHING_SAID,
    TOLD_BYTES_MAX,
    Join,
    Partitions,
    read_assignment,
    read_join,
)
from bridge.telemetry.following.last_heard import is_run_out
from bridge.telemetry.following.targets import compare_shares
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.facts import MemberRejoined, MemberSubscribed, TargetComputed
from bridge.telemetry.schema.terms import Carrier, Conversion, Departure, News, Phase, Protocol, Road
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberId, TopicPartition

GONE = frozenset((ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID))
"""Answers after which a member is no more."""
RUN_OUT = frozenset((Departure.SESSION_EXPIRED, Departure.REBALANCE_TIMED_OUT))
ISSUED_MAX = 1_000
"""How many ids are remembered of members that are to join; whoever comes with another one counts as there before."""
_AT_REST = frozenset((None, Phase.STABLE, Phase.AWAITING_RELEASE))


class ClassicFollower:
    """Classic members of groups; `is_translated`: those in whose place the bridge is a member of a broker's group."""

    def __init__(self, writer: FactWriter, *, is_translated: bool = False) -> None:
        self._writer = writer
        self._is_translated = is_translated

    def _counts_generations(self, group: GroupTrack) -> bool:
        """Whether its members' generations are all that tells of rebalances."""
        return not (group.is_led or self._is_translated)

    # ------------------------------------------------------------------ JoinGroup

    def join_came(self, group: GroupTrack, ref: object, request: JoinGroup, client: ClientIdentity, at_us: int) -> None:
        """A JoinGroup came; it is told of as soon as it is known whose it is and what rebalance it belongs to."""
        known = group.members.get(request.member_id)
        join = Join(
            member_id=request.member_id,
            instance_id=request.instance_id,
            protocol=Protocol.CLASSIC,
            inputs=read_join(request, client, NOTHING_SAID if known is None else known.inputs),
            at_us=at_us,
        )
        is_awaited = group.rebalance is not None and not group.rebalance.is_joined
        if is_awaited and known is not None:
            self.tell_join(group, join, join.member_id)
        else:
            group.joins.put(ref, join)

    def tell_known_joins(self, group: GroupTrack, known: Collection[MemberId] | None = None) -> None:
        """Tell of the joins of members that are known: of these, or of all."""
        for ref, join in group.joins.items():
            is_known = join.member_id in (group.members if known is None else known)
            if join.protocol is Protocol.CLASSIC and is_known:
                group.joins.pop(ref)
                self.tell_join(group, join, join.member_id)

    def tell_join(self, group: GroupTrack, join: Join, member_id: MemberId) -> MemberTrack:
        """A join is this member's."""
        writer, at_us = self._writer, join.at_us
        member = group.members.get(member_id)
        if member is None:
            member = MemberTrack(
                member_id=member_id,
                protocol=join.protocol,
                instance_id=join.instance_id,
                inputs=join.inputs,
                joined_by_id=bool(join.member_id),
            )
            if self._was_there(group, member):
                writer.revive(group, member, at_us)
            else:
                writer.join(group, member, self._replace(group, member, at_us), at_us)
        else:
            before = writer.learn(group, member, join.inputs)
            words = member_fields(group, member)
            fact = MemberRejoined(**words, **input_fields(join.inputs), is_leader=group.leader == member_id)
            writer.tell(group, fact, at_us)
            if join.inputs.differs_from(before):
                writer.tell(group, MemberSubscribed(**words, **input_fields(join.inputs)), at_us)
            writer.end_phase(group, member, at_us)
            member.rejoin()
            self._take_claims(group, member, join, at_us)
        writer.begin_phase(group, member, Phase.JOINING, at_us)
        group.settled.discard(member_id)
        return member

    def _take_claims(self, group: GroupTrack, member: MemberTrack, join: Join, at_us: int) -> None:
        """A member joins again with what it says it has, and gives up the rest.

        kafka-python may do so before it tells its application what it was given: its `poll` ran out of time before the
        answer to SyncGroup came, and it drops that. A cooperative client gives up only what it is told to: what it
        leaves out it never took up, and hears of first when it gets it again. Who shares out decides whether it does.
        """
        left_out = member.assigned - (join.inputs.owned or NO_PARTITIONS)
        is_lasting = self._counts_generations(group) and not member.is_eager and member.is_unaware_of(left_out)
        member.leave_out(left_out if is_lasting else NO_PARTITIONS)
        self._writer.release(group, member, left_out - member.left_out, at_us)

    def _share_out(self, group: GroupTrack, member: MemberTrack, share: Partitions, at_us: int) -> None:
        """What a member left out and does not get again is free."""
        left_out = member.left_out
        member.leave_out(NO_PARTITIONS)
        self._writer.release(group, member, left_out - share, at_us)

    @staticmethod
    def _was_there(group: GroupTrack, newcomer: MemberTrack) -> bool:
        """Whether it joins by an id that nobody heard given: it was a member before anybody listened."""
        is_known = newcomer.member_id in group.issued
        group.issued.discard(newcomer.member_id)
        is_classic = newcomer.protocol is Protocol.CLASSIC
        return is_classic and group.is_resumed and newcomer.joined_by_id and not is_known

    def _replace(self, group: GroupTrack, newcomer: MemberTrack, at_us: int) -> str:
        """Who had the newcomer's static seat, "" for nobody; one that is still there is replaced."""
        former_id = None if newcomer.instance_id is None else group.seats.get(newcomer.instance_id)
        if former_id is not None:
            self._writer.replace_away(group, former_id, at_us)
        if former_id is None or former_id == newcomer.member_id:
            return ""
        former = group.members.get(former_id)
        if former is not None:
            is_over = group.road is Road.PASSING and is_run_out(former, at_us)
            self._writer.leave(group, former, Departure.SESSION_EXPIRED if is_over else Departure.REPLACED, at_us)
        return former_id

    def join_answered(self, group: GroupTrack, ref: object, reply: JoinGroupReply, at_us: int) -> None:
        """A JoinGroup was answered."""
        join = group.joins.pop(ref)
        if reply.error is ErrorCode.NONE:
            self._joined(group, join, reply, at_us)
            return
        member = group.members.get(reply.member_id)
        if group.is_resumed and reply.error is ErrorCode.MEMBER_ID_REQUIRED and len(group.issued) < ISSUED_MAX:
            group.issued.add(reply.member_id)
        if member is None and join is not None:
            member = group.members.get(join.member_id)
        if member is not None and reply.error is not ErrorCode.MEMBER_ID_REQUIRED:
            self.refused(group, member, reply.error, Carrier.JOIN_GROUP, at_us)
        self._writer.look(group, at_us)

    def _joined(self, group: GroupTrack, join: Join | None, reply: JoinGroupReply, at_us: int) -> None:
        if self._counts_generations(group):
            self._reach(group, reply.generation, at_us if join is None else join.at_us)
        member = group.members.get(reply.member_id)
        if join is not None:
            member = self.tell_join(group, join, reply.member_id)
        if member is None:
            return
        member.enter_generation(reply.generation)
        group.leader, group.assignor = reply.leader, reply.protocol_name or ""
        self._writer.begin_phase(group, member, Phase.SYNCING, at_us)
        if reply.members and self._counts_generations(group):
            self._writer.convert(group, Protocol.CLASSIC, Conversion.LAST_MEMBER_LEFT, at_us)
            self._tell_listed_joins(group, {one.member_id for one in reply.members})
            self._reconcile(group, {one.member_id for one in reply.members}, at_us)
        self._writer.settle(group, member, at_us)

    def _tell_listed_joins(self, group: GroupTrack, member_ids: set[MemberId]) -> None:
        """Newcomers that the leader was told of are in, though their own answers are still on their way."""
        for ref, join in group.joins.items():
            if join.member_id in member_ids and join.member_id not in group.members:
                group.joins.pop(ref)
                self.tell_join(group, join, join.member_id)

    def _reach(self, group: GroupTrack, generation: int, came_us: int) -> None:
        """A generation was handed out; one that is not new belongs to no new rebalance (a static member's return).

        A new coordinator that has not heard of the last one hands its number out again.
        """
        rebalance = group.rebalance
        is_again = group.is_moved and rebalance is not None and rebalance.is_joined
        group.is_moved = False
        if generation == group.epoch and not is_again:
            return
        if group.rebalance is None or group.rebalance.is_joined or group.natives:
            self._begin(group, came_us, generation)
        group.epoch = generation
        if group.rebalance is not None:
            group.rebalance.is_joined = not group.natives
        self.tell_known_joins(group)

    def _begin(self, group: GroupTrack, seen_us: int, generation: int | None = None) -> None:
        """A rebalance began when the first of those came who are not answered yet."""
        began_us = min((seen_us, *(join.at_us for join in group.joins.values())))
        self._writer.begin_rebalance(group, began_us, generation)

    def _reconcile(self, group: GroupTrack, member_ids: set[MemberId], at_us: int) -> None:
        """The leader was told who is in the generation: whoever is not was dropped by the coordinator."""
        for member in tuple(group.members.values()):
            if member.member_id not in member_ids:
                departure = departure_of(ErrorCode.UNKNOWN_MEMBER_ID, member)
                self._writer.leave(group, member, _forgotten_or(departure, group, member), at_us)

    # ------------------------------------------------------------------ SyncGroup

    def sync_came(self, group: GroupTrack, request: SyncGroup, at_us: int) -> None:
        """A SyncGroup came; the leader's holds the target of the generation."""
        if request.assignments and self._counts_generations(group):
            blobs = {each.member_id: each.assignment for each in request.assignments}
            is_short = sum(map(len, blobs.values())) <= TOLD_BYTES_MAX
            group.brought = {one: (blob, read_assignment(blob) if is_short else None) for one, blob in blobs.items()}
            readable = {member_id: share for member_id, (_, share) in group.brought.items() if share is not None}
            # Nothing can be told of assignments that are not those of the consumer protocol.
            if len(readable) == len(blobs):
                self._tell_target(group, request.protocol_name or group.assignor, readable, at_us)

    def _tell_target(self, group: GroupTrack, assignor: str, shares: Mapping[MemberId, Partitions], at_us: int) -> None:
        for member_id, share in shares.items():
            if member_id in group.members:
                self._share_out(group, group.members[member_id], share, at_us)
        topics = {group.members[member_id].inputs.topics for member_id in shares if member_id in group.members}
        moves = compare_shares(group.last_holders, shares, is_alike=len(topics) == 1)
        owned = {partition: member_id for member_id, share in shares.items() for partition in share}
        kept = {part: holder for part, holder in group.last_holders.items() if _has(group, holder, part)}
        group.last_holders = kept | owned
        fact = TargetComputed(
            **group_fields(group),
            assignor=assignor,
            moved=moves.moved,
            forced_minimum=moves.forced_minimum,
            member_count=len(shares),
            partition_count=len(owned),
        )
        self._writer.tell(group, fact, at_us)

    def sync_answered(self, group: GroupTrack, request: SyncGroup, reply: SyncGroupReply, at_us: int) -> None:
        """A SyncGroup was answered."""
        member = group.members.get(request.member_id)
        if member is None:
            return
        if reply.error is not ErrorCode.NONE:
            self.refused(group, member, reply.error, Carrier.SYNC_GROUP, at_us)
            return
        if self._counts_generations(group):
            member.reach(request.generation)
        member.enter_generation(request.generation)
        writer = self._writer
        writer.end_phase(group, member, at_us)
        assigned = _read_handed_out(group, member.member_id, reply.assignment)
        if assigned is not None:
            self._share_out(group, member, assigned, at_us)
            if assigned - member.assigned:
                writer.inform(group, member, News.ASSIGN, Carrier.SYNC_GROUP, at_us)
            if writer.swap(group, member, assigned, at_us):
                writer.inform(group, member, News.REVOKE, Carrier.SYNC_GROUP, at_us)
                writer.begin_phase(group, member, Phase.REVOKING, at_us)
                writer.settle(group, member, at_us)
                return
        writer.rest(group, member, at_us)

    # ------------------------------------------------------------------ Heartbeat and LeaveGroup

    def refused(self, group: GroupTrack, member: MemberTrack, error: ErrorCode, carrier: Carrier, at_us: int) -> None:
        """A member's request was answered with an error: it is called to join, or no member any more."""
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            if carrier is not Carrier.HEARTBEAT or member.phase in _AT_REST:
                self._call(group, member, carrier, at_us)
        elif error in GONE:
            self._writer.inform(group, member, News.FENCED, carrier, at_us)
            self._part(group, member, _forgotten_or(departure_of(error, member), group, member), at_us)
            self._writer.look(group, at_us)
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self._writer.inform(group, member, News.FENCED, carrier, at_us)

    def _call(self, group: GroupTrack, member: MemberTrack, carrier: Carrier, at_us: int) -> None:
        writer = self._writer
        # In a consumer group a classic member is called to join for the epoch that is (K4.12), and begins none.
        is_first = group.rebalance is None or group.rebalance.is_joined
        if is_first and self._counts_generations(group) and not group.natives:
            self._begin(group, at_us)
            self.tell_known_joins(group)
        gives_up = member.assigned if member.is_eager else frozenset()
        writer.inform(group, member, News.REVOKE if gives_up else News.REJOIN, carrier, at_us)
        writer.demand(group, member, gives_up, at_us)
        writer.begin_phase(group, member, Phase.REVOKING, at_us)
        group.settled.discard(member.member_id)

    def leave_came(self, group: GroupTrack, request: LeaveGroup, client: ClientIdentity) -> None:
        """A LeaveGroup came: until its members are gone it is kept why, and whether somebody else wants it."""
        for entry in request.members:
            member = _leaver(group, entry)
            if member is not None:
                is_removed = not entry.member_id or client.client_id != member.inputs.client_id
                member.note_farewell(entry.reason, is_removed=is_removed)

    def leave_answered(self, group: GroupTrack, request: LeaveGroup, reply: LeaveGroupReply, at_us: int) -> None:
        """A LeaveGroup was answered."""
        if reply.error is not ErrorCode.NONE:
            return
        refused = {(left.member_id, left.instance_id) for left in reply.members if left.error is not ErrorCode.NONE}
        for entry in request.members:
            member = _leaver(group, entry)
            if member is not None and (entry.member_id, entry.instance_id) not in refused:
                self._part(group, member, Departure.REMOVED if member.is_removed else Departure.LEFT, at_us)
        self._writer.look(group, at_us)

    def _part(self, group: GroupTrack, member: MemberTrack, departure: Departure, at_us: int) -> None:
        """A client is out; the engine drops its member when it can, and that makes an epoch: so it is told then."""
        if not group.is_led:
            self._writer.leave(group, member, departure, at_us)
            return
        self._writer.end_phase(group, member, at_us)
        member.begin_leaving(departure, at_us)
        group.settled.discard(member.member_id)


def _read_handed_out(group: GroupTrack, member_id: MemberId, blob: bytes) -> Partitions | None:
    """What a member is handed out; the bytes that its leader brought for it have been read already."""
    brought, read = group.brought.pop(member_id, (b"", None))
    return read if brought and brought == blob else read_assignment(blob)


def _leaver(group: GroupTrack, entry: LeavingMember) -> MemberTrack | None:
    member_id = entry.member_id
    if not member_id and entry.instance_id is not None:
        member_id = group.seats.get(entry.instance_id, member_id)
    return group.members.get(member_id)


def _has(group: GroupTrack, member_id: MemberId, partition: TopicPartition) -> bool:
    """Whether a member has a partition at this moment."""
    member = group.members.get(member_id)
    return member is not None and partition in member.assigned


def _forgotten_or(departure: Departure, group: GroupTrack, member: MemberTrack) -> Departure:
    """Time can't have run out for a member that the coordinator in office never heard of."""
    return Departure.VANISHED if member.member_id in group.unwritten and departure in RUN_OUT else departure


def departure_of(error: ErrorCode, member: MemberTrack) -> Departure:
    """What must have happened to a member that its coordinator does not know any more."""
    if member.is_removed:
        return Departure.REMOVED
    if error is ErrorCode.FENCED_INSTANCE_ID:
        return Departure.FENCED
    return Departure.REBALANCE_TIMED_OUT if member.phase is Phase.REVOKING else Departure.SESSION_EXPIRED
