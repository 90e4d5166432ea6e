"""Settings of embedded groups are described, altered and listed as Kafka 4.3.1 has it for its own, also before a broker
that has none.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from bridge.engine.settings import GROUP_KEYS, HEARTBEAT_INTERVAL, PREFIX, SESSION_TIMEOUT
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader, request_frame
from bridge.wire.packing import INT32, nullable_string
from bridge.wire.sasl import Credentials, Mechanism, plain_token
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.java_tools import Command, run_all
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.sasl_kafka import PASSWORDS, login_of, sasl_kafka
from tests.support.talker import Talker, talk
from translators.dialects.configs import (
    BROKER,
    GROUP,
    Alteration,
    AlterConfigs,
    AlterConfigsReply,
    AskedResource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    IncrementalAlterConfigs,
    ListConfigResources,
    ListConfigResourcesReply,
    Operation,
    Resource,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName

TOOL = "kafka.admin.ConfigCommand"
ASSIGNMENT_INTERVAL = "consumer.assignment.interval.ms"
KAFKAS = (SESSION_TIMEOUT, HEARTBEAT_INTERVAL, ASSIGNMENT_INTERVAL)
SETTINGS = {
    **QUICK_SETTINGS,
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.min.session.timeout.ms": "45000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
}
"""Kafka's own for what is altered here."""


def to(name: str, value: str | None, operation: int = Operation.SET) -> Alteration:
    """One setting to be altered."""
    return Alteration(name, value, operation)


INCREMENTS: Sequence[tuple[Alteration, ...]] = (
    (to(SESSION_TIMEOUT, "50000"),),
    (to(SESSION_TIMEOUT, "51000", Operation.APPEND),),
    (to(SESSION_TIMEOUT, "51000", Operation.SUBTRACT),),
    (to(SESSION_TIMEOUT, "51000", 9),),
    (to(SESSION_TIMEOUT, None),),
    (to(HEARTBEAT_INTERVAL, "6000"), to(SESSION_TIMEOUT, None, Operation.DELETE)),
    (to(SESSION_TIMEOUT, "50000"), to(SESSION_TIMEOUT, "1", Operation.DELETE)),
    (to(SESSION_TIMEOUT, "50 000"),),
    (to(SESSION_TIMEOUT, " 50000 "),),
    (to(SESSION_TIMEOUT, "-1"),),
    (to(SESSION_TIMEOUT, "1"),),
    (to(SESSION_TIMEOUT, "70000"),),
    (to(SESSION_TIMEOUT, "99999999999"),),
    (to(SESSION_TIMEOUT, ""),),
    (to(HEARTBEAT_INTERVAL, "1"),),
    (to(HEARTBEAT_INTERVAL, "20000"),),
    (to(HEARTBEAT_INTERVAL, "0"),),
    (to(ASSIGNMENT_INTERVAL, "20000"),),
    (to(ASSIGNMENT_INTERVAL, "-1"),),
    (to(ASSIGNMENT_INTERVAL, "2000"),),
    (to(SESSION_TIMEOUT, "70000"), to("foo", "1")),
    (to("foo", None, Operation.DELETE),),
    (to("", "1"),),
    (to("foo", "1", Operation.APPEND),),
    (to(SESSION_TIMEOUT, "x", Operation.APPEND), to("foo", "1")),
    (to(f"{PREFIX}no.such.setting", "1"),),
)
REPLACEMENTS: Sequence[tuple[Alteration, ...]] = (
    (to(HEARTBEAT_INTERVAL, "7000"),),
    (to(HEARTBEAT_INTERVAL, "7"),),
    (to(HEARTBEAT_INTERVAL, None),),
)


AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:bridge;User:ANONYMOUS",
}
PATIENCE_S = 60.0
ALLOWED = (0, 1, 3)
"""Of what alice tries: with nothing granted, with DESCRIBE_CONFIGS, with ALTER_CONFIGS, too; one thing is wrong."""


class Side(NamedTuple):
    """Where is asked, and for which group."""

    bootstrap: str
    talker: Talker
    group: Resource

    def alter(self, *alterations: Alteration, validate_only: bool = False) -> tuple[ErrorCode, str | None]:
        """What one alteration is answered."""
        named = (ResourceAlterations(self.group, alterations),)
        request = IncrementalAlterConfigs(resources=named, validate_only=validate_only)
        return self._altered(self.talker.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request))

    def replace(self, *alterations: Alteration) -> tuple[ErrorCode, str | None]:
        """The same for all settings together."""
        request = AlterConfigs(resources=(ResourceAlterations(self.group, alterations),))
        return self._altered(self.talker.ask(ApiKey.ALTER_CONFIGS, 2, request))

    def _altered(self, reply: object) -> tuple[ErrorCode, str | None]:
        assert isinstance(reply, AlterConfigsReply)
        (result,) = reply.results
        assert result.resource == self.group
        return result.error, result.error_message

    def described(self, *names: str, version: int = 4) -> dict[str, DescribedConfig]:
        """The settings of these names, all for none; what describes them is said, but not in whose words."""
        asked = AskedResource(self.group, names or None)
        request = DescribeConfigs(
            resources=(asked,), include_synonyms=True, include_documentation=version >= len(KAFKAS)
        )
        reply = self.talker.ask(ApiKey.DESCRIBE_CONFIGS, version, request)
        assert isinstance(reply, DescribeConfigsReply)
        (result,) = reply.results
        assert (result.resource, result.error, result.error_message) == (self.group, ErrorCode.NONE, "")
        return {
            one.name: replace(one, documentation="." if one.documentation else one.documentation)
            for one in result.configs
        }

    def own(self) -> dict[str, str | None]:
        """What the group has of its own."""
        return {name: one.value for name, one in self.described().items() if one.source == GROUP // 4}


@contextmanager
def two_sides(reference: KafkaUnderTest, behind: KafkaUnderTest, directory: Path) -> Iterator[tuple[Side, Side]]:
    """A group of Kafka 4.3.1's own, and an embedded one in front of some broker."""
    run = uuid.uuid4().hex[:8]
    with (
        bridge_process(behind.bootstrap, ("embedded-*",), directory, SETTINGS) as bridge,
        talk(reference.bootstrap) as own,
        talk(bridge.bootstrap) as through,
    ):
        yield (
            Side(reference.bootstrap, own, Resource(GROUP, f"own-{run}")),
            Side(bridge.bootstrap, through, Resource(GROUP, f"embedded-{run}")),
        )


def compare(own: Side, embedded: Side) -> None:
    """Everything that can be said to one of Kafka's settings, one after the other; and what there is after each."""
    for alterations in INCREMENTS:
        assert embedded.alter(*alterations, validate_only=True) == own.alter(*alterations, validate_only=True)
        assert embedded.alter(*alterations) == own.alter(*alterations), alterations
        assert in_time(own, embedded.own()), alterations
    for alterations in REPLACEMENTS:
        assert embedded.replace(*alterations) == own.replace(*alterations), alterations
        assert in_time(own, embedded.own()), alterations
    for version in (1, 4):
        told = {name: of_kafka(one) for name, one in embedded.described(*KAFKAS, version=version).items()}
        assert told == {name: of_kafka(one) for name, one in own.described(*KAFKAS, version=version).items()}
    assert own.described(HEARTBEAT_INTERVAL)[HEARTBEAT_INTERVAL].value == "7000"


def in_time(side: Side, settings: Mapping[str, str | None]) -> bool:
    """Whether a group has these of its own: a broker hears of what its controller took a moment later."""
    end = time.monotonic() + PATIENCE_S
    while side.own() != settings and time.monotonic() < end:
        time.sleep(0.05)
    return side.own() == settings


def of_kafka(config: DescribedConfig) -> DescribedConfig:
    """Without what the bridge has another default for."""
    return replace(config, value=None, synonyms=()) if config.name == ASSIGNMENT_INTERVAL else config


def test_settings_of_embedded_groups_are_those_of_kafka(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """Errors and their texts, what is kept, and how it is told; settings of share groups are the broker's."""
    with two_sides(kafka_43, kafka_43, tmp_path) as (own, embedded):
        compare(own, embedded)
        assert set(embedded.described()) == set(own.described()) | set(GROUP_KEYS)
        share = to("share.auto.offset.reset", "earliest")
        assert embedded.alter(share, to(SESSION_TIMEOUT, "48000")) == (ErrorCode.NONE, None)
        kept = {"share.auto.offset.reset": "earliest", HEARTBEAT_INTERVAL: "7000", SESSION_TIMEOUT: "48000"}
        assert in_time(embedded, kept)
        listed = embedded.talker.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, ListConfigResources(types=(GROUP,)))
        assert isinstance(listed, ListConfigResourcesReply)
        assert {own.group, embedded.group} <= set(listed.resources)
        assert len(listed.resources) == len(set(listed.resources))


def test_groups_have_settings_before_a_broker_that_has_none(
    kafka_43: KafkaUnderTest, kafka_39: KafkaUnderTest, tmp_path: Path
) -> None:
    """Of Kafka 3.9.1 nothing is told that it does not know, and one request for both is answered for both."""
    with two_sides(kafka_43, kafka_39, tmp_path) as (own, embedded):
        compare(own, embedded)
        assert set(embedded.described()) == set(GROUP_KEYS)
        both = tuple(map(AskedResource, (Resource(BROKER, "1"), embedded.group)))
        reply = embedded.talker.ask(ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigs(resources=both))
        assert isinstance(reply, DescribeConfigsReply)
        assert [one.resource for one in reply.results] == [one.resource for one in both]
        assert [one.error for one in reply.results] == [ErrorCode.NONE] * 2
        share = to("share.auto.offset.reset", "earliest")
        assert embedded.alter(share) == (ErrorCode.INVALID_REQUEST, f"Unknown resource type {GROUP}")


def test_members_hear_of_another_interval_with_their_next_heartbeat(
    kafka_39: KafkaUnderTest, tmp_path: Path, topic_factory: TopicFactory
) -> None:
    """Also those whose heartbeats are like the ones before, byte for byte."""
    topic = topic_factory(kafka_39.bootstrap, 2)
    with two_sides(kafka_39, kafka_39, tmp_path) as (_, embedded):
        member = MemberId(str(uuid.uuid4()))
        join = ConsumerGroupHeartbeat(
            group_id=GroupId(embedded.group.name),
            member_id=member,
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=(TopicName(topic),),
            owned=frozenset(),
        )
        embedded.talker.coordinator(join.group_id)
        reply = heard(embedded.talker, join)
        while reply.assignment is None:
            reply = heard(embedded.talker, replace(join, member_epoch=reply.member_epoch))
        calm = ConsumerGroupHeartbeat(group_id=join.group_id, member_id=member, member_epoch=reply.member_epoch)
        owning = replace(calm, owned=reply.assignment)
        told = [heard(embedded.talker, each).heartbeat_interval_ms for each in (owning, calm, calm, calm)]
        assert told == [5_000] * 4
        with talk(embedded.bootstrap) as admin:
            assert embedded._replace(talker=admin).alter(to(HEARTBEAT_INTERVAL, "6000")) == (ErrorCode.NONE, None)
        assert [heard(embedded.talker, calm).heartbeat_interval_ms for _ in range(3)] == [6_000] * 3


def heard(talker: Talker, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatReply:
    """The answer to a heartbeat that is let in; a broker that has had no group yet is to be asked again."""
    end = time.monotonic() + PATIENCE_S
    while True:
        reply = talker.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        assert isinstance(reply, ConsumerGroupHeartbeatReply)
        if reply.error is ErrorCode.NONE:
            return reply
        is_starting = reply.error in {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        assert is_starting, reply
        assert time.monotonic() < end, reply
        time.sleep(0.1)


def test_tool_alters_and_shows_settings(kafka_43: KafkaUnderTest, kafka_39: KafkaUnderTest, tmp_path: Path) -> None:
    """Kafka's own kafka-configs, in front of a broker whose own tool does not know groups."""
    with bridge_process(kafka_39.bootstrap, ("embedded-*",), tmp_path, SETTINGS) as bridge:
        of_one = ("--entity-type", "groups", "--entity-name", "embedded-tool")
        grace = f"{PREFIX}replacement.grace.ms"

        def command(*words: str) -> Command:
            return (TOOL, "--bootstrap-server", bridge.bootstrap, *words)

        altered, wrong, shown = run_all(
            kafka_43.tools,
            (
                command("--alter", *of_one, "--add-config", f"{SESSION_TIMEOUT}=50000,{grace}=9000"),
                command("--alter", *of_one, "--add-config", f"{SESSION_TIMEOUT}=1"),
                command("--describe", *of_one),
            ),
        )
    assert (altered.status, altered.text.strip()) == (0, "Completed updating config for group embedded-tool.")
    assert wrong.status == 1
    assert f"{SESSION_TIMEOUT} must be greater than or equal to group.consumer.min.session.timeout.ms" in wrong.text
    assert [line.split()[0] for line in shown.text.splitlines()[1:]] == [f"{SESSION_TIMEOUT}=50000", f"{grace}=9000"]
    synonyms = f"{{DYNAMIC_GROUP_CONFIG:{SESSION_TIMEOUT}=50000, DEFAULT_CONFIG:group.{SESSION_TIMEOUT}=45000}}"
    assert synonyms in shown.text


@contextmanager
def logged_in(bootstrap: str, name: str) -> Iterator[Talker]:
    """A connection of one user, by PLAIN."""
    with talk(bootstrap) as talker:
        mechanism = nullable_string("PLAIN", flexible=False)
        talker.exchange(request_frame(RequestHeader(0, ApiKey.SASL_HANDSHAKE, 1, 1, name, 0), mechanism))
        token = plain_token(Credentials(mechanism=Mechanism.PLAIN, username=name, password=PASSWORDS[name]))
        body = INT32.pack(len(token)) + token
        talker.exchange(request_frame(RequestHeader(0, ApiKey.SASL_AUTHENTICATE, 0, 1, name, 0), body))
        yield talker


def refusals(bootstrap: str, name: str) -> list[tuple[ErrorCode, str | None]]:
    """What alice is told who describes settings of a group, alters them rightly, wrongly, and all together."""
    with logged_in(bootstrap, "alice") as talker:
        side = Side(bootstrap, talker, Resource(GROUP, name))
        asked = DescribeConfigs(resources=(AskedResource(side.group, (SESSION_TIMEOUT,)),))
        reply = talker.ask(ApiKey.DESCRIBE_CONFIGS, 4, asked)
        assert isinstance(reply, DescribeConfigsReply)
        described = (reply.results[0].error, reply.results[0].error_message)
        right, wrong = to(SESSION_TIMEOUT, "50000"), to(SESSION_TIMEOUT, "x")
        return [described, side.alter(right), side.alter(wrong), side.replace(right)]


def grant(admin: AdminClient, name: str, operation: AclOperation) -> None:
    """Let alice do something with a group."""
    binding = AclBinding(
        ResourceType.GROUP, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW
    )
    admin.create_acls([binding])[binding].result(PATIENCE_S)


def test_rights_to_settings_are_the_brokers_word(tmp_path: Path) -> None:
    """Nothing, DESCRIBE_CONFIGS, and ALTER_CONFIGS with it: the same of a group of Kafka's own and of an embedded one.

    Who may not alter is not told what is wrong with a value either.
    """
    password = tmp_path / "password"
    with sasl_kafka(tmp_path, AUTHORIZER) as kafka:
        password.write_text(PASSWORDS["bridge"])
        login = {"mechanism": "PLAIN", "username": "bridge", "password.path": str(password)}
        settings = {**SETTINGS, **{f"upstream.sasl.{key}": value for key, value in login.items()}}
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **login_of("admin")})
        told: list[list[tuple[ErrorCode, str | None]]] = []
        with bridge_process(kafka.bootstrap, ("embedded-*",), tmp_path, settings) as bridge:
            for operation in (None, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS):
                if operation is not None:
                    for name in ("own", "embedded-1"):
                        grant(admin, name, operation)
                end = time.monotonic() + PATIENCE_S
                own = refusals(kafka.bootstrap, "own")
                while count(own, ErrorCode.NONE) < ALLOWED[len(told)] and time.monotonic() < end:
                    # The broker hears of an ACL a moment after its controller.
                    own = refusals(kafka.bootstrap, "own")
                assert refusals(bridge.bootstrap, "embedded-1") == own
                told.append(own)
    assert [count(one, ErrorCode.GROUP_AUTHORIZATION_FAILED) for one in told] == [4, 3, 0]


def count(told: Sequence[tuple[ErrorCode, str | None]], code: ErrorCode) -> int:
    """How often a code was told."""
    return sum(one is code for one, _ in told)
