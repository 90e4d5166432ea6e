"""A client of the classic protocol as it is played: it joins, syncs, hears of a rebalance by heartbeat, joins again.

Heartbeats that could change nothing are not played. What its leader gives to whom is range's by Kafka's rules; sticky
assignors are played by the bridge's own uniform one, which keeps what can be kept as they do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from bridge.engine.assignors.interface import AssignmentSpec, MemberSubscription
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ClassicHeartbeat, ClassicJoin, ClassicLeave, ClassicSync
from bridge.engine.model import Phase
from bridge.engine.state import session_key
from bridge.whatif.coordinator import ClientCommand, Reply, Request
from bridge.whatif.inputs import Client
from bridge.whatif.membership import ClassicMembership, Timeouts
from bridge.whatif.played_group import PlayedGroup
from bridge.whatif.timeline import next_beat_us
from translators.dialects.classic import (
    HeartbeatReply,
    JoinedMember,
    JoinGroupReply,
    MemberAssignment,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NO_MEMBER_ID,
    MemberId,
    RequestRef,
    TopicId,
    TopicIdPartition,
    TopicName,
    TopicPartition,
)
from translators.dialects.messages import GroupRequest

STICKY, ROUND_ROBIN = "uniform", "roundrobin"
Shares = dict[MemberId, frozenset[TopicPartition]]
Counts = Mapping[TopicName, int]


def assign_as_leader(name: str, members: Sequence[JoinedMember], counts: Counts, before: Shares) -> Shares:
    """Everybody's share; `before` is what the leader gave out last, which sticky assignors keep as far as they can."""
    wanted = {one.member_id: frozenset(decode_subscription(one.metadata).topics) for one in members}
    if name == ROUND_ROBIN:
        return _in_turn(wanted, counts)
    ids = {topic: TopicId(topic.encode()) for topic in counts}
    names = {topic_id: topic for topic, topic_id in ids.items()}
    spec = AssignmentSpec(
        members={
            one.member_id: MemberSubscription(
                member_id=one.member_id,
                instance_id=one.instance_id,
                rack_id=None,
                topics=frozenset(ids[topic] for topic in wanted[one.member_id] if topic in ids),
            )
            for one in members
        },
        previous={
            one.member_id: frozenset(
                TopicIdPartition(ids[part.topic], part.partition)
                for part in before.get(one.member_id, ())
                if part.topic in ids
            )
            for one in members
        },
        partition_counts={ids[topic]: count for topic, count in counts.items()},
    )
    found = registry[name if name in registry else STICKY].assign(spec)
    return {
        member_id: frozenset(TopicPartition(names[part.topic_id], part.partition) for part in share)
        for member_id, share in found.items()
    }


def _in_turn(wanted: Mapping[MemberId, frozenset[TopicName]], counts: Counts) -> Shares:
    """Partition after partition to the next member that wants its topic (RoundRobinAssignor)."""
    shares: dict[MemberId, set[TopicPartition]] = {member_id: set() for member_id in wanted}
    members = cycle(sorted(wanted))
    for topic in sorted(topic for topic in counts if any(topic in topics for topics in wanted.values())):
        for partition in range(counts[topic]):
            taker = next(member_id for member_id in members if topic in wanted[member_id])
            shares[taker].add(TopicPartition(topic, partition))
    return {member_id: frozenset(share) for member_id, share in shares.items()}


USUAL_ASSIGNORS = ("range", "cooperative-sticky")
"""What a client offers that the record knows from the new protocol only (ConsumerConfig)."""
NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicClientSettings:
    """How classic clients are set up; `session_ms` None is each one's own, `assignor` "" what each one offers."""

    heartbeat_ms: int
    metadata_age_ms: int
    session_ms: int | None = None
    assignor: str = ""


class ClassicClient:
    """One member."""

    def __init__(self, client: Client, group: PlayedGroup, settings: ClassicClientSettings) -> None:
        self.client = client
        self._group, self._settings = group, settings
        self._interval_us = settings.heartbeat_ms * 1_000
        self._fresh_id = group.fresh_id(client)
        self._member_id = MemberId(f"{client.instance_id or client.identity.client_id}-{self._fresh_id}")
        self._membership = ClassicMembership(group_id=group.group_id, instance_id=client.instance_id)
        self._owned = NO_PARTITIONS
        self._is_leader = False
        self._is_gone = False
        self._is_stable = False
        self._beat_us = 0
        self._began_us = group.now_us
        self._planned_us: int | None = None

    # ------------------------------------------------------------------ what happens to it

    @property
    def engine_id(self) -> MemberId:
        """What the engine calls it."""
        return self._member_id

    def joining(self) -> Request:
        """Its first request, and each one after it was called to join."""
        self._group.coordinator.living.add(self._member_id)
        self._is_stable = False
        timeouts = Timeouts(session_ms=self._session_ms, rebalance_ms=self.client.rebalance_ms)
        request = self._membership.join(self._assignors, self._subscription(), timeouts)
        ref = self._ref()
        command = ClassicJoin(ref=ref, request=request, identity=self.client.identity, fresh_id=self._fresh_id)
        return self._to(request, command)

    def change(self, client: Client) -> None:
        """It wants something else from now on, and joins again for it."""
        self.client = client
        self._call()

    def leave(self) -> None:
        """It leaves for good."""
        self._is_gone = True
        self._group.coordinator.living.discard(self._member_id)
        if not self._membership.member_id and self.client.instance_id is None:
            # Nobody has told it who it is: all it can do is hang up.
            self._group.coordinator.lost(self._connection, self._group.now_us)
            return
        request = self._membership.leave()
        ref = self._ref()
        self._send(request, ClassicLeave(ref, request))

    def vacate(self) -> None:
        """A classic client leaves a static seat without a word."""
        self.fall_silent()

    def fall_silent(self) -> None:
        """Its last sign of life was now."""
        self._is_gone = True
        at_ms = self._group.now_us // 1_000 + self._session_ms
        self._group.coordinator.expire_at(session_key(self._group.group_id, self._member_id), at_ms)
        self._group.coordinator.lost(self._connection, self._group.now_us)

    def see_topics(self) -> None:
        """Topics are other than before: who leads the group finds out with its next look at the metadata."""
        age_us = self._settings.metadata_age_ms * 1_000
        looks = (self._group.now_us - self._began_us) // age_us + 1
        self._group.timeline.at(self._began_us + looks * age_us, self._look)

    def expect_news(self) -> None:
        """Its next heartbeat may bring news."""
        group = self._group.coordinator.shard.classic_groups.get(self._group.group_id)
        is_called = group is not None and group.phase is Phase.PREPARING_REBALANCE
        if not is_called or not self._is_stable or self._is_gone or self._planned_us is not None:
            return
        at_us = self._planned_us = next_beat_us(self._beat_us, self._interval_us, self._group.now_us)
        self._group.timeline.at(at_us, lambda: self._tick(at_us))

    # ------------------------------------------------------------------ what it does

    @property
    def _assignors(self) -> tuple[str, ...]:
        if self._settings.assignor:
            return (self._settings.assignor,)
        return self.client.assignors if self.client.is_classic and self.client.assignors else USUAL_ASSIGNORS

    @property
    def _is_eager(self) -> bool:
        return not all("cooperative" in name for name in self._assignors)

    @property
    def _session_ms(self) -> int:
        return self._settings.session_ms or self.client.session_ms

    @property
    def _connection(self) -> int:
        return self._group.connection(self._member_id)

    def _subscription(self) -> Subscription:
        owned = NO_PARTITIONS if self._is_eager else self._owned
        return Subscription(version=1, topics=self.client.topics, owned=owned)

    def _ref(self) -> RequestRef:
        return self._group.coordinator.ref(self._connection)

    def _to(self, request: GroupRequest, command: ClientCommand) -> Request:
        self._beat_us, self._planned_us = self._group.now_us, None
        return Request(self.client.identity, request, command, self._hear)

    def _send(self, request: GroupRequest, command: ClientCommand) -> None:
        self._group.coordinator.ask([self._to(request, command)], self._group.now_us)

    def _tick(self, at_us: int) -> None:
        if self._planned_us != at_us or self._is_gone or not self._is_stable:
            return
        request = self._membership.heartbeat()
        ref = self._ref()
        self._send(request, ClassicHeartbeat(ref, request))

    def _look(self) -> None:
        if self._is_leader and self._is_stable and not self._is_gone:
            self._call()

    def _hear(self, reply: Reply) -> None:
        if self._is_gone:
            return
        match reply:
            case JoinGroupReply(error=ErrorCode.NONE):
                self._joined(reply)
            case SyncGroupReply(error=ErrorCode.NONE):
                self._synced(decode_assignment(reply.assignment).partitions)
            case HeartbeatReply(error=ErrorCode.NONE):
                self.expect_news()
            case JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED):
                self._membership = self._membership.joined(reply)
                self._join_in(0)
            case JoinGroupReply(error=ErrorCode.GROUP_MAX_SIZE_REACHED):
                self._is_gone = True
            case JoinGroupReply() | SyncGroupReply() | HeartbeatReply():
                if reply.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                    self._membership = replace(self._membership, member_id=NO_MEMBER_ID)
                    self._owned = NO_PARTITIONS
                self._call()
            case _:
                pass

    def _call(self) -> None:
        """Join again, when what it must not keep is given up."""
        gives_up = bool(self._owned) and self._is_eager
        self._is_stable = False
        self._join_in(self._group.reaction(self.client.member_id).revoke_us if gives_up else 0)

    def _join_in(self, wait_us: int) -> None:
        self._group.timeline.at(self._group.now_us + wait_us, self._join)

    def _join(self) -> None:
        if self._is_gone:
            return
        if self._is_eager:
            self._owned = NO_PARTITIONS
        self._group.coordinator.ask([self.joining()], self._group.now_us)

    def _joined(self, reply: JoinGroupReply) -> None:
        self._membership = self._membership.joined(reply)
        self._is_leader = reply.leader == reply.member_id
        assignments: tuple[MemberAssignment, ...] = ()
        if self._is_leader:
            group = self._group
            group.shares = assign_as_leader(reply.protocol_name or "", reply.members, group.counts, group.shares)
            shares = group.shares.items()
            assignments = tuple(MemberAssignment(name, encode_assignment(share)) for name, share in shares)
        request = self._membership.sync(reply, assignments)
        self._group.timeline.at(self._group.now_us, lambda: self._sync(request))

    def _sync(self, request: SyncGroup) -> None:
        if not self._is_gone:
            ref = self._ref()
            self._send(request, ClassicSync(ref, request))

    def _synced(self, assigned: frozenset[TopicPartition]) -> None:
        gained, lost = assigned - self._owned, self._owned - assigned
        reaction, now_us = self._group.reaction(self.client.member_id), self._group.now_us
        self._owned, self._is_stable = assigned, True
        if gained:
            self._group.timeline.at(now_us + reaction.fetch_us, lambda: self._fetch(gained))
        if lost:
            # Only a cooperative member still has something to give up here; then it joins once more (KIP-429).
            self._is_stable = False
            self._join_in(reaction.revoke_us)
        else:
            self.expect_news()

    def _fetch(self, gained: frozenset[TopicPartition]) -> None:
        if not self._is_gone:
            self._group.coordinator.fetched(self.client.identity, gained & self._owned, self._group.now_us)
