"""Follows what the embedded engine writes and notices: epochs, targets, who waits for whom, why members are gone."""

from collections.abc import Collection, Iterable, Mapping

from bridge.engine.commands import Speaks
from bridge.engine.model import Current, Member, MemberState, Subscription
from bridge.engine.outcome import (
    ConversionFailed,
    GroupDowngraded,
    GroupUpgraded,
    MemberRemoved,
    NotConverted,
    Outcome,
    PartitionsFreed,
    RemovalCause,
)
from bridge.engine.records import (
    ClassicGroupCreated,
    CurrentAssigned,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    Record,
    TargetAssigned,
    TargetEpochReached,
    TopicGone,
    TopicSeen,
)
from bridge.engine.state import ClassicGroup, Group, Shard, settings_of, topic_names_of
from bridge.telemetry.following.classic import ClassicFollower
from bridge.telemetry.following.fact_fields import group_fields
from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import NO_PARTITIONS, Inputs, Join, read_assignment, read_join
from bridge.telemetry.following.targets import TargetBook
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.terms import Conversion, Departure, Phase, Protocol, Road
from bridge.telemetry.schema.terms import Outcome as Ending
from translators.dialects.classic import JoinGroup
from translators.dialects.ids import STATIC_LEAVE_EPOCH, GroupId, MemberId, Topic, TopicId, TopicIdPartition

DEPARTURES = {
    RemovalCause.LEFT: Departure.LEFT,
    RemovalCause.REMOVED: Departure.REMOVED,
    RemovalCause.REPLACED: Departure.REPLACED,
    RemovalCause.SESSION_EXPIRED: Departure.SESSION_EXPIRED,
    RemovalCause.REBALANCE_TIMED_OUT: Departure.REBALANCE_TIMED_OUT,
    RemovalCause.SYNC_TIMED_OUT: Departure.SYNC_TIMED_OUT,
    RemovalCause.GROUP_FULL: Departure.GROUP_FULL,
}
PROTOCOLS = {Speaks.CLASSIC: Protocol.CLASSIC, Speaks.CONSUMER: Protocol.CONSUMER}


class EngineFollower:
    """What the engine of the embedded groups does."""

    def __init__(
        self,
        writer: FactWriter,
        classic: ClassicFollower,
        shard: Shard,
        topics: TopicBook,
        tracks: dict[GroupId, GroupTrack],
    ) -> None:
        self.departing: dict[tuple[GroupId, MemberId], Departure] = {}
        """Why members of translated clients are about to leave the engine, as their machines say."""
        self.removing: set[tuple[str, str]] = set()
        """Groups with members that an operator is removing."""
        self.interrupted: dict[str, str] = {}
        """Groups whose rebalance the run before left open, with its id."""
        self._writer = writer
        self._classic = classic
        self._shard = shard
        self._topics = topics
        self._tracks = tracks
        self._books: dict[GroupId, TargetBook[TopicIdPartition]] = {}

    def advanced(self, outcome: Outcome, at_us: int) -> None:
        """A turn of the engine is done, and its records are applied."""
        records = outcome.records
        self._tell_topics(records, at_us)
        self._tell_groups(records, _conversions(outcome), at_us)
        causes = {
            (notice.group_id, notice.member_id): DEPARTURES[notice.cause]
            for notice in outcome.notices
            if isinstance(notice, MemberRemoved)
        }
        touched: dict[GroupId, set[MemberId]] = {}
        for record in records:
            for group_id, member_id in self._follow(record, causes, at_us):
                touched.setdefault(group_id, set()).add(member_id)
        self._seat(records)
        for notice in outcome.notices:
            if isinstance(notice, MemberRemoved):
                self._lose(notice.group_id, notice.member_id, causes, at_us)
                touched.setdefault(notice.group_id, set())
            elif isinstance(notice, ConversionFailed):
                self._refuse(notice.refusal, at_us)
            elif isinstance(notice, PartitionsFreed):
                touched.setdefault(notice.group_id, set()).update(notice.member_ids)
        for group_id, member_ids in touched.items():
            self._look(group_id, member_ids, at_us)

    def holds(self, group_id: GroupId) -> bool:
        """Whether the engine has a group of that name, which it tells of until it is deleted."""
        return group_id in self._shard.groups or group_id in self._shard.classic_groups

    def session_timeout_ms(self, group_id: GroupId) -> int:
        """The session timeout that a group's native members have now."""
        return settings_of(self._shard, group_id).group_consumer_session_timeout_ms

    def _seat(self, records: Iterable[Record]) -> None:
        """Seat whose share came without a new epoch or target: they took over static seats, with what these had."""
        moving = {record.group_id for record in records if isinstance(record, (GroupEpochBumped, TargetEpochReached))}
        for record in records:
            if isinstance(record, TargetAssigned) and record.group_id not in moving:
                self._book(record.group_id).seat(record.member_id, record.partitions)

    def _track(self, group_id: GroupId) -> GroupTrack:
        known = self._tracks.get(group_id)
        if known is None:
            known = self._tracks[group_id] = GroupTrack(group_id=group_id, road=Road.EMBEDDED)
        return known

    # ------------------------------------------------------------------ topics and groups

    def _tell_topics(self, records: Iterable[Record], at_us: int) -> None:
        seen = [record.topic for record in records if isinstance(record, TopicSeen)]
        gone = [record.topic_id for record in records if isinstance(record, TopicGone)]
        if seen or gone:
            self._change_topics(seen, gone, at_us)

    def _change_topics(self, seen: Collection[Topic], gone: Iterable[TopicId], at_us: int) -> None:
        fact = self._topics.change(seen, gone)
        if fact is not None:
            self._writer.tell(None, fact, at_us)

    def _tell_groups(self, records: Iterable[Record], conversions: Mapping[GroupId, Conversion], at_us: int) -> None:
        deleted: set[GroupId] = set()
        for record in records:
            match record:
                case GroupDeleted(group_id):
                    deleted.add(group_id)
                case GroupCreated(group_id, epoch):
                    self._begin(group_id, Protocol.CONSUMER, epoch, conversions, at_us)
                    deleted.discard(group_id)
                case ClassicGroupCreated(group_id):
                    self._begin(group_id, Protocol.CLASSIC, facts.UNKNOWN_EPOCH, conversions, at_us)
                    deleted.discard(group_id)
                case GroupEpochBumped(group_id, epoch):
                    group = self._track(group_id)
                    self._writer.begin_rebalance(group, at_us, epoch)
                    self._classic.tell_known_joins(group)
                case _:
                    # Of members, topics and commits others tell.
                    pass
        for group_id in deleted:
            group = self._track(group_id)
            self._writer.end_rebalance(group, Ending.EMPTIED, at_us)
            self._books.pop(group_id, None)
            self._writer.tell(group, facts.GroupDeleted(**group_fields(group)), at_us)
            self._writer.forget(group)
            del self._tracks[group_id]

    def _begin(
        self, group_id: GroupId, kind: Protocol, epoch: int, conversions: Mapping[GroupId, Conversion], at_us: int
    ) -> None:
        group = self._track(group_id)
        # It was its broker's until now, if it was moved here.
        group.road = Road.EMBEDDED
        conversion = conversions.get(group_id)
        if conversion is None:
            group.group_type, group.is_led, group.epoch = kind, kind is Protocol.CONSUMER, epoch
            self._writer.tell(group, facts.GroupCreated(**group_fields(group), group_type=kind), at_us)
            return
        self._writer.end_rebalance(group, Ending.SUPERSEDED, at_us)
        classic = self._shard.classic_groups.get(group_id)
        # A classic group goes on with the generation that its members know.
        group.epoch = epoch if classic is None else classic.roster.generation
        group.group_type, group.is_led = kind, kind is Protocol.CONSUMER
        for member in group.members.values():
            member.be_due(None)
            member.reach(group.epoch)
        fact = facts.GroupConverted(**group_fields(group), group_type=kind, conversion=conversion)
        self._writer.tell(group, fact, at_us)

    def _refuse(self, refusal: NotConverted, at_us: int) -> None:
        group = self._track(refusal.group_id)
        kind = Protocol(refusal.to.value)
        fact = facts.ConversionRefused(**group_fields(group), group_type=kind, reason=refusal.text)
        self._writer.tell(group, fact, at_us)

    def revived(self, at_us: int) -> None:
        """Tell of the groups that go on, with their members; where these are not at rest a rebalance goes on too."""
        self._change_topics(self._shard.topics.values(), (), at_us)
        for group_id, group in self._shard.groups.items():
            track = self._track(group_id)
            track.group_type, track.is_led, track.epoch = Protocol.CONSUMER, True, group.epoch
            self._writer.tell(track, facts.GroupRevived(**group_fields(track), group_type=Protocol.CONSUMER), at_us)
            for member_id, seat in group.members.items():
                if seat.current.epoch >= 0:
                    self._revive(track, member_id, seat, at_us)
            book = self._book(group_id)
            for member_id in group.members:
                book.assign(member_id, group.target.get(member_id, frozenset()))
            book.turn(group.target_owners, len(group.target_owners), is_alike=False)
            if any(member.reached < group.epoch for member in track.members.values()):
                former = self.interrupted.get(group_id, "")
                self._writer.begin_rebalance(track, at_us, group.epoch, former)
            self._look(group_id, tuple(track.members), at_us)
        for group_id, classic in self._shard.classic_groups.items():
            self._revive_classic(self._track(group_id), classic, at_us)

    def _revive_classic(self, track: GroupTrack, group: ClassicGroup, at_us: int) -> None:
        roster = group.roster
        track.group_type, track.epoch, track.leader = Protocol.CLASSIC, roster.generation, roster.leader or ""
        self._writer.tell(track, facts.GroupRevived(**group_fields(track), group_type=Protocol.CLASSIC), at_us)
        for seat in roster.members.values():
            said = JoinGroup(
                group_id=group.group_id,
                member_id=seat.member_id,
                instance_id=seat.instance_id,
                protocol_type=roster.protocol_type,
                protocols=seat.protocols,
                session_timeout_ms=seat.session_timeout_ms,
                rebalance_timeout_ms=seat.rebalance_timeout_ms,
            )
            member = MemberTrack(
                member_id=seat.member_id,
                protocol=Protocol.CLASSIC,
                instance_id=seat.instance_id,
                inputs=read_join(said, seat.identity),
                generation=roster.generation,
                reached=roster.generation,
                assigned=read_assignment(seat.assignment) or NO_PARTITIONS,
            )
            self._writer.revive(track, member, at_us)

    def _revive(self, track: GroupTrack, member_id: MemberId, seat: Member, at_us: int) -> None:
        subscription, current = seat.subscription, seat.current
        member = MemberTrack(
            member_id=member_id,
            protocol=PROTOCOLS[subscription.speaks],
            instance_id=subscription.instance_id,
            inputs=self.inputs_of(track.group_id, subscription),
            member_epoch=current.epoch,
            reached=current.epoch if current.state is MemberState.STABLE else facts.UNKNOWN_EPOCH,
            assigned=self._topics(current.assigned),
            due=self._topics(current.assigned),
        )
        self._writer.revive(track, member, at_us)

    # ------------------------------------------------------------------ members

    def _follow(
        self, record: Record, causes: dict[tuple[GroupId, MemberId], Departure], at_us: int
    ) -> Iterable[tuple[GroupId, MemberId]]:
        """Tell of one record; gives the member that may wait for others now, or no more."""
        match record:
            case MemberSubscribed(group_id, subscription):
                self._subscribe(group_id, subscription, at_us)
            case MemberForgotten(group_id, member_id):
                self._book(group_id).leave(member_id)
                self._lose(group_id, member_id, causes, at_us)
                return ((group_id, member_id),)
            case CurrentAssigned(group_id, member_id, current):
                self._move(group_id, member_id, current, at_us)
                return ((group_id, member_id),)
            case TargetAssigned(group_id, member_id, partitions):
                self._book(group_id).assign(member_id, partitions)
                return ((group_id, member_id),)
            case TargetEpochReached(group_id):
                self._compare(group_id, record.assignor, at_us)
            case _:
                # Of groups as a whole `_tell_groups` tells, and of classic groups what their members are answered.
                pass
        return ()

    def _subscribe(self, group_id: GroupId, subscription: Subscription, at_us: int) -> None:
        group = self._track(group_id)
        member_id = subscription.member_id
        if group.is_led:
            self._book(group_id).join(member_id)
        if member_id in group.members:
            return
        join = group.joins.pop_member(member_id, subscription.instance_id, subscription.identity)
        self._classic.tell_join(group, join or self.join_of(group_id, subscription, at_us), member_id)

    def join_of(self, group_id: GroupId, subscription: Subscription, at_us: int) -> Join:
        """What the engine knows of a member, as if it had just joined."""
        return Join(
            member_id=subscription.member_id,
            instance_id=subscription.instance_id,
            protocol=PROTOCOLS[subscription.speaks],
            inputs=self.inputs_of(group_id, subscription),
            at_us=at_us,
        )

    def inputs_of(self, group_id: GroupId, subscription: Subscription) -> Inputs:
        """What the engine knows that a member told; topics are those that its group may be given."""
        group = self._shard.groups.get(group_id)
        hidden = {} if group is None else group.hidden
        return Inputs(
            client_id=subscription.identity.client_id,
            client_host=subscription.identity.client_host,
            library=subscription.identity.software_name,
            library_version=subscription.identity.software_version,
            topics=tuple(sorted(topic_names_of(self._shard, hidden, subscription))),
            pattern=subscription.pattern,
            assignors=() if subscription.assignor is None else (subscription.assignor,),
            rebalance_timeout_ms=subscription.rebalance_timeout_ms,
            rack_id=subscription.rack_id,
        )

    def _lose(
        self,
        group_id: GroupId,
        member_id: MemberId,
        causes: dict[tuple[GroupId, MemberId], Departure],
        at_us: int,
    ) -> None:
        group = self._track(group_id)
        member = group.members.get(member_id)
        said = self.departing.pop((group_id, member_id), None)
        self._writer.replace_away(group, member_id, at_us)
        if member is not None:
            departure = member.departure or said or causes.get((group_id, member_id)) or Departure.LEFT
            if (group_id, member_id) in self.removing:
                departure = Departure.REMOVED
            self._writer.leave(group, member, departure, at_us)

    def _move(self, group_id: GroupId, member_id: MemberId, current: Current, at_us: int) -> None:
        group = self._track(group_id)
        member = group.members.get(member_id)
        if member is None:
            return
        if current.epoch == STATIC_LEAVE_EPOCH:
            self.departing.pop((group_id, member_id), None)
            self._writer.leave(group, member, Departure.STATIC_LEFT, at_us)
            return
        self._writer.advance(group, member, current.epoch, at_us)
        due = self._topics(current.assigned)
        member.enter_epoch(current.epoch)
        member.be_due(due)
        member.reach(current.epoch if current.state is MemberState.STABLE else facts.UNKNOWN_EPOCH)
        is_unheard = member.protocol is Protocol.CLASSIC and member.generation == facts.UNKNOWN_EPOCH
        if is_unheard and current.state is MemberState.STABLE:
            # It was revived with what the engine had for it, and may never have heard of all that.
            self._writer.release(group, member, member.assigned - due, at_us)
        self._writer.settle(group, member, at_us)

    # ------------------------------------------------------------------ targets and waits

    def _compare(self, group_id: GroupId, assignor: str, at_us: int) -> None:
        """A target is complete: compare it with the one before."""
        track, group = self._track(group_id), self._shard.groups.get(group_id)
        if group is None:
            return
        is_alike = not group.patterns and len(group.name_sets) <= 1
        partition_count = len(group.target_owners)
        moves = self._book(group_id).turn(group.target_owners, partition_count, is_alike=is_alike)
        fact = facts.TargetComputed(
            **group_fields(track),
            assignor=assignor,
            moved=moves.moved,
            forced_minimum=moves.forced_minimum,
            member_count=len(group.members),
            partition_count=partition_count,
        )
        self._writer.tell(track, fact, at_us)

    def _book(self, group_id: GroupId) -> TargetBook[TopicIdPartition]:
        return self._books.setdefault(group_id, TargetBook())

    def _look(self, group_id: GroupId, member_ids: Iterable[MemberId], at_us: int) -> None:
        """Find out whom these members wait for, and whether the rebalance is over."""
        track, group = self._track(group_id), self._shard.groups.get(group_id)
        for member_id in member_ids:
            member = track.members.get(member_id)
            if group is not None and member is not None:
                self._watch(track, group, member, at_us)
        self._writer.look(track, at_us)

    def has_member(self, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether the engine knows a member of one of its groups."""
        group, classic = self._shard.groups.get(group_id), self._shard.classic_groups.get(group_id)
        return (group is not None and member_id in group.members) or (
            classic is not None and member_id in classic.roster.members
        )

    def has_target(self, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether a member has what the engine wants it to have, whatever epoch it has heard of."""
        group = self._shard.groups.get(group_id)
        seat = None if group is None else group.members.get(member_id)
        return (
            group is not None
            and seat is not None
            and seat.current.assigned.keys() == group.target.get(member_id, frozenset())
        )

    def _watch(self, track: GroupTrack, group: Group, member: MemberTrack, at_us: int) -> None:
        seat = group.members.get(member.member_id)
        if seat is None:
            return
        missing = group.target.get(member.member_id, frozenset()) - seat.current.assigned.keys()
        owners = {*map(group.owners.get, missing)} - {None, member.member_id}
        member.await_holders(tuple(sorted(str(owner) for owner in owners)))
        if member.phase in (Phase.STABLE, Phase.AWAITING_RELEASE):
            self._writer.rest(track, member, at_us)


def _conversions(outcome: Outcome) -> dict[GroupId, Conversion]:
    """Groups that are of the other kind now, and what made them."""
    return {
        notice.group_id: Conversion(notice.cause.value)
        for notice in outcome.notices
        if isinstance(notice, (GroupUpgraded, GroupDowngraded))
    }
