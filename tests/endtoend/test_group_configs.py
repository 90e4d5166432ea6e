"""Settings of embedded groups are described, altered and listed as Kafka 4.3.1 has it for its own, also before a broker
that has none.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bridge.engine.group_configs import GROUP_KEYS, HEARTBEAT_INTERVAL, PREFIX, SESSION_TIMEOUT
from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.java_tools import Command, run_all
from tests.support.kafka import KafkaUnderTest, TopicFactory
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
        assert embedded.own() == own.own(), alterations
    for alterations in REPLACEMENTS:
        assert embedded.replace(*alterations) == own.replace(*alterations), alterations
        assert embedded.own() == own.own(), alterations
    for version in (1, 4):
        told = {name: of_kafka(one) for name, one in embedded.described(*KAFKAS, version=version).items()}
        assert told == {name: of_kafka(one) for name, one in own.described(*KAFKAS, version=version).items()}
    assert own.described(HEARTBEAT_INTERVAL)[HEARTBEAT_INTERVAL].value == "7000"


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
        assert embedded.own() == {
            "share.auto.offset.reset": "earliest",
            HEARTBEAT_INTERVAL: "7000",
            SESSION_TIMEOUT: "48000",
        }
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
    """The answer to a heartbeat that is let in."""
    reply = talker.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert isinstance(reply, ConsumerGroupHeartbeatReply)
    assert reply.error is ErrorCode.NONE, reply
    return reply


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
