"""The one door to all that is followed: requests and answers of groups on every road, and the engine's turns.

Time comes in with each, in microseconds that never go back.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from bridge.engine.outcome import Outcome as Turn
from bridge.engine.state import Shard
from bridge.log_lines import LogFields
from bridge.telemetry.following.classic import ClassicFollower
from bridge.telemetry.following.connections import SilenceFollower
from bridge.telemetry.following.consumer import ConsumerFollower, Said
from bridge.telemetry.following.engine import EngineFollower
from bridge.telemetry.following.fact_fields import member_fields
from bridge.telemetry.following.fact_writer import FROZEN_US, Explain, FactWriter, Log, Owner
from bridge.telemetry.following.joins import UNTOLD_MS, Partitions, read_client
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack, written
from bridge.telemetry.schema.facts import (
    UNKNOWN_EPOCH,
    CommitPassed,
    CoordinatorMoved,
    MoveEnded,
    OperatorActed,
    RebalanceBegan,
    RebalanceEnded,
)
from bridge.telemetry.schema.terms import (
    Carrier,
    Conversion,
    Departure,
    OperatorAction,
    Outcome,
    Phase,
    Protocol,
    Road,
)
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    MemberId,
    RequestRef,
    TopicPartition,
)
from translators.dialects.kept_names import NAME_CHARS_MAX
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply


class FetchFollower:
    """Members that have not fetched all of what they have."""

    def __init__(self, writer: FactWriter) -> None:
        self._writer = writer

    def fetched(self, client: ClientIdentity, partitions: Partitions, is_incremental: bool, at_us: int) -> None:
        """A Fetch names these; members are known by client id and host, since a Fetch names no group.

        An incremental one (KIP-227) asks also for what its session names from before, so a member that has the same
        partitions again need not name them again.
        """
        awaited = self._writer.awaiting.get((client.client_id, client.client_host), {})
        found: dict[Owner, tuple[GroupTrack, MemberTrack, set[TopicPartition]]] = {}
        # Only what the session names from before has to be looked for: thousands may wait under one client's name.
        for partition in awaited if is_incremental else [one for one in partitions if one in awaited]:
            for owner, (group, member) in awaited[partition].items():
                if partition in partitions or (is_incremental and partition in member.former):
                    found.setdefault(owner, (group, member, set()))[2].add(partition)
        for group, member, fetched in found.values():
            self._writer.fetch(group, member, frozenset(fetched), at_us)


def _is_awaited(member: MemberTrack) -> bool:
    return member.owes_commit or member.phase is Phase.REVOKING


class CommitFollower:
    """Commits of members."""

    def __init__(self, writer: FactWriter) -> None:
        self._writer = writer

    def is_wanted(self, group: GroupTrack, request: OffsetCommit) -> bool:
        """Whether this commit's answer matters."""
        member = group.members.get(request.member_id)
        return member is not None and _is_awaited(member)

    def awaits_any(self, group: GroupTrack) -> bool:
        """Whether there is a member whose commit would matter; O(members)."""
        return any(map(_is_awaited, group.members.values()))

    def answered(self, group: GroupTrack, request: OffsetCommit, reply: OffsetCommitReply, at_us: int) -> None:
        """A commit was answered."""
        member = group.members.get(request.member_id)
        if member is None:
            return
        member.commit()
        errors = {one.error for topic in reply.topics for one in topic.partitions} - {ErrorCode.NONE}
        fact = CommitPassed(
            **member_fields(group, member),
            partitions=written([(topic.name, one.partition) for topic in request.topics for one in topic.partitions]),
            is_on_revoke=member.phase is Phase.REVOKING,
            error=min((error.name for error in errors), default=""),
        )
        self._writer.tell(group, fact, at_us)


LOG = logging.getLogger("epochbridge.telemetry")
GROUPS_MAX = 10_000
"""How many groups are followed; further ones go unheard, and are counted."""
LONG_NAMES_MAX = 100
"""How many of them may have names that are longer than `NAME_CHARS_MAX`: each is in every event of its group."""
DEPARTING_MAX = 10_000
"""How many reasons for leaving are kept until the engine forgets the member."""
NO_COORDINATOR = frozenset(
    (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
)
"""Answers of a broker that does not stand for the group, or not yet."""
FOLLOWED = (JoinGroup, SyncGroup, Heartbeat, LeaveGroup, ConsumerGroupHeartbeat, OffsetCommit)
"""Requests that may bring facts."""
SPOKEN = (JoinGroup, SyncGroup, Heartbeat, ConsumerGroupHeartbeat)
"""Requests that a member makes for itself, over the connection to its coordinator."""


class Opened(NamedTuple):
    """A request whose answer is to come."""

    group: GroupTrack
    request: GroupRequest
    client: ClientIdentity
    spoken: Protocol
    """What the client speaks, where the bridge sends the heartbeats of a consumer group in its place."""


class Follower:
    """Everything that is remembered of groups, and who makes facts of it."""

    def __init__(self, boot: str, log: Log, explain: Explain, topics: TopicBook, shard: Shard) -> None:
        self.writer = FactWriter(boot, log, explain)
        self.groups: dict[GroupId, GroupTrack] = {}
        self._long_names: set[GroupId] = set()
        self.unfollowed = 0
        """Requests of groups that are not followed."""
        self.broker_name: Callable[[int], str] = str
        """What a broker is called by its node id."""
        self._topics = topics
        self._settings = shard.settings
        self._open: dict[int, dict[RequestRef, Opened]] = {}
        self._classic = ClassicFollower(self.writer)
        self._silence = SilenceFollower(self.writer, self.groups)
        self._consumer = ConsumerFollower(self.writer, self._classic, topics, self._session_ms, self._silence)
        self._commits = CommitFollower(self.writer)
        self._fetches = FetchFollower(self.writer)
        self.engine = EngineFollower(self.writer, self._classic, shard, topics, self.groups)

    # ------------------------------------------------------------------ requests and answers

    def asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, road: Road, at_us: int) -> bool:
        """A request came; says whether its answer is to be told (`answered`)."""
        if not isinstance(request, FOLLOWED):
            return False
        group = self._group(request.group_id, road)
        if group is None:
            return False
        self._hear(ref, group, request, request)
        spoken = Protocol.CLASSIC if road is Road.UPSTREAM else Protocol.CONSUMER
        classic = self._classic_of(spoken)
        match request:
            case JoinGroup():
                classic.join_came(group, ref, request, client, at_us)
            case SyncGroup():
                classic.sync_came(group, request, at_us)
            case LeaveGroup():
                classic.leave_came(group, request, client)
            case ConsumerGroupHeartbeat():
                self._consumer.report_came(group, ref, Said(request, spoken), client, at_us)
            case OffsetCommit():
                if not self._commits.is_wanted(group, request):
                    # Groups that only commit have no members, and stayed for ever: 10,000 of them left no room.
                    self._tidy(group)
                    return False
            case Heartbeat():
                pass
        self._open.setdefault(ref.connection, {})[ref] = Opened(group, request, client, spoken)
        group.asking += 1
        return True

    def answered(self, ref: RequestRef, reply: GroupReply, at_us: int) -> None:
        """A request was answered; one that was not told of, or does not matter, is passed over."""
        opened = self._close(ref)
        if opened is None:
            return
        group, request = opened.group, opened.request
        group.asking -= 1
        classic = self._classic_of(opened.spoken)
        match request, reply:
            case JoinGroup(), JoinGroupReply():
                classic.join_answered(group, ref, reply, at_us)
            case SyncGroup(), SyncGroupReply() if opened.spoken is Protocol.CLASSIC:
                self._consumer.sync_answered(group, request, reply, at_us)
            case SyncGroup(), SyncGroupReply():
                classic.sync_answered(group, request, reply, at_us)
            case Heartbeat(), HeartbeatReply():
                self._beat(opened, request, reply.error, at_us)
            case LeaveGroup(), LeaveGroupReply():
                classic.leave_answered(group, request, reply, at_us)
            case ConsumerGroupHeartbeat(), ConsumerGroupHeartbeatReply():
                if reply.error is ErrorCode.NONE and request.member_epoch > JOIN_EPOCH:
                    self._meet(opened, request, reply.member_epoch, at_us)
                self._consumer.report_answered(group, ref, Said(request, opened.spoken), reply, at_us)
            case OffsetCommit(), OffsetCommitReply():
                self._commits.answered(group, request, reply, at_us)
            case _:
                # A refusal in the words of another api tells nothing of its member.
                pass
        self._hear(ref, group, request, reply)
        self._tidy(group)

    def served(self, ref: RequestRef, reply: GroupReply, broker_id: int, at_us: int) -> None:
        """A broker answers a request; `answered` comes next."""
        opened = self._open.get(ref.connection, {}).get(ref)
        error = getattr(reply, "error", ErrorCode.NONE)
        if opened is None or error in NO_COORDINATOR:
            return
        group = opened.group
        former, group.broker_id = group.broker_id, broker_id
        if former not in (None, broker_id):
            fact = CoordinatorMoved(group_id=group.group_id, road=group.road, broker=self.broker_name(broker_id))
            self.writer.tell(group, fact, at_us)
            group.move()

    def _classic_of(self, spoken: Protocol) -> ClassicFollower:
        """Who follows a classic client; on road `upstream` its broker tells the bridge of rebalances."""
        return self._consumer.translated if spoken is Protocol.CLASSIC else self._classic

    def awaits_commit(self, group_id: GroupId) -> bool:
        """Whether a commit in this group may bring a fact; O(members)."""
        group = self.groups.get(group_id)
        return group is not None and self._commits.awaits_any(group)

    def spoke(self, connection: int, at_us: int) -> None:
        """A request came by this connection, if only a heartbeat like the last one."""
        self.writer.last_heard.spoke(connection, at_us)

    def lost(self, connection: int, at_us: int) -> None:
        """A connection is gone, and with it the answers that were to come."""
        self._silence.lost(connection, at_us)
        for ref, opened in self._open.pop(connection, {}).items():
            opened.group.asking -= 1
            if opened.group.joins.pop(ref) is not None:
                self.writer.look(opened.group, at_us)
            self._tidy(opened.group)

    def fetches(self, client: ClientIdentity, at_us: int) -> None:
        """A Fetch of a client passes, whatever it names."""
        self.writer.last_heard.fetched(client.client_id, client.client_host, at_us)

    def fetched(
        self, client: ClientIdentity, partitions: Iterable[TopicPartition], is_incremental: bool, at_us: int
    ) -> None:
        """A Fetch of a client passes; it matters while `writer.awaiting` names its client id and host."""
        self._fetches.fetched(client, frozenset(partitions), is_incremental, at_us)

    def _hear(
        self, ref: RequestRef, group: GroupTrack, request: GroupRequest, named: GroupRequest | GroupReply
    ) -> None:
        """A member spoke for itself; `named` is the message that may name it first."""
        if isinstance(request, SPOKEN):
            member_id = getattr(named, "member_id", None) or request.member_id
            member = group.members.get(member_id)
            # Nearly all come over the connection that spoke for their member last.
            if member is not None and member.presence.connection != ref.connection:
                self._silence.heard(ref.connection, group, member_id)

    def _beat(self, opened: Opened, request: Heartbeat, error: ErrorCode, at_us: int) -> None:
        group = opened.group
        if error is ErrorCode.NONE:
            self._meet(opened, request, request.generation, at_us)
            return
        member = group.members.get(request.member_id)
        if member is not None:
            self._classic_of(opened.spoken).refused(group, member, error, Carrier.HEARTBEAT, at_us)

    def _meet(self, opened: Opened, request: Heartbeat | ConsumerGroupHeartbeat, epoch: int, at_us: int) -> None:
        """A member that was there before anybody listened: on road `pass` a restart of the bridge shows it so."""
        group = opened.group
        if group.is_led or request.member_id in group.members or group.road is Road.EMBEDDED:
            return
        is_classic = isinstance(request, Heartbeat)
        member = MemberTrack(
            member_id=request.member_id,
            protocol=Protocol.CLASSIC if is_classic else opened.spoken,
            instance_id=request.instance_id,
            inputs=read_client(opened.client),
            generation=epoch if is_classic else UNKNOWN_EPOCH,
            member_epoch=UNKNOWN_EPOCH if is_classic else epoch,
            reached=epoch,
        )
        if group.epoch == UNKNOWN_EPOCH:
            group.epoch = epoch
        self.writer.revive(group, member, at_us)

    # ------------------------------------------------------------------ the engine

    def advanced(self, turn: Turn, at_us: int) -> None:
        """The engine of the embedded groups did something."""
        self.engine.advanced(turn, at_us)

    def departs(self, group_id: GroupId, member_id: MemberId, departure: Departure, road: Road) -> None:
        """A translated client's member is about to leave its coordinator, for this reason."""
        departing = self._consumer.departing if road is Road.UPSTREAM else self.engine.departing
        if len(departing) >= DEPARTING_MAX:
            # Those whose farewell the engine did not need.
            departing.clear()
        departing[group_id, member_id] = departure

    def interrupted(self, left_open: Iterable[RebalanceBegan], at_us: int) -> None:
        """The run before ended in the middle of these; those of embedded groups may go on as new ones."""
        for began in left_open:
            fact = RebalanceEnded(
                group_id=began.group_id,
                road=began.road,
                rebalance_id=began.rebalance_id,
                group_epoch=began.group_epoch,
                outcome=Outcome.INTERRUPTED,
            )
            self.writer.tell(None, fact, at_us)
            self.engine.interrupted[began.group_id] = began.rebalance_id

    def revived(self, at_us: int) -> None:
        """The embedded groups are as a journal had them."""
        self.engine.revived(at_us)

    def ordered(self, group_id: GroupId, action: OperatorAction, members: Sequence[str], at_us: int) -> None:
        """An operator is about to do something to an embedded group."""
        if action is OperatorAction.REMOVE_MEMBERS:
            group = self.groups.get(group_id)
            present = {} if group is None else group.members
            wanted = {one.member_id for one in present.values() if {one.member_id, one.instance_id} & set(members)}
            self.engine.removing = {(group_id, member_id) for member_id in (wanted if members else present)}
        group = self.groups.get(group_id)
        if group is not None and action is OperatorAction.MOVE:
            group.begin_move()
        fact = OperatorActed(group_id=group_id, action=action, members=tuple(members))
        self.writer.tell(group, fact, at_us)

    def settled(self, group_id: GroupId, road: Road, epochs: Mapping[MemberId, int], at_us: int) -> None:
        """A move has ended (`coordinators.moving.surroundings.MoveEars`)."""
        group = self.groups.get(group_id)
        if group is not None and road is Road.EMBEDDED:
            # Clients go on by their own ids; their brokers may have known them by others.
            for member in [
                one for one in group.members.values() if not self.engine.has_member(group_id, one.member_id)
            ]:
                # What it has its client reads on: it is nobody's loss, and is not to be anybody's gain.
                member.release(member.assigned)
                self.writer.leave(group, member, Departure.REPLACED, at_us)
        elif group is not None:
            group.settle(road, epochs)
            if group.natives:
                self.writer.convert(group, Protocol.CONSUMER, Conversion.MEMBER_JOINED, at_us)
            else:
                self.writer.convert(group, Protocol.CLASSIC, Conversion.LAST_MEMBER_LEFT, at_us)
        # What is told while a move goes on tells of the road that it tries; a group that rests says nothing behind it.
        epoch = UNKNOWN_EPOCH if group is None else group.epoch
        self.writer.tell(group, MoveEnded(group_id=group_id, road=road, group_epoch=epoch), at_us)

    def expire(self, at_us: int) -> None:
        """Time passes: members of road `pass` whose connection is gone for a session are gone too, and rebalances go on
        without frozen members that have nothing to do for them.
        """
        for group in self._silence.expire(at_us):
            self._tidy(group)
        for group in [one for one in self.groups.values() if one.rebalance is not None]:
            if self.writer.leave_frozen_behind(group, partial(self._is_frozen, group, at_us), at_us):
                self._tidy(group)

    def _is_frozen(self, group: GroupTrack, at_us: int, member: MemberTrack) -> bool:
        """Whether nothing is wanted of a member, and nothing was heard of it.

        On road `embedded` it would have heard of the epoch with its next heartbeat; on road `pass` nobody knows what it
        is to have, so what others are given later that it had belongs to the rebalance that is over. A classic client
        of road `upstream` hears by its own next heartbeat what its broker has for it.
        """
        if group.is_led:
            return self.engine.has_target(group.group_id, member.member_id)
        if member.protocol is Protocol.CLASSIC and member.due not in (None, member.assigned):
            return False
        spoke_us = self.writer.last_heard.spoke_us(member.connection)
        return spoke_us is not None and at_us - spoke_us >= FROZEN_US

    def stopped(self, at_us: int) -> None:
        """The bridge ends: what is under way goes on without it."""
        for group in self.groups.values():
            self.writer.end_rebalance(group, Outcome.INTERRUPTED, at_us)

    # ------------------------------------------------------------------ groups

    def _session_ms(self, group: GroupTrack) -> int:
        if group.road is not Road.EMBEDDED:
            return UNTOLD_MS
        return self.engine.session_timeout_ms(group.group_id)

    def _group(self, group_id: GroupId, road: Road) -> GroupTrack | None:
        known = self.groups.get(group_id)
        if known is None:
            if not self._has_room(group_id):
                if not self.unfollowed:
                    LOG.warning(
                        "EB-EVENTS-014: group %r is not in the event log, which follows %d groups already (at most %d,"
                        " of names of more than %d characters %d); further groups are left out, too, and counted "
                        "(epochbridge_events_missed_total)",
                        *(group_id, len(self.groups), GROUPS_MAX, NAME_CHARS_MAX, LONG_NAMES_MAX),
                        extra=LogFields(group_id=group_id, road=road.value),
                    )
                self.unfollowed += 1
                return None
            is_resumed = road is Road.PASSING and group_id in self.engine.interrupted
            known = self.groups[group_id] = GroupTrack(group_id=group_id, road=road, is_resumed=is_resumed)
        elif road is Road.UPSTREAM and known.road is Road.PASSING:
            # KIP-848 members of the same group pass, and one of them came first.
            known.road = road
        return known

    def _has_room(self, group_id: GroupId) -> bool:
        """Whether one more can be followed; of those with long names few."""
        if len(self.groups) >= GROUPS_MAX or len(group_id) <= NAME_CHARS_MAX:
            return len(self.groups) < GROUPS_MAX
        self._long_names &= self.groups.keys()
        has_room = len(self._long_names) < LONG_NAMES_MAX
        if has_room:
            self._long_names.add(group_id)
        return has_room

    def _tidy(self, group: GroupTrack) -> None:
        """Forget a group without members: nobody tells when one that passes is deleted. One that the engine has is
        forgotten with it, but requests may name others on road `embedded`, too, to no avail.
        """
        is_empty = not (group.members or group.joins or group.away or group.issued) and group.rebalance is None
        is_over = is_empty and not group.asking and self.groups.get(group.group_id) is group
        if is_over and not (group.road is Road.EMBEDDED and self.engine.holds(group.group_id)):
            del self.groups[group.group_id]

    def _close(self, ref: RequestRef) -> Opened | None:
        opened = self._open.get(ref.connection)
        if opened is None:
            return None
        found = opened.pop(ref, None)
        if not opened:
            del self._open[ref.connection]
        return found
