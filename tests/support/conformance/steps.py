"""What a scenario is made of: calls of members, answers awaited later, pauses, and values known only while playing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Names: TypeAlias = tuple[str, ...]
NEWEST = "4.3.1"
OLDER = "3.9.1"
BOTH = (NEWEST, OLDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A ConsumerProtocolSubscription. `owned` names a member whose latest assignment is listed, or lists it."""

    topics: Names = ("wire-six",)
    version: int = 1
    owned: "str | Mapping[str, Sequence[int]]" = field(default_factory=dict)
    generation: "int | str" = -1
    user_data: bytes | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A ConsumerProtocolAssignment: partitions by topic."""

    partitions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    version: int = 1
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The latest assignment of `who` as topic ids and partitions; only `keep` of it if given, by topic name."""

    who: str = ""
    keep: Mapping[str, Sequence[int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicId:
    """The id of a topic by its name."""

    name: str


Known: TypeAlias = Subscription | Assignment | Owned | TopicId
Part: TypeAlias = "Mapping[str, Part] | Sequence[Part] | Known | str | bytes | int | bool | None"
"""A field of a request. In texts `@a` is the member id of a, `$g` the group; `#a+1` is a's epoch plus one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request on the connection of `who`. `parked`: no answer comes before something else happens."""

    who: str
    api: str
    version: int
    fields: Mapping[str, Part]
    parked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """The answer of the parked request of `who`; with `silent` it should not come, and waiting ends soon."""

    who: str
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """A call repeated until its answer holds `until`, for what takes its time; only the last answer counts."""

    call: Call
    until: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Nothing for a while, for timers to run out."""

    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """The connection of `who` ends."""

    who: str


Step: TypeAlias = Call | Await | Poll | Pause | Close


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Steps under a name, the rules they show (K-numbers) and the tests of Kafka's own that they stand beside.

    `profile` names the settings of both sides, `kafkas` the versions recorded. With `relative` epochs are compared by
    their order only; with `shares` assignments by their sizes only, where Kafka's own choice goes by hash order.
    """

    name: str
    rules: Names
    steps: tuple[Step, ...]
    tests: Names = ()
    profile: str = "plain"
    kafkas: Names = (NEWEST,)
    relative: bool = False
    shares: bool = False


PROFILES: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "newest": {},
    "everywhere": {},
    "small": {"group.max.size": "2", "group.consumer.max.size": "2"},
    "narrow": {"group.consumer.max.size": "1"},
    "delay": {"group.initial.rebalance.delay.ms": "1500"},
    "upgrade": {"group.consumer.migration.policy": "upgrade"},
    "downgrade": {"group.consumer.migration.policy": "downgrade"},
    "disabled": {"group.consumer.migration.policy": "disabled"},
    "expiry": {"offsets.retention.check.interval.ms": "1000"},
    "interval": {"group.consumer.assignment.interval.ms": "3000"},
}
"""Settings of a broker and the bridge alike, beside those below."""

SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "30000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}

TOPICS: Mapping[str, int] = {"wire-one": 1, "wire-two": 2, "wire-six": 6}
"""The topics of all scenarios and their partitions; `wire-none` does not exist."""


UNKNOWN_TO_OLDER = frozenset({"group.consumer.assignment.interval.ms"})


def settings_of(profile: str, version: str = NEWEST) -> dict[str, str]:
    """What both sides are configured with."""
    settings = {**SETTINGS, **PROFILES[profile]}
    return settings if version == NEWEST else {key: settings[key] for key in settings if key not in UNKNOWN_TO_OLDER}
