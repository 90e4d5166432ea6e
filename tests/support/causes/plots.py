"""The stories by name: who can play them, and what is right to say of the rebalances that follow the event.

It must not know how they are told.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bridge.telemetry.schema.terms import Cause, Phase
from tests.support.causes import tales
from tests.support.causes.cast import CLASSIC, Case, Limits, Name
from tests.support.causes.stage import Stage


@dataclass(frozen=True, slots=True)
class Said:
    """What is to be said of one rebalance: the cause, whose, who was waited for in which phase, who was disturbed."""

    cause: Cause
    seats: str = ""
    critical: str = ""
    phase: Phase | None = None
    disturbed: int = 0


def one_topic(group: str) -> tuple[str, ...]:
    """What members read as a rule."""
    return (f"{group}-topic",)


def two_topics(group: str) -> tuple[str, ...]:
    """One that is there, and one that is not yet."""
    return (f"{group}-topic", f"{group}-later")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A story."""

    tell: Callable[[Stage], Awaitable[None]]
    says: Callable[[Case], tuple[Said, ...]]
    limits: Limits = field(default_factory=Limits)
    topics: Callable[[str], tuple[str, ...]] = one_topic


def waiting(seat: str, phase: Phase = Phase.REVOKING) -> dict[str, str | Phase]:
    return {"critical": seat, "phase": phase}


def first_join(_: Case) -> tuple[Said, ...]:
    return (Said(Cause.FIRST_JOIN, "a"),)


def say(*said: Said) -> Callable[[Case], tuple[Said, ...]]:
    return lambda _: said


PLOTS: Mapping[str, Plot] = {
    "first-join": Plot(tell=tales.tell_first_join, says=first_join),
    "join": Plot(tell=tales.tell_join, says=say(Said(Cause.JOIN, "c", "a", Phase.REVOKING))),
    "leave": Plot(tell=tales.tell_leave, says=say(Said(Cause.LEAVE, "c"))),
    "expiry": Plot(tell=tales.tell_expiry, says=say(Said(Cause.SESSION_EXPIRED, "c"))),
    "rebalance-timeout": Plot(
        tell=tales.tell_timeout,
        says=say(Said(Cause.JOIN, "c", "b", Phase.REVOKING)),
        limits=Limits((Name.RANGE, Name.COOPERATIVE, Name.CONSUMER)),
    ),
    "subscription": Plot(tell=tales.tell_subscription, says=say(Said(Cause.SUBSCRIPTION_CHANGED, "b"))),
    "new-partitions": Plot(tell=tales.tell_partitions, says=say(Said(Cause.TOPICS_CHANGED))),
    "new-topic": Plot(tell=tales.tell_topic, says=say(Said(Cause.TOPICS_CHANGED)), topics=two_topics),
    "topic-by-pattern": Plot(
        tell=tales.tell_topic,
        says=say(Said(Cause.TOPICS_CHANGED)),
        topics=lambda group: (f"^{group}-.*",),
        limits=Limits((Name.RANGE, Name.COOPERATIVE, Name.CONSUMER)),
    ),
    "static-return": Plot(tell=tales.tell_static_return, says=say(Said(Cause.STATIC_RETURN, "b", "a", Phase.REVOKING))),
    "leader-rejoin": Plot(
        tell=tales.tell_leader_rejoin,
        says=say(Said(Cause.LEADER_REJOINED, "a", "b", Phase.REVOKING)),
        limits=Limits((Name.PYTHON,)),
    ),
    "deployment": Plot(tell=tales.tell_deployment, says=say(Said(Cause.DEPLOY_WAVE, "ab"))),
    "convert-order": Plot(
        tell=tales.tell_conversion_by_order, says=say(Said(Cause.OPERATOR)), limits=Limits(CLASSIC, ("embedded",))
    ),
    "remove-order": Plot(tell=tales.tell_removal, says=say(Said(Cause.OPERATOR, "b"))),
    "bridge-restart": Plot(tell=tales.tell_restart, says=say(Said(Cause.JOIN, "c"))),
    "coordinator-move": Plot(tell=tales.tell_coordinator_move, says=say(Said(Cause.JOIN, "c"))),
    "first-consumer": Plot(
        tell=tales.tell_conversion_by_join,
        says=say(Said(Cause.JOIN, "c", "a", Phase.REVOKING)),
        limits=Limits(CLASSIC, new_on_pass=True),
    ),
    "slow-revoke": Plot(tell=tales.tell_slow_revoke, says=say(Said(Cause.JOIN, "c", "b", Phase.REVOKING))),
    "slow-processing": Plot(tell=tales.tell_slow_processing, says=say(Said(Cause.JOIN, "c", "b", Phase.REVOKING))),
    "frozen": Plot(tell=tales.tell_frozen, says=say(Said(Cause.JOIN, "c", "b"))),
    "double-join": Plot(tell=tales.tell_double_join, says=say(Said(Cause.JOIN, "cd", "a", Phase.REVOKING))),
    "overlap": Plot(tell=tales.tell_overlap, says=say(Said(Cause.JOIN, "c", "a"))),
}
