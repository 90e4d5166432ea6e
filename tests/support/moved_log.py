"""The event log of a group that rebalanced, was moved, and then lost a member."""

from bridge.telemetry.schema.facts import CommitPassed, Event, Fact, MemberLeft, OperatorActed, Stamp
from bridge.telemetry.schema.terms import Departure, OperatorAction, Protocol, Road
from tests.support.event_stories import cooperative_handover

AFTER_US = 10_000_000


def moved_log() -> tuple[Event, ...]:
    """The events in their order."""
    events = tuple(cooperative_handover().events)
    last = events[-1].stamp
    facts: tuple[Fact, ...] = (
        OperatorActed(group_id="orders", action=OperatorAction.MOVE),
        CommitPassed(
            group_id="orders",
            road=Road.EMBEDDED,
            member_id="c1",
            protocol=Protocol.CONSUMER,
            partitions=("orders-1",),
            is_on_revoke=False,
            error="ILLEGAL_GENERATION",
        ),
        MemberLeft(
            group_id="orders",
            road=Road.EMBEDDED,
            member_id="c1",
            protocol=Protocol.CONSUMER,
            departure=Departure.SESSION_EXPIRED,
        ),
    )
    return (*events, *(_later(last, step, fact) for step, fact in enumerate(facts, 1)))


def _later(last: Stamp, step: int, fact: Fact) -> Event:
    """So many steps of ten seconds after the last event."""
    later_us = step * AFTER_US
    return Event(Stamp(last.boot, last.number + step, last.wall_us + later_us, last.mono_us + later_us), fact)
