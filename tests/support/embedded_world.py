"""The embedded coordinator under a virtual clock: a broker port and client connections that do as the test says."""

import logging
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

import trio

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.groups import EmbeddedGroups, EmbeddedSettings
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.ledger import Clients
from bridge.coordinators.machines import Machines
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.log_lines import Line
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable, ClusterTopics
from bridge.session.contracts import NoAccess, OnAnswer
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request
from tests.support.owned_group import CLIENT, GROUP, TOPIC, counted_ids
from tests.support.scripted_broker import ALL_OPERATIONS
from translators.classic_member.states import MemberLimits
from translators.dialects.admin import (
    NO_OPERATIONS,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
)
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, DescribedConsumerGroup
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NO_MEMBER_ID,
    ClientIdentity,
    GroupId,
    MemberId,
    RequestRef,
    Topic,
    TopicId,
    TopicName,
    via_of,
)
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
)

SESSION_MS = 10_000
LOOK_PAUSE_S = 0.001
LOOKS_MAX = 20_000
ReplyT = TypeVar("ReplyT")
ALL_APIS: dict[int, int] = {
    ApiKey.METADATA: 13,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.LIST_GROUPS: 5,
}


def foreign_member() -> DescribedMember:
    """A member that talks to the broker directly."""
    return DescribedMember(
        member_id=MemberId("elsewhere"),
        instance_id=None,
        client_id="stranger",
        client_host="/10.0.0.9",
        metadata=b"",
        assignment=b"",
    )


@dataclass(slots=True)
class FakeBroker:
    """`ports.Broker` with answers to be set; `delay_s` is how long each takes, and all questions are kept."""

    topics: list[Topic] = field(default_factory=lambda: [Topic(TopicId(b"t" * 16), TOPIC, 6)])
    described: DescribedGroup | DescribedConsumerGroup = field(
        default_factory=lambda: DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")
    )
    offsets: dict[GroupId, FetchedGroup] = field(default_factory=dict)
    commits: list[OffsetCommit] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    delay_s: float = 0.01
    is_down: bool = False
    raises: Exception | None = None

    async def fetch_topics(self) -> ClusterTopics:
        """See `ports.Broker`."""
        await self._think("topics")
        return ClusterTopics("cluster", tuple(self.topics))

    async def describe_group(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """See `ports.Broker`."""
        await self._think(f"describe {group_id}")
        return self.described

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`; nobody asks this one."""
        raise BrokerUnreachable(f"{request} was not to be asked")

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """See `ports.Broker`."""
        await self._think(f"offsets {group_id}")
        return self.offsets.get(group_id, FetchedGroup(group_id=group_id, topics=()))

    async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
        """See `ports.Broker`."""
        await self._think(f"commit {commit.group_id}")
        self.commits.append(commit)
        return committed(commit)

    async def _think(self, question: str) -> None:
        self.asked.append(question)
        await trio.sleep(self.delay_s)
        if self.raises is not None:
            raise self.raises
        if self.is_down:
            raise BrokerUnreachable("the test took the broker away")


def committed(commit: Request, code: ErrorCode = ErrorCode.NONE) -> OffsetCommitReply:
    """The broker's word on every partition of a commit."""
    assert isinstance(commit, OffsetCommit)
    return OffsetCommitReply(
        topics=tuple(
            CommittedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(CommittedPartition(item.partition, code) for item in topic.partitions),
            )
            for topic in commit.topics
        )
    )


def _about_rights(request: Request, version: int | None, operations: int) -> Reply | None:
    """What is answered to a question about rights; None: it is none."""
    if isinstance(request, DescribeGroups) and version is not None:
        told = operations if request.include_authorized_operations else NO_OPERATIONS
        allowed = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, authorized_operations=told)
        return DescribeGroupsReply(groups=tuple(replace(allowed, group_id=one) for one in request.group_ids))
    if version is None:
        return None
    if isinstance(request, OffsetFetch):
        return OffsetFetchReply(groups=tuple(told_of_topics(group) for group in request.groups))
    return deleted_nowhere(request) if isinstance(request, OffsetDelete) else None


def told_of_topics(group: GroupOffsets, code: ErrorCode = ErrorCode.NONE) -> FetchedGroup:
    """The broker's word on who asks about topics by fetching offsets of a group that never committed any."""
    return FetchedGroup(
        group_id=group.group_id,
        topics=tuple(
            FetchedTopic(name=one.name, partitions=(FetchedPartition(partition=0, offset=-1, error=code),))
            for one in group.topics or ()
        ),
    )


def deleted_nowhere(request: OffsetDelete) -> OffsetDeleteReply:
    """The broker's word on who asks about topics by deleting offsets of partitions that are not there."""
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetDeleteReply(
        error=ErrorCode.NONE,
        topics=tuple(
            CommittedTopic(
                name=one.name, partitions=tuple(CommittedPartition(each, missing) for each in one.partitions)
            )
            for one in request.topics
        ),
    )


@dataclass(slots=True)
class FakeVia:
    """A client connection's access to its broker; what is asked of it waits in `open` until the test answers.

    Questions about rights are answered at once with `operations`, unless that is None.
    """

    connection: int = 1
    broker_id: int | None = 1
    versions: dict[int, int] = field(default_factory=lambda: dict(ALL_APIS))
    open: list[tuple[Request, OnAnswer]] = field(default_factory=list)
    raises: Exception | None = None
    operations: int | None = ALL_OPERATIONS

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return self.versions.get(api_key)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        if self.raises is not None:
            raise self.raises
        said = None if self.operations is None else _about_rights(request, version, self.operations)
        if said is None:
            self.open.append((request, on_answer))
        else:
            on_answer(said)

    def answer(self, make: Callable[[Request], Reply | None]) -> Request:
        """Answer the oldest open question; gives what it was."""
        request, on_answer = self.open.pop(0)
        on_answer(make(request))
        return request


def say_at_once(_cause: Hashable, line: Line) -> None:
    """Write every line, however often its cause comes (`log_lines.Say`)."""
    logging.getLogger("epochbridge.coordinators").log(line.level, line.message, *line.args, extra=line.fields)


async def answered(replies: Mapping[RequestRef, Reply], ref: RequestRef, kind: type[ReplyT]) -> ReplyT:
    """Wait in virtual time for an answer of this kind."""
    for _ in range(LOOKS_MAX):
        if ref in replies:
            break
        await trio.sleep(LOOK_PAUSE_S)
    reply = replies[ref]
    assert isinstance(reply, kind), reply
    return reply


@dataclass(slots=True)
class World:
    """The running coordinator; `replies` holds every answer by request, and one that comes twice fails the test."""

    groups: EmbeddedGroups
    broker: FakeBroker
    replies: dict[RequestRef, Reply]
    via: FakeVia = field(default_factory=FakeVia)
    vias: dict[int, FakeVia] = field(default_factory=dict)
    sequence: "count[int]" = field(default_factory=count)

    def send(self, request: Request, via: FakeVia | None = None, client: ClientIdentity = CLIENT) -> RequestRef:
        """Submit a request; gives where its answer will be."""
        chosen = via or self.via
        ref = RequestRef(0, chosen.connection, next(self.sequence))
        self.vias[chosen.connection] = chosen
        self.groups.submit(ref, client, via_of(ref), request)
        return ref

    async def answer(self, ref: RequestRef, kind: type[ReplyT]) -> ReplyT:
        """Wait for an answer in virtual time."""
        return await answered(self.replies, ref, kind)

    async def ask(self, request: Request, kind: type[ReplyT]) -> ReplyT:
        """Submit a request and wait for its answer."""
        return await self.answer(self.send(request), kind)

    async def join(
        self, member_id: str = "a", topic: TopicName = TOPIC, session_timeout_ms: int = SESSION_MS
    ) -> JoinGroupReply:
        """Join under an id of one's own choice."""
        return await self.ask(join_request(member_id, topic, session_timeout_ms), JoinGroupReply)

    async def form(self, member_id: str = "a", session_timeout_ms: int = SESSION_MS) -> int:
        """Join and sync; gives the generation."""
        joined = await self.join(member_id, session_timeout_ms=session_timeout_ms)
        assert joined.error is ErrorCode.NONE
        sync = SyncGroup(group_id=GROUP, generation=joined.generation, member_id=MemberId(member_id), instance_id=None)
        assert (await self.ask(sync, SyncGroupReply)).error is ErrorCode.NONE
        return joined.generation

    async def beat(self, generation: int, member_id: str = "a") -> ErrorCode:
        """Send a heartbeat."""
        return (await self.ask(Heartbeat(GROUP, generation, MemberId(member_id), None), HeartbeatReply)).error


def join_request(member_id: str, topic: TopicName = TOPIC, session_timeout_ms: int = SESSION_MS) -> JoinGroup:
    """A range member joins with an id, as from version 4 on."""
    blob = encode_subscription(Subscription(version=0, topics=(topic,), owned=frozenset(), user_data=None))
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member_id),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob),),
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=60_000,
    )


def native_join(member_id: str) -> ConsumerGroupHeartbeat:
    """A KIP-848 member joins."""
    return ConsumerGroupHeartbeat(
        group_id=GROUP,
        member_id=MemberId(member_id),
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(TOPIC,),
        owned=frozenset(),
    )


def leave_request(*members: str) -> LeaveGroup:
    """Members leave."""
    return LeaveGroup(group_id=GROUP, members=tuple(LeavingMember(member_id=MemberId(name)) for name in members))


def commit_request(
    generation: int = -1, member_id: str = NO_MEMBER_ID, partitions: tuple[int, ...] = (0,)
) -> OffsetCommit:
    """Commit offset 10 of some partitions; without a generation as an admin's tool does."""
    items = tuple(PartitionCommit(partition=partition, offset=10) for partition in partitions)
    return OffsetCommit(
        group_id=GROUP,
        generation=generation,
        member_id=MemberId(member_id),
        instance_id=None,
        topics=(TopicCommit(name=TOPIC, partitions=items),),
    )


@asynccontextmanager
async def embedded_world(
    engine: EngineSettings | None = None,
    settings: EmbeddedSettings | None = None,
    *,
    is_open: bool = True,
) -> AsyncIterator[World]:
    """Run the coordinator until the end of the block; no first join waits for others unless told."""
    chosen = engine or EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
    ids = count(1)
    owner = EmbeddedOwner(
        Shard(settings=chosen, assignors=registry),
        Catalog(),
        Machines(MemberLimits()),
        counted_ids(ids),
    )
    broker = FakeBroker()
    replies: dict[RequestRef, Reply] = {}

    def deliver(ref: RequestRef, reply: Reply) -> None:
        assert ref not in replies, f"{ref} was answered twice"
        replies[ref] = reply

    vias: dict[int, FakeVia] = {}
    clients = Clients(deliver, lambda via: vias.get(via.connection) or NoAccess())
    groups = EmbeddedGroups(owner, broker, TrioClock(), clients, settings or EmbeddedSettings())
    if is_open:
        groups.guard(lambda: None)
    async with trio.open_nursery() as nursery:
        await nursery.start(groups.run)
        yield World(groups, broker, replies, vias=vias)
        nursery.cancel_scope.cancel()


def moved(broker: FakeBroker, partition_count: int) -> None:
    """Give the broker's topic another number of partitions."""
    broker.topics = [replace(topic, partition_count=partition_count) for topic in broker.topics]
