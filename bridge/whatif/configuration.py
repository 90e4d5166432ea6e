"""What the recorded groups are to be played under: the protocol, and settings by Kafka's and the bridge's names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol as Callback
from typing import cast

from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.telemetry.schema.terms import Protocol
from translators.dialects.counts import read_count

INT_MAX = 2**31 - 1
NO_ASSIGNOR, NO_SETTING, NO_VALUE = "EB-WHATIF-001", "EB-WHATIF-002", "EB-WHATIF-003"


class Unplayable(Exception):
    """What is asked for can't be had: one sentence with its code, and what would be allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that may be asked for: least value, greatest value, what it is."""

    minimum: int
    maximum: int
    text: str


SETTINGS: Mapping[str, Setting] = {
    "group.consumer.session.timeout.ms": Setting(1, INT_MAX, "session timeout of consumer members"),
    "group.consumer.heartbeat.interval.ms": Setting(1, INT_MAX, "heartbeat interval of consumer members"),
    "group.consumer.max.size": Setting(1, INT_MAX, "most members of a consumer group"),
    "group.consumer.assignment.interval.ms": Setting(0, INT_MAX, "least time between two target assignments"),
    "group.initial.rebalance.delay.ms": Setting(0, INT_MAX, "how long an empty classic group waits for more members"),
    "group.max.size": Setting(1, INT_MAX, "most members of a classic group"),
    "departure.wait.ms": Setting(0, INT_MAX, "how long the share of a member that left waits for whoever comes"),
    "replacement.grace.ms": Setting(0, INT_MAX, "how long the share of a member that left waits for its replacement"),
    "heartbeat.interval.ms": Setting(1, INT_MAX, "of the classic clients themselves: their heartbeat interval"),
    "session.timeout.ms": Setting(1, INT_MAX, "of the classic clients themselves: their session timeout"),
    "metadata.max.age.ms": Setting(1, INT_MAX, "of the classic clients themselves: how often they look for partitions"),
}
"""Settings by their names; those of clients are theirs, all others are the bridge's for one group."""
CLASSIC_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""What the leader of a classic group may go by (`partition.assignment.strategy`)."""
CLASSIC_HEARTBEAT, CLASSIC_SESSION, CLASSIC_AGE = "heartbeat.interval.ms", "session.timeout.ms", "metadata.max.age.ms"
CLASSIC_HEARTBEAT_MS, CLASSIC_AGE_MS = 3_000, 300_000
"""What clients take unless told otherwise (ConsumerConfig)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What to play a history under; `protocol` None is that of the record, `session_timeout_ms` None each client's."""

    protocol: Protocol | None = None
    assignor: str = ""
    engine: EngineSettings = field(default_factory=EngineSettings)
    heartbeat_interval_ms: int = CLASSIC_HEARTBEAT_MS
    session_timeout_ms: int | None = None
    metadata_age_ms: int = CLASSIC_AGE_MS


def configure(protocol: str | None, assignor: str | None, pairs: Sequence[str]) -> Configuration:
    """The configuration of names and KEY=VALUE pairs; raise Unplayable for an assignor or setting that is unknown."""
    numbers = dict(_read_pair(pair) for pair in pairs)
    heartbeat_ms = numbers.pop(CLASSIC_HEARTBEAT, CLASSIC_HEARTBEAT_MS)
    session_ms = numbers.pop(CLASSIC_SESSION, None)
    age_ms = numbers.pop(CLASSIC_AGE, CLASSIC_AGE_MS)
    engine = cast(_MakeSettings, EngineSettings)(**{name.replace(".", "_"): value for name, value in numbers.items()})
    if assignor is not None:
        _require_assignor(protocol, assignor)
        if assignor in registry:
            engine = replace(engine, group_consumer_assignors=(assignor,))
    return Configuration(
        protocol=None if protocol is None else Protocol(protocol),
        assignor=assignor or "",
        engine=engine,
        heartbeat_interval_ms=heartbeat_ms,
        session_timeout_ms=session_ms,
        metadata_age_ms=age_ms,
    )


def _require_assignor(protocol: str | None, assignor: str) -> None:
    classic = CLASSIC_ASSIGNORS if protocol == Protocol.CLASSIC else ()
    known = tuple(dict.fromkeys((*registry, *classic)))
    if assignor not in known:
        raise Unplayable(f"{NO_ASSIGNOR}: no assignor is called {assignor!r}; --assignor takes {', '.join(known)}")


def _read_pair(pair: str) -> tuple[str, int]:
    name, equals, text = pair.partition("=")
    setting = SETTINGS.get(name)
    if not equals or setting is None:
        raise Unplayable(f"{NO_SETTING}: {pair!r} is no KEY=VALUE that a replay knows; --setting takes {_names()}")
    value = read_count(text, setting.maximum)
    if value is None or value < setting.minimum:
        raise Unplayable(
            f"{NO_VALUE}: {name} is {text!r:.80}, but takes a number from {setting.minimum} to {setting.maximum}"
        )
    return name, value


def _names() -> str:
    return ", ".join(SETTINGS)


class _MakeSettings(Callback):
    def __call__(self, **values: int) -> EngineSettings: ...
