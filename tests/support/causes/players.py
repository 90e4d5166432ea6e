"""Who plays which story where: kinds of clients, roads and brokers, every combination that is possible, and a pick."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bridge.demo.events import Protocol

SEED = 312
ROADS = ("embedded", "pass")
UPSTREAM = "upstream"
EVERY_ROAD = (*ROADS, UPSTREAM)
OLD, NEW = "3.9.1", "4.3.1"
VERSIONS = (OLD, NEW)
"""Kafka 3.9.1 coordinates no consumer groups itself."""


class Name(StrEnum):
    """Kinds of clients."""

    RANGE = "confluent-range"
    COOPERATIVE = "confluent-cooperative"
    PYTHON = "kafka-python-range"
    CONSUMER = "confluent-consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A library with an assignor, or with the consumer protocol."""

    library: str = "confluent-kafka"
    assignor: str = "range"
    protocol: Protocol = Protocol.CLASSIC


KINDS: Mapping[Name, Kind] = {
    Name.RANGE: Kind(),
    Name.COOPERATIVE: Kind(assignor="cooperative-sticky"),
    Name.PYTHON: Kind(library="kafka-python"),
    Name.CONSUMER: Kind(protocol=Protocol.CONSUMER),
}
EVERYBODY = tuple(Name)
CLASSIC = (Name.RANGE, Name.COOPERATIVE, Name.PYTHON)


class Case(NamedTuple):
    """One story told once."""

    version: str
    road: str
    kind: Name
    story: str

    @property
    def group(self) -> str:
        """The name of its group, by which the bridge knows its road."""
        return f"{self.road}-{self.kind}-{self.story}"

    @property
    def is_met(self) -> bool:
        """Whether a classic coordinator lets all members meet: then everybody waits for the last."""
        return self.road == "pass" and self.kind is not Name.CONSUMER

    @property
    def is_consumer(self) -> bool:
        """Whether the members speak the consumer protocol."""
        return self.kind is Name.CONSUMER


class Limits(NamedTuple):
    """What a story needs: kinds that can play it, in front of Kafka's own coordinator too, and roads it can happen on.

    `new_on_pass`: on road `pass` it needs a broker that knows consumer groups.
    """

    kinds: Collection[Name] = EVERYBODY
    roads: Collection[str] = ROADS
    pass_kinds: Collection[Name] = EVERYBODY
    new_on_pass: bool = False


def cases_of(stories: Mapping[str, Limits]) -> Sequence[Case]:
    """Every combination that can be played."""
    return [
        Case(version, road, kind, story)
        for version in VERSIONS
        for story, limits in stories.items()
        for road in EVERY_ROAD
        for kind in EVERYBODY
        if road in limits.roads and kind in limits.kinds and _is_possible(version, road, kind, limits)
    ]


def _is_possible(version: str, road: str, kind: Name, limits: Limits) -> bool:
    if road == UPSTREAM:
        # Its broker has to know consumer groups, whose own members pass.
        return version == NEW and kind is not Name.CONSUMER
    needs_new = kind is Name.CONSUMER or limits.new_on_pass
    return road == "embedded" or (kind in limits.pass_kinds and (version == NEW or not needs_new))


def picked_cases(stories: Mapping[str, Limits]) -> Sequence[Case]:
    """Each story once, before Kafka 4.3.1, and on road `upstream` once more what can be told there; roads and kinds by
    lot, each kind and road about as often as the others.
    """
    chance = random.Random(SEED)
    every = [case for case in cases_of(stories) if case.version == NEW]
    picked: list[Case] = []
    for roads in (ROADS, (UPSTREAM,)):
        for story in stories:
            playable = [case for case in every if case.story == story and case.road in roads]
            counts = [sum((case.road == one.road) + (case.kind is one.kind) for one in picked) for case in playable]
            best = [case for case, count in zip(playable, counts, strict=True) if count == min(counts)]
            picked += [chance.choice(best)] if best else []
    return picked
