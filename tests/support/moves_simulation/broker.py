"""The broker of this world: its connections, which answer one request at a time, and the offsets that it keeps."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import trio

from bridge.coordinators.upstream.commits import FIRST_BY_EPOCH
from bridge.engine.describe import describe_classic_group
from bridge.ports import BrokerUnreachable, ClusterTopics
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import Reply, Request
from tests.support.moves_simulation.kafka_group import KafkaGroup
from tests.support.simulation.actor import GROUP
from tests.support.simulation.cluster import Topics
from tests.support.simulation.timeline import Timeline
from tests.support.sketches import whole
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NO_TOPIC_ID,
    ClientIdentity,
    GroupId,
    MemberId,
    RequestRef,
    TopicIdPartition,
    TopicName,
    TopicPartition,
)
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
)

OWN = ClientIdentity(client_id="epochbridge", client_host="/127.0.0.1")
OWN_WAIT_MAX_MS = 10_000
"""How long the bridge waits for the answer to a question of its own (`bridge_questions.ANSWER_TIMEOUT_S`)."""
ALL_APIS_MAX = 9
DESCRIBE_MS = 2


@dataclass(slots=True)
class BrokerLine:
    """A connection to the broker: what waits for its turn, and whether something is being answered."""

    client: ClientIdentity
    owner: int | None = None
    """The client process that it is for, None for the bridge's own."""
    is_open: bool = True
    arrives_ms: int = 0
    returns_ms: int = 0
    is_busy: bool = False
    queue: deque[tuple[GroupRequest, OnAnswer]] = field(default_factory=deque)
    unanswered: list[OnAnswer] = field(default_factory=list)


Landed = Callable[[BrokerLine, TopicPartition, int], None]
"""Hears of each partition's offset that the broker keeps, and of the connection by which it came."""


class SimulatedBroker:
    """One broker that is everybody's coordinator. `latency_ms` is the most that a way takes; an open line keeps order.

    `loses` says of how many of a hundred questions by the bridge's own connections the connection is lost.
    """

    def __init__(self, timeline: Timeline, seed: int, group: KafkaGroup, topics: Topics, landed: Landed) -> None:
        self.group = group
        self.topics = topics
        self.latency_ms = 3
        self.loses = 0
        self.hangs_until_ms = 0
        self.offsets: dict[TopicPartition, int] = {}
        self._timeline = timeline
        self._chance = Random(f"broker {seed}")
        self._landed = landed
        self._lines: list[BrokerLine] = []
        self._wakes_ms: int | None = None

    # ------------------------------------------------------------------ connections

    def connect(self, client: ClientIdentity, owner: int | None = None) -> BrokerLine:
        """A new connection, for a client process or for the bridge itself."""
        line = BrokerLine(client, owner)
        self._lines.append(line)
        return line

    def send(self, line: BrokerLine, request: GroupRequest, on_answer: OnAnswer) -> None:
        """Ask by a connection; None is the answer of one that is or gets closed."""
        if not line.is_open:
            on_answer(None)
            return
        line.unanswered.append(on_answer)
        line.arrives_ms = max(line.arrives_ms, self._timeline.now_ms + self._latency())
        self._timeline.at(line.arrives_ms, lambda: self._arrive(line, request, on_answer))

    def close(self, line: BrokerLine) -> None:
        """What is on its way may still arrive; nobody hears the answers."""
        line.is_open = False
        if line in self._lines:
            self._lines.remove(line)
        unanswered, line.unanswered = line.unanswered, []
        for on_answer in unanswered:
            on_answer(None)

    def die(self) -> None:
        """Killed, and there again at once: every connection is gone."""
        for line in tuple(self._lines):
            line.queue.clear()
            self.close(line)
        self.group.die()

    def hang(self, for_ms: int) -> None:
        """What comes meanwhile waits, each connection's in its order; sessions end as ever."""
        self.hangs_until_ms = self._timeline.now_ms + for_ms
        self._timeline.after(for_ms, self._go_on)

    def _go_on(self) -> None:
        for line in tuple(self._lines):
            self._work(line)

    def _latency(self) -> int:
        return self._chance.randint(0, self.latency_ms)

    def _arrive(self, line: BrokerLine, request: GroupRequest, on_answer: OnAnswer) -> None:
        line.queue.append((request, on_answer))
        self._work(line)

    def _work(self, line: BrokerLine) -> None:
        if line.is_busy or not line.queue or self._timeline.now_ms < self.hangs_until_ms:
            return
        line.is_busy = True
        request, on_answer = line.queue.popleft()
        self._carry_out(line, request, lambda reply: self._answer(line, on_answer, reply))

    def _answer(self, line: BrokerLine, on_answer: OnAnswer, reply: GroupReply) -> None:
        line.is_busy = False
        line.returns_ms = max(line.returns_ms, self._timeline.now_ms + self._latency())
        self._timeline.at(line.returns_ms, lambda: self._return(line, on_answer, reply))
        self._timeline.after(0, lambda: self._work(line))

    def _return(self, line: BrokerLine, on_answer: OnAnswer, reply: GroupReply) -> None:
        if on_answer in line.unanswered:
            line.unanswered.remove(on_answer)
            on_answer(reply)

    # ------------------------------------------------------------------ what it does

    def _carry_out(self, line: BrokerLine, request: GroupRequest, then: Callable[[GroupReply], None]) -> None:
        match request:
            case OffsetCommit():
                then(self._commit(line, request))
            case OffsetFetch():
                then(self._fetch(request))
            case ConsumerGroupDescribe(group_ids=group_ids):
                found = map(self.describe, group_ids)
                then(ConsumerGroupDescribeReply(tuple(one for one in found if isinstance(one, DescribedConsumerGroup))))
            case _:
                self.group.ask(self._timeline.now_ms, line.client, request, then)
        self.plan()

    def plan(self) -> None:
        """See to it that sessions end in time."""
        due_ms = self.group.next_due_ms()
        if due_ms is None or (self._wakes_ms is not None and self._wakes_ms <= due_ms):
            return
        self._wakes_ms = max(due_ms, self._timeline.now_ms)
        self._timeline.at(self._wakes_ms, self._wake)

    def _wake(self) -> None:
        if self._wakes_ms is None or self._wakes_ms > self._timeline.now_ms:
            return
        self._wakes_ms = None
        self.group.pass_time(self._timeline.now_ms)
        self.plan()

    def _commit(self, line: BrokerLine, request: OffsetCommit) -> OffsetCommitReply:
        code = self.group.judge_commit(request)
        for topic in request.topics:
            name = self._name_of(topic.name, topic.topic_id)
            for entry in topic.partitions:
                if code is ErrorCode.NONE:
                    partition = TopicPartition(name, entry.partition)
                    self._landed(line, partition, entry.offset)
                    self.offsets[partition] = entry.offset
        return OffsetCommitReply(
            topics=tuple(
                CommittedTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=tuple(CommittedPartition(entry.partition, code) for entry in topic.partitions),
                )
                for topic in request.topics
            )
        )

    def _name_of(self, name: TopicName, topic_id: bytes) -> TopicName:
        if topic_id == NO_TOPIC_ID or name:
            return name
        return next(topic.name for topic in self.topics.all() if topic.topic_id == topic_id)

    def _fetch(self, request: OffsetFetch) -> OffsetFetchReply:
        return OffsetFetchReply(groups=tuple(self.fetched(one.group_id) for one in request.groups))

    def fetched(self, group_id: GroupId) -> FetchedGroup:
        """Every committed offset."""
        by_topic: dict[TopicName, list[FetchedPartition]] = {}
        for partition, offset in sorted(self.offsets.items()):
            by_topic.setdefault(partition.topic, []).append(
                FetchedPartition(partition=partition.partition, offset=offset)
            )
        topics = tuple(FetchedTopic(name=name, partitions=tuple(found)) for name, found in by_topic.items())
        return FetchedGroup(group_id=group_id, topics=topics)

    def describe(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """The group as Kafka describes it: also a consumer group of classic members alone is one."""
        group, classic = self.group.consumer, self.group.classic
        if group_id == GROUP and group is not None:
            settled = all(one.current.epoch == group.epoch for one in group.members.values())
            return DescribedConsumerGroup(
                error=ErrorCode.NONE,
                group_id=group_id,
                group_state="Stable" if settled else "Reconciling",
                group_epoch=group.epoch,
                assignment_epoch=group.assignment_epoch,
                assignor_name="uniform",
                members=tuple(self._describe_member(one) for one in group.members),
            )
        if group_id == GROUP and classic is not None:
            return whole(describe_classic_group(classic))
        return DescribedGroup(error=ErrorCode.NONE, group_id=group_id, group_state="Dead")

    def _describe_member(self, member_id: MemberId) -> DescribedConsumerMember:
        group = self.group.consumer
        assert group is not None
        member = group.members[member_id]
        said = member.subscription
        return DescribedConsumerMember(
            member_id=member_id,
            instance_id=said.instance_id,
            rack_id=said.rack_id,
            member_epoch=member.current.epoch,
            client_id=said.identity.client_id,
            client_host=said.identity.shown_host,
            subscribed_topic_names=tuple(sorted(said.names)),
            subscribed_topic_regex="",
            assignment=self._by_topic(
                frozenset(member.current.assigned) | frozenset(member.current.pending_revocation)
            ),
            target_assignment=self._by_topic(group.target.get(member_id, frozenset())),
            member_type=int(said.speaks),
        )

    def _by_topic(self, partitions: frozenset[TopicIdPartition]) -> tuple[DescribedTopicPartitions, ...]:
        return tuple(
            DescribedTopicPartitions(
                topic_id=topic.topic_id,
                topic_name=topic.name,
                partitions=tuple(sorted(one.partition for one in partitions if one.topic_id == topic.topic_id)),
            )
            for topic in self.topics.all()
            if any(one.topic_id == topic.topic_id for one in partitions)
        )

    # ------------------------------------------------------------------ ports.Broker and ports.Coordinators

    def maybe_cut(self, line: BrokerLine) -> None:
        """Lose a connection of the bridge's own, before or after what was asked has arrived."""
        if self.loses and self._chance.randrange(100) < self.loses:
            self._timeline.after(self._chance.randint(0, 2 * self.latency_ms), lambda: self.close(line))

    async def _think(self) -> None:
        hangs_ms = self.hangs_until_ms - self._timeline.now_ms
        if hangs_ms > 0:
            await trio.sleep(min(hangs_ms, OWN_WAIT_MAX_MS) / 1000)
        if hangs_ms > OWN_WAIT_MAX_MS:
            raise BrokerUnreachable("the world's broker answers nothing")
        await trio.sleep(self._chance.randint(1, self.latency_ms + 1) / 1000)
        if self.loses and self._chance.randrange(100) < self.loses:
            raise BrokerUnreachable("the world cut the bridge's own connection")

    async def fetch_topics(self) -> ClusterTopics:
        """See `ports.Broker`."""
        await self._think()
        return ClusterTopics("cluster", self.topics.all())

    async def describe_group(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """See `ports.Broker`."""
        await self._think()
        found = self.describe(group_id)
        await self._think()
        return found

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`; nobody asks this one."""
        raise BrokerUnreachable(f"{request} was not to be asked")

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """See `ports.Broker`."""
        await self._think()
        return self.fetched(group_id)

    async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
        """See `ports.Broker`."""
        await self._think()
        return self._commit(BrokerLine(OWN), commit)

    async def find_coordinator(self, group_id: GroupId) -> int:
        """See `ports.Coordinators`."""
        await self._think()
        return 1

    async def connect_coordinator(self, broker_id: int) -> "OwnConnection":
        """See `ports.Coordinators`."""
        await self._think()
        return OwnConnection(self, self.connect(OWN))

    def reserve(self, connections: int) -> int:
        """See `ports.Coordinators`: the world has no bound."""
        return 0

    def give_back(self, connections: int) -> None:
        """See `ports.Coordinators`."""


@dataclass(slots=True)
class OwnConnection:
    """See `ports.CoordinatorConnection`."""

    broker: SimulatedBroker
    line: BrokerLine

    async def ask(self, request: GroupRequest, client_id: str) -> GroupReply:
        """See `ports.CoordinatorConnection`."""
        answered = trio.Event()
        found: list[GroupReply | None] = []

        def heard(reply: GroupReply | None) -> None:
            found.append(reply)
            answered.set()

        self.broker.send(self.line, request, heard)
        self.broker.maybe_cut(self.line)
        await answered.wait()
        if found[0] is None:
            raise BrokerUnreachable("the world cut the bridge's own connection")
        return found[0]

    def close(self) -> None:
        """See `ports.CoordinatorConnection`."""
        self.broker.close(self.line)


@dataclass(slots=True)
class ClientWay:
    """A client connection's own way to the broker (`session.contracts.BrokerAccess`)."""

    broker: SimulatedBroker
    line: BrokerLine
    connection: int
    broker_id: int | None = 1

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return ALL_APIS_MAX

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`; a request of version 9 knows member epochs."""
        if isinstance(request, OffsetCommit) and version is not None:
            request = replace(request, knows_member_epoch=version >= FIRST_BY_EPOCH)
        self.broker.send(self.line, request, on_answer)
