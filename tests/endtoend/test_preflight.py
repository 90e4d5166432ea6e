"""What is seen of a group before it is moved, with real brokers: commits by another way, and topics that a client may
not see.

It must not know how the bridge looks.
"""

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, ROOT, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.rights import Line
from tests.support.sasl_kafka import authorizing_kafka, login_of, own_login
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.ids import TopicPartition as Partition

PATIENCE_S = 120.0
WORD = "half-word"
JOIN_VERSION, SYNC_VERSION = 5, 3
COMMIT_EVERY_S = 0.2


def would_move(admin: str, group: str, to: str) -> "subprocess.CompletedProcess[str]":
    """Ask whether a group could be moved."""
    command = [sys.executable, "-m", "bridge", "move", group, "--to", to, "--dry-run", "--admin", admin]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, check=False)


@contextmanager
def consuming(bootstrap: str, group: str, topic: str) -> Iterator[object]:
    """One member that has the topic's partition, and commits nothing by itself; it is polled until the end. Gives
    what a producer says of it.
    """
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic])
    until = time.monotonic() + PATIENCE_S
    while not consumer.assignment():
        assert time.monotonic() < until, "the group does not form"
        consumer.poll(0.2)
    # The consumer's own lock keeps everybody else from it while it is polled.
    told = consumer.consumer_group_metadata()
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            consumer.poll(0.2)

    polling = threading.Thread(target=poll)
    polling.start()
    try:
        yield told
    finally:
        done.set()
        polling.join()
        consumer.close()


@contextmanager
def committing(bootstrap: str, told: object, topic: str) -> Iterator[None]:
    """A producer that commits the group's offsets in one transaction after the other."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{uuid.uuid4().hex[:8]}"})
    producer.init_transactions(PATIENCE_S)
    done, begun = threading.Event(), threading.Event()

    def commit() -> None:
        offset = 0
        while not done.is_set():
            offset += 1
            producer.begin_transaction()
            wanted = [TopicPartition(topic, 0, offset)]
            producer.send_offsets_to_transaction(wanted, told, PATIENCE_S)
            producer.commit_transaction(PATIENCE_S)
            begun.set()
            time.sleep(COMMIT_EVERY_S)

    working = threading.Thread(target=commit)
    working.start()
    try:
        assert begun.wait(PATIENCE_S), "no transaction ends"
        yield
    finally:
        done.set()
        working.join()


def test_group_whose_offsets_are_committed_by_another_way_is_not_moved(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """A producer that does not come by the bridge ends transactions with the group's offsets, which a move could not
    judge; one that comes by the bridge is no reason.
    """
    topic = topic_factory(kafka_43.bootstrap, 1)
    group = f"{topic}-group"
    with (
        bridge_process(kafka_43.bootstrap, (), tmp_path, QUICK_SETTINGS, has_admin=True) as bridge,
        consuming(bridge.bootstrap, group, topic) as told,
    ):
        with committing(kafka_43.bootstrap, told, topic):
            for to in ("upstream", "embedded"):
                refused = would_move(bridge.admin, group, to)
                assert (refused.returncode, "EB-MOVE-107" in refused.stdout + refused.stderr) == (1, True), refused
        with committing(bridge.bootstrap, told, topic):
            for to in ("upstream", "embedded"):
                ready = would_move(bridge.admin, group, to)
                assert ready.returncode == 0, ready


def join(line: Line, group: GroupId, topics: tuple[TopicName, ...]) -> None:
    """Have one member at rest in a group, with partition 0 of the first topic."""
    blob = encode_subscription(Subscription(version=0, topics=topics))
    joined = JoinGroupReply(error=ErrorCode.NOT_COORDINATOR, member_id=MemberId(""))
    until = time.monotonic() + PATIENCE_S
    while joined.error is not ErrorCode.NONE:
        assert time.monotonic() < until, joined
        request = JoinGroup(
            group_id=group,
            member_id=joined.member_id,
            instance_id=None,
            protocol_type="consumer",
            protocols=(Protocol("range", blob),),
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
        )
        reply = line.ask(ApiKey.JOIN_GROUP, JOIN_VERSION, request)
        assert isinstance(reply, JoinGroupReply), reply
        joined = reply
    member_id = joined.member_id
    share = MemberAssignment(member_id, encode_assignment(frozenset({Partition(topics[0], 0)})))
    sync = SyncGroup(
        group_id=group,
        generation=joined.generation,
        member_id=member_id,
        instance_id=None,
        assignments=(share,),
    )
    synced = line.ask(ApiKey.SYNC_GROUP, SYNC_VERSION, sync)
    assert isinstance(synced, SyncGroupReply), synced
    assert synced.error is ErrorCode.NONE, synced


def test_group_with_a_topic_that_a_client_may_not_see_is_not_taken_over(tmp_path: Path) -> None:
    """The classic protocol does not mind, the consumer protocol refuses it: said before, with the topic; once the right
    is given it can be moved.
    """
    own = own_login(tmp_path)
    with authorizing_kafka(tmp_path, {"half": WORD}, "4.3.1") as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
        for name in ("seen", "secret"):
            admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(PATIENCE_S)

        def grant(user: str) -> None:
            words = (ResourceType.TOPIC, "secret", ResourcePatternType.LITERAL, f"User:{user}", "*")
            acl = AclBinding(*words, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
            admin.create_acls([acl])[acl].result(PATIENCE_S)

        # A broker coordinates no group before somebody has asked for the coordinator of one.
        with suppress(KafkaException):
            admin.describe_consumer_groups(["half-blind"])["half-blind"].result(PATIENCE_S)
        # Of what anybody is granted something, nobody else may do anything.
        grant("alice")
        with bridge_process(broker.bootstrap, (), tmp_path, {**QUICK_SETTINGS, **own}, has_admin=True) as bridge:
            line = Line(bridge.bootstrap, "half", WORD)
            try:
                join(line, GroupId("half-blind"), (TopicName("seen"), TopicName("secret")))
                refused = would_move(bridge.admin, "half-blind", "upstream")
                said = refused.stdout + refused.stderr
                assert (refused.returncode, "EB-MOVE-116" in said, "secret" in said) == (1, True, True), refused
                grant("half")
                ready = would_move(bridge.admin, "half-blind", "upstream")
                assert ready.returncode == 0, ready
            finally:
                line.close()
