"""Groups on road upstream under a virtual clock: their connections' broker answers heartbeats as the test says."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

import trio

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.ledger import Clients
from bridge.coordinators.upstream.groups import UpstreamGroups, UpstreamSettings
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from bridge.supervision import Failures
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import LOOK_PAUSE_S, LOOKS_MAX, FakeBroker, FakeVia, answered, join_request
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer import (
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicId, TopicIdPartition, TopicPartition, via_of

TOPIC_ID = TopicId(b"t" * 16)
INTERVAL_MS = 5_000
ReplyT = TypeVar("ReplyT")


def granted(epoch: int, *partitions: int) -> ConsumerGroupHeartbeatReply:
    """What a broker says to a member that may own these partitions of the topic."""
    return ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_epoch=epoch,
        heartbeat_interval_ms=INTERVAL_MS,
        assignment=frozenset(TopicIdPartition(TOPIC_ID, one) for one in partitions),
    )


def unchanged(epoch: int) -> ConsumerGroupHeartbeatReply:
    """What it says to one that has what it is to have."""
    return ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS)


def refused(code: ErrorCode) -> ConsumerGroupHeartbeatReply:
    """What it says to one that it won't have."""
    return ConsumerGroupHeartbeatReply(error=code)


def described(
    targets: Mapping[str, tuple[int, ...]], assignment_epoch: int = 4, error: ErrorCode = ErrorCode.NONE
) -> ConsumerGroupDescribeReply:
    """A group at epoch 4, and what each member is to have in the end."""
    members = tuple(
        DescribedConsumerMember(
            member_id=MemberId(name),
            instance_id=None,
            rack_id=None,
            member_epoch=4,
            client_id="",
            client_host="",
            subscribed_topic_names=(TOPIC,),
            subscribed_topic_regex=None,
            assignment=(),
            target_assignment=(DescribedTopicPartitions(topic_id=TOPIC_ID, topic_name=TOPIC, partitions=target),),
        )
        for name, target in targets.items()
    )
    group = DescribedConsumerGroup(
        error=error, group_id=GROUP, group_epoch=4, assignment_epoch=assignment_epoch, members=members
    )
    return ConsumerGroupDescribeReply((group,))


@dataclass(slots=True)
class UpstreamWorld:
    """The running groups; `replies` holds every answer by request."""

    groups: UpstreamGroups
    broker: FakeBroker
    replies: dict[RequestRef, Reply]
    vias: dict[int, FakeVia]
    via: FakeVia = field(default_factory=FakeVia)
    sequence: "count[int]" = field(default_factory=count)

    def send(self, request: Request, via: FakeVia | None = None) -> RequestRef:
        """Submit a request; gives where its answer will be."""
        chosen = via or self.via
        self.vias[chosen.connection] = chosen
        ref = RequestRef(0, chosen.connection, next(self.sequence))
        self.groups.submit(ref, CLIENT, via_of(ref), request)
        return ref

    async def answer(self, ref: RequestRef, kind: type[ReplyT]) -> ReplyT:
        """Wait for an answer in virtual time."""
        return await answered(self.replies, ref, kind)

    async def asked(self, via: FakeVia | None = None) -> ConsumerGroupHeartbeat:
        """Wait for the next heartbeat to the broker; it stays open."""
        chosen = via or self.via
        for _ in range(LOOKS_MAX):
            if chosen.open:
                break
            await trio.sleep(LOOK_PAUSE_S)
        request = chosen.open[0][0]
        assert isinstance(request, ConsumerGroupHeartbeat), request
        return request

    async def say(self, reply: ConsumerGroupHeartbeatReply, via: FakeVia | None = None) -> ConsumerGroupHeartbeat:
        """Answer the next heartbeat to the broker; gives what it was."""
        request = await self.asked(via)
        (via or self.via).answer(lambda _: reply)
        return request

    async def form(self, member_id: str, reply: ConsumerGroupHeartbeatReply, via: FakeVia | None = None) -> int:
        """Join and sync; gives the generation."""
        joining = self.send(join_request(member_id), via)
        await self.say(reply, via)
        joined = await self.answer(joining, JoinGroupReply)
        assert joined.error is ErrorCode.NONE, joined
        await self.sync(member_id, joined.generation, via)
        return joined.generation

    async def sync(
        self, member_id: str, generation: int, via: FakeVia | None = None, assignor: str = "range"
    ) -> frozenset[TopicPartition]:
        """SyncGroup; gives what is assigned."""
        request = SyncGroup(
            group_id=GROUP,
            generation=generation,
            member_id=MemberId(member_id),
            instance_id=None,
            protocol_type="consumer",
            protocol_name=assignor,
            assignments=(),
            names_protocol=True,
        )
        synced = await self.answer(self.send(request, via), SyncGroupReply)
        assert synced.error is ErrorCode.NONE, synced
        return decode_assignment(synced.assignment).partitions

    async def beat(self, member_id: str, generation: int, via: FakeVia | None = None) -> ErrorCode:
        """A classic heartbeat; gives its code."""
        request = Heartbeat(GROUP, generation, MemberId(member_id), None)
        return (await self.answer(self.send(request, via), HeartbeatReply)).error


@asynccontextmanager
async def upstream_world(journal: MemoryJournal | None = None, resume_ms: int = 0) -> AsyncIterator[UpstreamWorld]:
    """Run the groups until the end of the block."""
    broker, ids = FakeBroker(), count(1)
    replies: dict[RequestRef, Reply] = {}
    vias: dict[int, FakeVia] = {}

    def deliver(ref: RequestRef, reply: Reply) -> None:
        assert ref not in replies, f"{ref} was answered twice"
        replies[ref] = reply

    settings = UpstreamSettings(
        limits=MemberLimits(),
        bounds=SessionBounds(6_000, 1_800_000),
        fresh_member_id=lambda: MemberId(f"fresh-{next(ids)}"),
        topics_refresh_ms=60_000,
        commit_drain_ms=5_000,
        resume_ms=resume_ms,
    )
    clients = Clients(deliver, lambda via: known(vias, via.connection))
    groups = UpstreamGroups(broker, TrioClock(), clients, settings, Failures())
    if journal is not None:
        groups.keep(journal)
    async with trio.open_nursery() as nursery:
        await nursery.start(groups.run)
        yield UpstreamWorld(groups, broker, replies, vias)
        nursery.cancel_scope.cancel()


def known(vias: Mapping[int, FakeVia], connection: int) -> FakeVia | NoAccess:
    """A connection's way to the broker."""
    return vias.get(connection) or NoAccess()
