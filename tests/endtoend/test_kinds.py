"""Groups that are none of consumers, behind a rule that takes every group: they work as without a bridge, are named in
the log once, and are shown.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from bridge.demo.cluster import read_committed
from bridge.demo.events import Partition
from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, ROOT
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.other_kinds import connect_command, running, share_command, streams_command
from tests.support.ports import free_port
from tests.support.restarted_bridge import RestartedBridge
from tests.support.talker import Talker, talk
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

RECORDS = 50
PATIENCE_S = 90.0
LOOK_S = 0.2
STAYS = "EB-GROUP-020"
ANY_RULE = pytest.mark.parametrize("bridge", ["--embedded", "--upstream"], indirect=True)


@pytest.fixture
def bridge(kafka_43: KafkaUnderTest, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RestartedBridge]:
    """A bridge whose rule takes every group, to road embedded where a test says nothing else (`ANY_RULE`)."""
    bridge = RestartedBridge(kafka_43.bootstrap, "*", tmp_path, QUICK_SETTINGS)
    bridge.rules = (getattr(request, "param", "--embedded"), "*")
    bridge.start()
    yield bridge
    assert bridge.stop() == 0
    assert "Traceback" not in bridge.log.read_text()


def produce(bootstrap: str, topic: str, count: int = RECORDS) -> None:
    """Write numbered records."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number).encode())
    assert producer.flush(PATIENCE_S) == 0


def wait_until(is_reached: Callable[[], bool], what: str, bridge: RestartedBridge) -> None:
    """Wait until something is so, or fail with the bridge's last words."""
    give_up_s = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert time.monotonic() < give_up_s, f"no {what}: {bridge.tail()}"
        time.sleep(LOOK_S)


def shown(bridge: RestartedBridge, group: str) -> Mapping[str, object]:
    """What `epochbridge groups` says of a group, {} if nothing."""
    command = [sys.executable, "-m", "bridge", "groups", "--json", "--admin", bridge.admin]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True, cwd=ROOT)
    groups: list[Mapping[str, object]] = json.loads(done.stdout)["groups"]
    return next((one for one in groups if one["group_id"] == group), {})


def count_lines(bridge: RestartedBridge, *words: str) -> int:
    """How many lines of the bridge's log have all of these words."""
    return sum(all(word in line for word in words) for line in bridge.log.read_text().splitlines())


def check_passing(bridge: RestartedBridge, group: str, kind: str) -> None:
    """The group is said to pass, once, and shown with what it is."""
    assert count_lines(bridge, STAYS, group) == 1, bridge.tail()
    found = shown(bridge, group)
    assert (found["road"], found["type"], found["state"]) == ("pass", kind, "Passing")


@ANY_RULE
@pytest.mark.timeout(300)
def test_streams_group_works_and_outlives_a_bridge(
    kafka_43: KafkaUnderTest, bridge: RestartedBridge, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """KIP-1071: it died of "The group id does not exist"; a bridge that heard no heartbeat asks the broker."""
    source, sink = topic_factory(kafka_43.bootstrap, 2), topic_factory(kafka_43.bootstrap, 2)
    group, partitions = f"streams-{source}", [Partition(source, 0), Partition(source, 1)]

    def committed() -> int:
        return sum(read_committed(kafka_43.bootstrap, group, partitions).values())

    produce(kafka_43.bootstrap, source)
    command = streams_command(kafka_43.tools, bridge.bootstrap, group, (source, sink), tmp_path / "state")
    with running(command, tmp_path) as streams:
        wait_until(lambda: committed() == RECORDS or "died" in streams.said, "commit", bridge)
        assert "state RUNNING" in streams.said
        check_passing(bridge, group, "streams")
        bridge.kill()
        bridge.start()
        produce(kafka_43.bootstrap, source)
        wait_until(lambda: committed() == 2 * RECORDS or "died" in streams.said, "commit after a restart", bridge)
        assert "died" not in streams.said
        assert "ERROR" not in streams.said


@pytest.mark.timeout(300)
def test_share_group_works(
    kafka_43: KafkaUnderTest, bridge: RestartedBridge, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """KIP-932: it takes and acknowledges records, and is known by its first heartbeat."""
    topic = topic_factory(kafka_43.bootstrap, 1)
    group = f"share-{topic}"
    produce(kafka_43.bootstrap, topic)
    with running(share_command(kafka_43.tools, bridge.bootstrap, group, topic), tmp_path) as share:
        wait_until(lambda: shown(bridge, group) != {}, "share group", bridge)
        produce(kafka_43.bootstrap, topic)
        share.wait_for(lambda said: "offsets_acknowledged" in said, "acknowledgement")
        check_passing(bridge, group, "share")


@pytest.mark.timeout(400)
def test_connect_workers_form_their_group(kafka_43: KafkaUnderTest, bridge: RestartedBridge, tmp_path: Path) -> None:
    """Two workers of the distributed mode: their protocol type is `connect`, and their leader assigns."""
    group = f"connect-{tmp_path.name}"
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                running(connect_command(kafka_43.tools, bridge.bootstrap, group, tmp_path, free_port()), tmp_path)
            )
            for _ in range(2)
        ]
        wait_until(lambda: members_of(kafka_43, group) == 2, "group of two workers", bridge)
        check_passing(bridge, group, "connect")
        bridge.kill()
        bridge.start()
        wait_until(lambda: count_lines(bridge, STAYS, group) == 2, "word on the group after a restart", bridge)
        # Workers whose connections were lost may be joining again at this moment.
        wait_until(lambda: members_of(kafka_43, group) == 2, "group of two workers behind the restart", bridge)
        assert all("died" not in worker.said for worker in workers)


def members_of(kafka: KafkaUnderTest, group: str) -> int:
    """How many members the broker itself has in a classic group that is stable, 0 in any other state."""
    with talk(kafka.bootstrap) as direct:
        reply = direct.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroups(group_ids=(GroupId(group),)))
    assert isinstance(reply, DescribeGroupsReply)
    (found,) = reply.groups
    return len(found.members) if found.group_state == "Stable" else 0


@ANY_RULE
def test_any_other_protocol_type_is_the_brokers(kafka_43: KafkaUnderTest, bridge: RestartedBridge) -> None:
    """By raw frames: join, sync and heartbeat reach the broker, also before a bridge that has just begun."""
    group = GroupId(f"acme-{time.monotonic_ns()}")
    with talk(bridge.bootstrap) as worker:
        wait_until(lambda: worker.coordinator(group) is ErrorCode.NONE, "coordinator", bridge)
        joined = enter(worker, group)
        check_passing(bridge, group, "acme")
        assert beat(worker, group, joined) is ErrorCode.NONE
    bridge.kill()
    bridge.start()
    with talk(bridge.bootstrap) as worker, talk(kafka_43.bootstrap) as direct:
        assert beat(worker, group, joined) is ErrorCode.NONE
        assert beat(direct, group, joined) is ErrorCode.NONE, "it is the broker's member"


def enter(worker: Talker, group: GroupId) -> JoinGroupReply:
    """Join and sync as the only member of a group of its own protocol type."""
    join = JoinGroup(
        group_id=group,
        member_id=MemberId(""),
        instance_id=None,
        protocol_type="acme",
        protocols=(Protocol("one", b"whatever"),),
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
    )
    joined = worker.ask(ApiKey.JOIN_GROUP, 2, join)
    assert isinstance(joined, JoinGroupReply)
    assert joined.error is ErrorCode.NONE
    assignments = (MemberAssignment(joined.member_id, b"all"),)
    sync = SyncGroup(
        group_id=group,
        generation=joined.generation,
        member_id=joined.member_id,
        instance_id=None,
        assignments=assignments,
    )
    synced = worker.ask(ApiKey.SYNC_GROUP, 1, sync)
    assert isinstance(synced, SyncGroupReply)
    assert (synced.error, synced.assignment) == (ErrorCode.NONE, b"all")
    return joined


def beat(worker: Talker, group: GroupId, joined: JoinGroupReply) -> ErrorCode:
    """A heartbeat of the member."""
    reply = worker.ask(ApiKey.HEARTBEAT, 1, Heartbeat(group, joined.generation, joined.member_id, None))
    assert isinstance(reply, HeartbeatReply)
    return reply.error


@contextmanager
def consuming(bootstrap: str, group: str, topic: str, protocol: str) -> Iterator[Consumer]:
    """A librdkafka consumer that counts its rebalances nowhere but in `assignment`."""
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    if protocol == "consumer":
        settings["group.protocol"] = "consumer"
    consumer = Consumer(settings)
    with closing(consumer):
        yield consumer


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.timeout(300)
def test_new_rule_switches_no_live_group_until_it_is_empty(
    protocol: str, kafka_43: KafkaUnderTest, bridge: RestartedBridge, topic_factory: TopicFactory
) -> None:
    """A KIP-848 fleet was ended by GROUP_ID_NOT_FOUND; now nobody hears of the rule, and the next fleet goes by it."""
    topic = topic_factory(kafka_43.bootstrap, 2)
    group = f"rule-{protocol}-{topic}"
    bridge.stop()
    rules, bridge.rules = bridge.rules, ()
    bridge.start()
    events: list[str] = []
    produce(kafka_43.bootstrap, topic)
    with consuming(bridge.bootstrap, group, topic, protocol) as consumer:
        consumer.subscribe(
            [topic],
            on_assign=lambda *_: events.append("assigned"),
            on_revoke=lambda *_: events.append("revoked"),
            on_lost=lambda *_: events.append("lost"),
        )
        wait_until(lambda: consumer.poll(LOOK_S) is not None, "record", bridge)
        assert events == ["assigned"]
        bridge.kill()
        bridge.rules = rules
        bridge.start()
        give_up_s = time.monotonic() + 15
        while time.monotonic() < give_up_s:
            record = consumer.poll(LOOK_S)
            error = None if record is None else record.error()
            assert error is None or not error.fatal()
        assert events == ["assigned"], bridge.tail()
        found = shown(bridge, group)
        assert (found["road"], found["state"]) == ("pass", "Passing")
        assert "epochbridge move" in str(found["reason"])
        assert count_lines(bridge, STAYS, group) == 1
        # Its members come by the bridge, and are never called anything else.
        assert count_lines(bridge, "directly") == 0, bridge.tail()
    with consuming(bridge.bootstrap, group, topic, protocol) as consumer:
        consumer.subscribe([topic])
        wait_until(lambda: (consumer.poll(LOOK_S), consumer.assignment())[1] != [], "assignment", bridge)
        assert shown(bridge, group)["road"] == "embedded", bridge.tail()


@pytest.mark.timeout(300)
def test_rule_that_is_gone_leaves_a_live_group_where_it_is(
    kafka_43: KafkaUnderTest, bridge: RestartedBridge, topic_factory: TopicFactory
) -> None:
    """The bridge's journal has its members: they go on, and the next fleet passes."""
    topic = topic_factory(kafka_43.bootstrap, 2)
    group, events = f"left-{topic}", list[str]()
    with consuming(bridge.bootstrap, group, topic, "classic") as consumer:
        consumer.subscribe(
            [topic], on_assign=lambda *_: events.append("assigned"), on_revoke=lambda *_: events.append("revoked")
        )
        wait_until(lambda: (consumer.poll(LOOK_S), bool(events))[1], "assignment", bridge)
        bridge.kill()
        bridge.rules = ()
        bridge.start()
        give_up_s = time.monotonic() + 10
        while time.monotonic() < give_up_s:
            consumer.poll(LOOK_S)
        assert events == ["assigned"], bridge.tail()
        found = shown(bridge, group)
        assert (found["road"], found["state"]) == ("embedded", "Stable")
        assert "a rule switches no live group" in str(found["reason"])
    with consuming(bridge.bootstrap, group, topic, "classic") as consumer:
        consumer.subscribe([topic])
        wait_until(lambda: (consumer.poll(LOOK_S), consumer.assignment())[1] != [], "assignment", bridge)
        assert members_of(kafka_43, group) == 1, bridge.tail()


@pytest.mark.timeout(300)
def test_upstream_rule_before_a_broker_without_the_protocol_lets_clients_pass(
    kafka_39: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """They work, and the log says why they are not what the rule says."""
    topic = topic_factory(kafka_39.bootstrap, 2)
    bridge = RestartedBridge(kafka_39.bootstrap, "embedded-*", tmp_path, QUICK_SETTINGS)
    bridge.rules = ("--upstream", "*")
    bridge.start()
    group = f"able-{topic}"
    with consuming(bridge.bootstrap, group, topic, "classic") as consumer:
        consumer.subscribe([topic])
        wait_until(lambda: (consumer.poll(LOOK_S), consumer.assignment())[1] != [], "assignment", bridge)
        assert members_of(kafka_39, group) == 1, bridge.tail()
        assert shown(bridge, group)["road"] == "pass"
        assert count_lines(bridge, STAYS, group, "group.version") == 1
    assert bridge.stop() == 0
