"""What a random run is made of: a seed's steps, the settings of both sides, and what was seen after each step.

It knows the forms only, and must not know how sequences are drawn, played or judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.conformance.random.members import Member
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Close, Pause

Kind = Literal["classic", "consumer", "mixed", "regex", "resting"]
KINDS: tuple[Kind, ...] = ("classic", "consumer", "mixed", "regex", "resting")
LEFT = "left unanswered"
"""The steps of pipelined requests without an answer when all has come to rest."""
FAILED = "failed"
"""For whom the coordinator failed, and what stood in its way."""
OWN_TOPIC = "$g-t"
"""A topic that belongs to one sequence on one side, and comes and grows in its course."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grow:
    """A topic of the sequence's own is made with so many partitions, or grows to them."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Clients of these members do what their protocol wants until the group is quiet; what it then is, is compared."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The group at rest is asked all round, as these members and as an admin."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """All connections end; of two runs on the bridge one is killed and started again there."""


Move: TypeAlias = Call | Close | Pause | Grow | Settle | Probe | Restart


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A sequence: its seed, what kind of group it is about, and its steps."""

    seed: int
    kind: Kind
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to the call of step `asked`, comparable, that came during a later step or the same."""

    asked: int
    answer: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came during one step, and the group as described after it (classic view, consumer view)."""

    answers: tuple[Answered, ...]
    classic: Mapping[str, Value]
    consumer: Mapping[str, Value]
    settled: Mapping[str, Value] = field(default_factory=dict)


Course: TypeAlias = Sequence[Seen]
"""What one side showed, by step."""

PROFILES: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "sized": {"group.max.size": "3", "group.consumer.max.size": "3"},
    "delay": {"group.initial.rebalance.delay.ms": "1500"},
    "upgrade": {"group.consumer.migration.policy": "upgrade"},
    "downgrade": {"group.consumer.migration.policy": "downgrade"},
    "disabled": {"group.consumer.migration.policy": "disabled"},
    "expiry": {"group.consumer.session.timeout.ms": "6000"},
    "uniform": {"group.consumer.assignors": "uniform,range"},
}
"""Settings of both sides, beside these."""

SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "2000",
    "group.consumer.assignors": "range,uniform",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "60000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}


def settings_of(profile: str) -> dict[str, str]:
    """What both sides are configured with."""
    return {**SETTINGS, **PROFILES[profile]}
