"""What the bridge asks of a whole cluster at once: all groups of all brokers, and what brokers say of themselves.

One connection for each broker and many groups in a question, so that a thousand groups take a few round trips.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import trio

from bridge.net.broker_talk import BrokerTalk, talk_to
from bridge.net.clock import wall_ms
from bridge.net.cluster import UpstreamCluster
from bridge.ports import BrokerUnreachable
from bridge.wire.api_versions import Features
from bridge.wire.apis import ApiKey
from bridge.wire.own_questions import BrokerSettings
from bridge.wire.versions import VersionTable
from translators.dialects.admin import (
    OTHER_KINDS,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicPartition
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

BATCH_GROUPS = 100
"""How many groups a question names: their answer is decoded in one go, while nobody else is served."""
BATCH_PARTITIONS = 5_000
BROKER_TIMEOUT_S = 15.0
"""How long all questions to one broker may take."""
FIRST_OFFSET_FETCH_OF_MANY = 8
CONSUMER_TYPE = "consumer"
ItemT = TypeVar("ItemT")
FoundT = TypeVar("FoundT")
Talk = Callable[[BrokerTalk], Awaitable[None]]
SETTINGS = (
    "group.consumer.migration.policy",
    "group.coordinator.rebalance.protocols",
    "group.min.session.timeout.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.consumer.max.size",
    "group.consumer.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
)
"""What brokers are asked for about themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsFound:
    """What one broker told of the groups that it coordinates; `faults` are sentences about what it did not tell."""

    node_id: int
    listed: tuple[ListedGroup, ...] = ()
    classic: Mapping[GroupId, DescribedGroup] = field(default_factory=dict)
    consumer: Mapping[GroupId, DescribedConsumerGroup] = field(default_factory=dict)
    offsets: Mapping[GroupId, FetchedGroup] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFound:
    """What one broker told of itself; `skew_ms` is how far the active controller's clock is ahead of ours, give or take
    `skew_error_ms`, None where nobody told its time.
    """

    node_id: int
    versions: VersionTable = field(default_factory=dict)
    features: Features = Features()
    settings: BrokerSettings = BrokerSettings(ErrorCode.NONE, {})
    skew_ms: int | None = None
    skew_error_ms: int = 0
    fault: str = ""


class ClusterSurvey:
    """Asks all brokers at once, each within a bound; what one does not tell is said and costs nobody else's answer."""

    def __init__(self, cluster: UpstreamCluster) -> None:
        self._cluster = cluster

    async def find_brokers(self) -> tuple[int, ...]:
        """The ids of all brokers, as the cluster names them now; none where nobody answers."""
        await self._cluster.refresh()
        return tuple(sorted(self._cluster.directory.brokers))

    async def describe_brokers(
        self, node_ids: Iterable[int], timeout_s: float = BROKER_TIMEOUT_S
    ) -> tuple[BrokerFound, ...]:
        """What each broker tells of itself within so long, by id."""
        return await _ask_all(node_ids, lambda node_id: self._describe_broker(node_id, timeout_s))

    async def find_groups(self, node_ids: Iterable[int]) -> tuple[GroupsFound, ...]:
        """What each broker tells of its groups, by id."""
        return await _ask_all(node_ids, self._find_groups)

    async def find_end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where partitions end; those of which nobody tells are left out."""
        wanted = sorted(set(partitions))
        leaders: dict[TopicPartition, int] = {}

        async def find_leaders(talk: BrokerTalk) -> None:
            leaders.update(await talk.read_leaders(sorted({one.topic for one in wanted})))

        if wanted:
            await self._talk(None, find_leaders)
        led: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for one in wanted:
            if one in leaders:
                led[leaders[one]].append(one)
        found = await _ask_all(led, lambda node_id: self._find_ends(node_id, led[node_id]))
        return {partition: end for ends in found for partition, end in ends.items()}

    async def _find_ends(self, node_id: int, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        ends: dict[TopicPartition, int] = {}

        async def ask(talk: BrokerTalk) -> None:
            for batch in _batches(partitions, BATCH_PARTITIONS):
                ends.update(await talk.read_end_offsets(batch))

        await self._talk(node_id, ask)
        return ends

    async def _describe_broker(self, node_id: int, timeout_s: float) -> BrokerFound:
        found: list[BrokerFound] = []

        async def ask(talk: BrokerTalk) -> None:
            features, settings = await talk.read_features(), await talk.read_settings(node_id, SETTINGS)
            asked_ms = wall_ms()
            controller_ms = await talk.read_controller_time()
            half_way_ms = (wall_ms() - asked_ms) // 2
            found.append(
                BrokerFound(
                    node_id=node_id,
                    versions=talk.versions,
                    features=features,
                    settings=settings,
                    skew_ms=None if controller_ms is None else controller_ms - asked_ms - half_way_ms,
                    skew_error_ms=half_way_ms,
                )
            )

        fault = await self._talk(node_id, ask, timeout_s)
        return found[0] if found else BrokerFound(node_id=node_id, fault=fault)

    async def _find_groups(self, node_id: int) -> GroupsFound:
        asked = _GroupsAsked(node_id)
        fault = await self._talk(node_id, asked.ask)
        return asked.found((fault,) if fault else ())

    async def _talk(self, node_id: int | None, ask: Talk, timeout_s: float = BROKER_TIMEOUT_S) -> str:
        """Ask a broker within the bound; the sentence why it ended early, or "" if it did not."""
        try:
            with trio.fail_after(timeout_s):
                async with talk_to(self._cluster, node_id) as talk:
                    await ask(talk)
        except (BrokerUnreachable, trio.TooSlowError) as problem:
            name = "a broker of the bootstrap list" if node_id is None else f"broker {node_id}"
            return f"{name}: {str(problem) or f'not done within {timeout_s:.0f} s'}"
        return ""


class _GroupsAsked:
    """What a broker has told so far: what came before it fell silent counts."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._faults: list[str] = []
        self._listed: tuple[ListedGroup, ...] = ()
        self._classic: dict[GroupId, DescribedGroup] = {}
        self._consumer: dict[GroupId, DescribedConsumerGroup] = {}
        self._offsets: dict[GroupId, FetchedGroup] = {}

    def found(self, faults: tuple[str, ...]) -> GroupsFound:
        """All of it, with further faults."""
        return GroupsFound(
            node_id=self._node_id,
            listed=self._listed,
            classic=self._classic,
            consumer=self._consumer,
            offsets=self._offsets,
            faults=(*self._faults, *faults),
        )

    async def ask(self, talk: BrokerTalk) -> None:
        """Ask for everything; raises BrokerUnreachable."""
        listing = await talk.ask(ApiKey.LIST_GROUPS, ListGroups(), ListGroupsReply)
        if listing.error is not ErrorCode.NONE:
            self._faults.append(f"broker {self._node_id} does not list its groups ({listing.error.name})")
        self._listed = listing.groups
        names = [one.group_id for one in listing.groups if one.group_type.lower() not in OTHER_KINDS]
        consumers = {one.group_id for one in listing.groups if one.group_type.lower() == CONSUMER_TYPE}
        await self._describe_consumer(talk, [name for name in names if name in consumers])
        await self._describe_classic(talk, [name for name in names if name not in consumers])
        await self._fetch_offsets(talk, names)

    async def _describe_consumer(self, talk: BrokerTalk, names: Sequence[GroupId]) -> None:
        for batch in _batches(names, BATCH_GROUPS):
            request = ConsumerGroupDescribe(tuple(batch))
            reply = await talk.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, request, ConsumerGroupDescribeReply)
            self._consumer.update({one.group_id: one for one in reply.groups})

    async def _describe_classic(self, talk: BrokerTalk, names: Sequence[GroupId]) -> None:
        for batch in _batches(names, BATCH_GROUPS):
            request = DescribeGroups(group_ids=tuple(batch))
            reply = await talk.ask(ApiKey.DESCRIBE_GROUPS, request, DescribeGroupsReply)
            self._classic.update({one.group_id: one for one in reply.groups})

    async def _fetch_offsets(self, talk: BrokerTalk, names: Sequence[GroupId]) -> None:
        offered = talk.versions.get(ApiKey.OFFSET_FETCH)
        is_many = offered is not None and offered.highest >= FIRST_OFFSET_FETCH_OF_MANY
        for batch in _batches(names, BATCH_GROUPS if is_many else 1):
            request = OffsetFetch(groups=tuple(GroupOffsets(group_id=name, topics=None) for name in batch))
            reply = await talk.ask(ApiKey.OFFSET_FETCH, request, OffsetFetchReply)
            # Before version 8 the answer does not name its only group; later all come in the order asked.
            self._offsets.update(dict(zip(batch, reply.groups, strict=False)))


def _batches(items: Sequence[ItemT], size: int) -> Iterator[Sequence[ItemT]]:
    return (items[start : start + size] for start in range(0, len(items), size))


async def _ask_all(node_ids: Iterable[int], ask: Callable[[int], Awaitable[FoundT]]) -> tuple[FoundT, ...]:
    """Ask all brokers at once; the answers in the order of their ids."""
    found: dict[int, FoundT] = {}

    async def ask_one(node_id: int) -> None:
        found[node_id] = await ask(node_id)

    async with trio.open_nursery() as nursery:
        for node_id in node_ids:
            nursery.start_soon(ask_one, node_id)
    return tuple(found[node_id] for node_id in sorted(found))
