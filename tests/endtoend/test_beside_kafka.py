"""Small answers and numbers beside those of a running Kafka, which the recorded scenarios do not show: they know epochs
by rank, lists of topics in no order, and no broker that cleans up every second.

It must not know how the bridge comes to them.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Request
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import create_topic, make_offsets_topic
from tests.support.talker import Talker, talk
from translators.dialects.classic import JoinGroup, JoinGroupReply, LeaveGroup, LeavingMember, Protocol
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, TopicIdPartition, TopicName
from translators.dialects.offsets import (
    GroupOffsets,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
)

CLEANED_EVERY_MS, CLEANED_S = 500, 4.0
PATIENCE_S, PAUSE_S = 60.0, 0.1
LONG = "x" * 5_000
A, B, C = (TopicName(f"beside-{name}") for name in "abc")
NEVER = TopicName("beside-never")
OF_C, OF_NOTHING = "beside-[c]", "beside-nothing.*"
MEMBER = MemberId("m")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a broker of 4.3.1 is that looks after its groups every half second."""
    properties = {"offsets.retention.check.interval.ms": str(CLEANED_EVERY_MS)}
    settings = BrokerSettings(version=DEFAULT_VERSION, properties=properties)
    with start_broker(settings, directory=tmp_path_factory.mktemp("kafka")) as broker:
        make_offsets_topic({"bootstrap.servers": broker.bootstrap})
        for name, partitions in ((A, 3), (B, 2), (C, 1)):
            create_topic(broker.bootstrap, name, partitions)
        yield broker.bootstrap


@pytest.fixture(scope="module")
def bridge(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a bridge is that looks after its own as often, and holds groups for what Kafka would."""
    settings = {
        **QUICK_SETTINGS,
        "embedded.initial.group.type": "classic",
        "offsets.retention.check.interval.ms": str(CLEANED_EVERY_MS),
    }
    with bridge_process(kafka, ("embedded-*",), Path(tmp_path_factory.mktemp("bridge")), settings) as running:
        yield running.bootstrap


def fresh_group() -> GroupId:
    """One that the bridge coordinates, where it comes by it."""
    return GroupId(f"embedded-{uuid4().hex[:8]}")


# ------------------------------------------------------------------------------------------- epochs

Wish = tuple[tuple[TopicName, ...] | None, str | None]
"""Names and pattern of a heartbeat, None for what it does not say."""
STORIES: Mapping[str, tuple[Wish, Wish, int]] = {
    "names and a new pattern": (((A,), None), ((A, B), OF_C), 2),
    "names and a pattern without match": (((A,), None), ((A, B), OF_NOTHING), 1),
    "names and the pattern that it had": (((A,), OF_C), ((A, B), OF_C), 1),
    "names that it had and a new pattern": (((A,), None), ((A,), OF_C), 1),
    "a new pattern alone": (((A,), None), (None, OF_C), 1),
    "names alone": (((A,), None), ((A, B), None), 1),
    "no names any more and a new pattern": (((A,), None), ((), OF_C), 2),
}


@dataclass(slots=True)
class Native:
    """A KIP-848 member that takes what it is given and lets go what it is to."""

    line: Talker
    group: GroupId
    epoch: int = 0
    owned: frozenset[TopicIdPartition] = frozenset()

    def beat(self, wish: Wish = (None, None)) -> bool:
        """Say what it has and wants; whether it was told anything new."""
        names, pattern = wish
        request = ConsumerGroupHeartbeat(
            group_id=self.group,
            member_id=MEMBER,
            member_epoch=self.epoch,
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            rebalance_timeout_ms=30_000 if self.epoch == 0 else -1,
            owned=self.owned,
        )
        reply = self.line.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        assert isinstance(reply, ConsumerGroupHeartbeatReply)
        assert reply.error is ErrorCode.NONE, reply
        before = self.epoch, self.owned
        self.epoch = reply.member_epoch
        self.owned = self.owned if reply.assignment is None else reply.assignment
        return (self.epoch, self.owned) != before

    def settle(self) -> int:
        """The epoch of the group once nothing has moved for two seconds: patterns are resolved beside."""
        until, still_since = time.monotonic() + PATIENCE_S, time.monotonic()
        while time.monotonic() < still_since + 2:
            assert time.monotonic() < until
            time.sleep(PAUSE_S)
            if self.beat():
                still_since = time.monotonic()
        reply = self.line.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, ConsumerGroupDescribe((self.group,)))
        assert isinstance(reply, ConsumerGroupDescribeReply)
        (described,) = reply.groups
        assert (described.group_epoch, described.assignment_epoch) == (self.epoch, self.epoch)
        return self.epoch


def steps_of(bootstrap: str, before: Wish, after: Wish) -> tuple[int, int]:
    """The epoch that a group has with its first member, and how far it moves as that one wants something else."""
    group = fresh_group()
    with talk(bootstrap) as line:
        line.coordinator(group)
        member = Native(line, group)
        member.beat(before)
        began = member.settle()
        member.beat(after)
        return began, member.settle() - began


@pytest.mark.timeout(300)
@pytest.mark.parametrize("story", STORIES)
def test_names_and_pattern_move_the_epoch_as_far_as_at_kafka(story: str, kafka: str, bridge: str) -> None:
    """Once for the names, and once when it is known what the pattern matches."""
    before, after, steps = STORIES[story]
    at_kafka = steps_of(kafka, before, after)
    assert at_kafka[1] == steps
    assert steps_of(bridge, before, after) == at_kafka


# ------------------------------------------------------------------------------------------- orders


def commit(group: GroupId, *topics: tuple[TopicName, Mapping[int, str]]) -> OffsetCommit:
    """A tool commits these partitions with these texts."""
    return OffsetCommit(
        group_id=group,
        generation=-1,
        member_id=NO_MEMBER_ID,
        instance_id=None,
        topics=tuple(
            TopicCommit(
                name=name,
                partitions=tuple(PartitionCommit(partition=one, offset=1, metadata=said[one]) for one in said),
            )
            for name, said in topics
        ),
    )


def fetch(group: GroupId, *topics: tuple[TopicName, tuple[int, ...]]) -> OffsetFetch:
    """Somebody asks what is committed."""
    wanted = tuple(TopicOffsets(name=name, partitions=partitions) for name, partitions in topics)
    return OffsetFetch(groups=(GroupOffsets(group_id=group, topics=wanted),))


def delete(group: GroupId, *topics: tuple[TopicName, tuple[int, ...]]) -> OffsetDelete:
    """A tool deletes what is committed."""
    wanted = tuple(TopicOffsets(name=name, partitions=partitions) for name, partitions in topics)
    return OffsetDelete(group_id=group, topics=wanted)


def leave(group: GroupId, *names: str) -> LeaveGroup:
    """A tool sees these off, who are no members."""
    return LeaveGroup(group_id=group, members=tuple(LeavingMember(member_id=MemberId(name)) for name in names))


MANY = dict.fromkeys((0, *range(100, 1_200), 1), "")
REQUESTS: Mapping[str, tuple[ApiKey, int, Callable[[GroupId], Request]]] = {
    "a long text beside what is not there": (
        *(ApiKey.OFFSET_COMMIT, 8),
        lambda group: commit(group, (A, {0: "", 9: "", 1: LONG, 8: LONG}), (NEVER, {0: LONG}), (B, {0: LONG, 1: ""})),
    ),
    "a topic is committed twice, and one of it is not there": (
        *(ApiKey.OFFSET_COMMIT, 8),
        lambda group: commit(group, (A, {0: LONG}), (B, {0: ""}), (A, {1: "", 9: ""})),
    ),
    "a topic is committed twice, and all of it is there": (
        *(ApiKey.OFFSET_COMMIT, 8),
        lambda group: commit(group, (A, {0: LONG}), (B, {0: ""}), (A, {1: ""})),
    ),
    "nothing of a topic is committed": (
        *(ApiKey.OFFSET_COMMIT, 8),
        lambda group: commit(group, (A, {}), (NEVER, {}), (B, {0: LONG})),
    ),
    "more is committed than goes in one piece": (
        *(ApiKey.OFFSET_COMMIT, 8),
        lambda group: commit(group, (B, {0: ""}), (A, MANY), (C, {0: LONG, 7: ""})),
    ),
    "offsets are asked for": (
        *(ApiKey.OFFSET_FETCH, 7),
        lambda group: fetch(group, (B, (1, 0)), (NEVER, (0,)), (A, (9, 2, 0)), (C, ())),
    ),
    "offsets are asked for twice": (
        *(ApiKey.OFFSET_FETCH, 8),
        lambda group: fetch(group, (B, (1, 0, 1)), (A, (0,)), (B, (0,))),
    ),
    "offsets are deleted": (
        *(ApiKey.OFFSET_DELETE, 0),
        lambda group: delete(group, (A, (0, 9)), (NEVER, (0,)), (B, (1, 0)), (A, (1,))),
    ),
    "offsets of what is there are deleted": (
        *(ApiKey.OFFSET_DELETE, 0),
        lambda group: delete(group, (B, (1, 0)), (A, (2, 0)), (B, (0,))),
    ),
    "members are seen off": (ApiKey.LEAVE_GROUP, 3, lambda group: leave(group, "c", "a", "b", "a")),
}


def answer_of(bootstrap: str, name: str) -> str:
    """What is answered where something is committed already, in its order."""
    (api, version, ask), group = REQUESTS[name], fresh_group()
    with talk(bootstrap) as line:
        line.coordinator(group)
        line.ask(ApiKey.OFFSET_COMMIT, 8, commit(group, (A, {0: "", 1: "", 2: ""}), (B, {1: "", 0: ""})))
        return str(line.ask(api, version, ask(group))).replace(group, "GROUP")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", REQUESTS)
def test_lists_are_answered_in_the_order_of_kafka(name: str, kafka: str, bridge: str) -> None:
    """Of commits: what is not there first, each topic once then. Lists of groups have no order there: it is that of the
    partitions that their names fall on.
    """
    assert answer_of(bridge, name) == answer_of(kafka, name)


# ------------------------------------------------------------------------------------ promised ids


def join(bootstrap: str, group: GroupId, member_id: MemberId) -> JoinGroupReply:
    """A newcomer asks for an id, or comes with the one that it was promised."""
    request = JoinGroup(
        group_id=group,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", encode_subscription(Subscription(version=0, topics=(A,)))),),
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
    )
    with talk(bootstrap) as line:
        line.coordinator(group)
        reply = line.ask(ApiKey.JOIN_GROUP, 5, request)
    assert isinstance(reply, JoinGroupReply)
    return reply


@pytest.mark.timeout(300)
def test_group_without_members_goes_with_the_ids_that_it_promised(kafka: str, bridge: str) -> None:
    """The clean-up asks whether it is empty: whoever comes with such an id has to ask for another."""
    for bootstrap in (kafka, bridge):
        group = fresh_group()
        promised = join(bootstrap, group, NO_MEMBER_ID)
        assert promised.error is ErrorCode.MEMBER_ID_REQUIRED
        time.sleep(CLEANED_S)
        assert join(bootstrap, group, promised.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID
