"""Kafka's own kafka-groups and kafka-consumer-groups say of embedded groups what they say of the cluster's own.

The same groups are made on the broker and through the bridge, and each program is run on both. It must not know how
the bridge answers.
"""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.conformance.calls import (
    ALL_SIX,
    SIX,
    alone,
    beat,
    chb,
    commit,
    committed_topics,
    describe_consumer,
    enter,
    full_chb,
    leave,
    offer,
    pair,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.ground import find_ground, make_topics
from tests.support.conformance.playing import Play
from tests.support.conformance.steps import Part, Pause, Scenario, Step
from tests.support.java_tools import Command, Said, run_all
from tests.support.kafka import KafkaUnderTest

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
TIMEOUT_MS = "60000"
ASSIGNMENT_INTERVAL_MS = 1_100
"""So long Kafka makes a consumer group wait for its next assignment."""
MADE_ID = re.compile(r"client-([a-z])-[\w-]{22,36}")
PLACE = re.compile(r"127\.0\.0\.1:\d+")
SETTINGS = {
    **QUICK_SETTINGS,
    "embedded.initial.group.type": "classic",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "60000",
    "group.consumer.max.session.timeout.ms": "60000",
    "group.max.session.timeout.ms": "1800000",
}
LONG: Mapping[str, Part] = {"session_timeout_ms": 120_000}
BY_RANGE: Mapping[str, Part] = {"server_assignor": "range"}
TWO = committed_topics(name=SIX, partitions=(0, 1))
LAST_TWO = committed_topics(name=SIX, partitions=(4, 5))
CONNECT: Mapping[str, Part] = {"protocol_type": "connect"}

SHAPES: Mapping[str, tuple[Step, ...]] = {
    "classic": (*pair(9, a=LONG, b=LONG), commit("a", topics=TWO)),
    "consumer": (
        *(chb("a", 0, **BY_RANGE), until(describe_consumer(), state="Stable"), full_chb("a", "#a")),
        commit("a", topics=TWO),
    ),
    "mixed": (
        *(*alone("a", **LONG), chb("b", 0, **BY_RANGE), until(beat("a"), error="REBALANCE_IN_PROGRESS")),
        *(rejoin("a", **LONG), sync("a"), Pause(ms=ASSIGNMENT_INTERVAL_MS), full_chb("b", "#b"), full_chb("b", "#b")),
        *(until(describe_consumer(), state="Stable"), commit("b", topics=LAST_TWO)),
    ),
    "empty": (*alone("a"), commit("a", topics=TWO), leave("a")),
    "simple": (commit("x", generation_id=-1, member_id="", topics=TWO),),
    "connect": (
        *enter("a", protocols=offer("sessioned"), **CONNECT, **LONG),
        sync("a", protocol_name="sessioned", assign={"@a": ALL_SIX}, **CONNECT),
    ),
}
"""A group of each kind, by the end of its name."""

OF_ONE: Sequence[str] = (
    "--describe --group @classic --members --verbose",
    "--describe --group @classic --offsets",
    "--describe --group @classic --state",
    "--describe --group @consumer --members --verbose",
    "--describe --group @consumer --state --verbose",
    "--describe --group @consumer",
    "--describe --group @mixed --members --verbose",
    "--describe --group @mixed --state --verbose",
    "--describe --group @mixed --offsets --verbose",
    "--describe --group @connect --state",
    "--describe --group @empty",
    "--describe --group @simple --state",
    "--describe --group @nobody",
    "--delete-offsets --group @mixed --topic wire-six:4",
    "--delete-offsets --group @classic --topic wire-six:1",
    "--delete-offsets --group @simple --topic wire-six:1",
    "--delete-offsets --group @nobody --topic wire-six:1",
    "--reset-offsets --group @mixed --topic wire-six --to-earliest --dry-run",
    "--reset-offsets --group @consumer --topic wire-six --to-earliest --execute",
    "--reset-offsets --group @empty --topic wire-six --to-earliest --dry-run",
    "--reset-offsets --group @empty --topic wire-six:0,3 --to-latest --execute",
    "--reset-offsets --group @new --topic wire-two --to-earliest --execute",
    "--describe --group @empty --offsets",
    "--delete --group @classic",
    "--delete --group @mixed",
    "--delete --group @empty",
    "--delete --group @simple",
    "--delete --group @nobody",
)
"""`@` stands for what the names of one side begin with."""
NO_SUCH = (CONSUMER_GROUPS, "--no-such-word")
LISTS: Sequence[tuple[str, str]] = (
    (CONSUMER_GROUPS, "--list --type"),
    (CONSUMER_GROUPS, "--list --state Stable"),
    (CONSUMER_GROUPS, "--list --type consumer"),
    (GROUPS, "--list"),
    (GROUPS, "--list --group-type classic"),
    (GROUPS, "--list --group-type consumer"),
    (GROUPS, "--list --protocol connect"),
    (GROUPS, "--list --consumer"),
)


class Side(NamedTuple):
    """Where the programs ask, and what the names of its groups begin with."""

    bootstrap: str
    prefix: str

    def make_groups(self) -> None:
        """One group of each kind; members go on to count as alive without a word for a minute."""
        ground = find_ground(self.bootstrap)
        for name, steps in SHAPES.items():
            Play(ground=ground, group=f"{self.prefix}{name}").run(Scenario(name=name, rules=(), steps=steps))

    def commands(self) -> list[Command]:
        """All programs; lists first, while all groups are there, and last."""
        lists = [self._command(program, words) for program, words in LISTS]
        return [*lists, *(self._command(CONSUMER_GROUPS, words) for words in OF_ONE), lists[0]]

    def _command(self, program: str, words: str) -> Command:
        patience = ["--timeout", TIMEOUT_MS] if program == CONSUMER_GROUPS else []
        arguments = words.replace("@", self.prefix).split()
        return [program, "--bootstrap-server", self.bootstrap, *arguments, *patience]

    def plain(self, command: Command, said: Said) -> tuple[int, Sequence[str]]:
        """What was said, without names and addresses of this side and in the order of the alphabet."""
        lines = said.text.splitlines()
        if "--list" in command:
            lines = [line for line in lines if line.startswith((self.prefix, "GROUP"))]
        text = PLACE.sub("HOST:PORT", MADE_ID.sub(r"id of \1", "\n".join(lines).replace(self.prefix, "$")))
        return said.status, sorted(" ".join(line.split()) for line in text.splitlines() if line.strip())


@contextmanager
def two_sides(kafka: KafkaUnderTest, directory: Path) -> Iterator[tuple[Side, Side]]:
    """The broker itself, and the bridge in front of it."""
    run = uuid.uuid4().hex[:8]
    make_topics(kafka.bootstrap)
    with bridge_process(kafka.bootstrap, ("embedded-*",), directory, SETTINGS) as bridge:
        yield Side(kafka.bootstrap, f"own-{run}-"), Side(bridge.bootstrap, f"embedded-{run}-")


def test_programs_say_of_embedded_groups_what_they_say_of_the_brokers_own(
    kafka_43: KafkaUnderTest, tmp_path: Path
) -> None:
    """Classic, consumer, mixed, empty, simple and Connect's: lists, descriptions, offsets and deletions (K6)."""
    with two_sides(kafka_43, tmp_path) as (own, embedded):
        own.make_groups()
        embedded.make_groups()
        asked = list(zip(own.commands(), embedded.commands(), strict=True))
        *said, failed = run_all(kafka_43.tools, [*(command for both in asked for command in both), NO_SUCH])
    for (command, ours), of_kafka, of_bridge in zip(asked, said[::2], said[1::2], strict=True):
        assert embedded.plain(ours, of_bridge) == own.plain(command, of_kafka), " ".join(command)
    listed = embedded.plain(asked[0][1], said[1])[1]
    assert listed[:4] == ["$classic Classic", "$consumer Consumer", "$empty Classic", "$mixed Consumer"]
    assert failed.status != 0, "else two failures would agree"
