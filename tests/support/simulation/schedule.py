"""What is done to a world, as values: actions in phases, under conditions."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """One thing that can befall clients, lines, topics, broker or bridge."""

    START = "start"
    LEAVE = "leave"
    KILL = "kill"
    RESTART = "restart"
    KILL_RESTART = "kill-restart"
    PAUSE = "pause"
    CUT = "cut"
    LAG = "lag"
    RESUBSCRIBE = "resubscribe"
    GROW = "grow"
    CREATE = "create"
    DELETE = "delete"
    BREAK_UPSTREAM = "break-upstream"
    SLOW_BROKER = "slow-broker"
    RESTART_BRIDGE = "restart-bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An action at a time of its phase, done to a place in the fleet; one that finds nothing to act on does nothing.

    `amount` is a duration in milliseconds or a number of partitions, `name` a profile or topics.
    """

    at_ms: int
    action: Action
    place: int = 0
    name: str = ""
    amount: int = 0


@dataclass(frozen=True, slots=True)
class Phase:
    """Acts between two rests. A calm phase is one change without faults, and disturbs nobody whose share stays."""

    is_calm: bool
    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What holds in a world throughout: static places of the fleet, topics per place, settings of the coordinator."""

    partitions: int
    static_places: frozenset[int] = frozenset()
    curious_places: frozenset[int] = frozenset()
    initial_delay_ms: int = 0
    consumer_heartbeat_ms: int = 2_000
    consumer_session_ms: int = 12_000
    latency_ms: int = 3


@dataclass(frozen=True, slots=True)
class Schedule:
    """A whole story; the seed also feeds what is left to chance within it, such as latencies."""

    seed: int
    conditions: Conditions
    phases: tuple[Phase, ...]
