"""The one door: events of one rebalance, and those shortly before, become its explanation."""

from collections.abc import Iterable, Sequence

from bridge.telemetry.cause.context import context_of
from bridge.telemetry.cause.rules import find_cause, members_behind
from bridge.telemetry.cause.sentences import Introduced, tell
from bridge.telemetry.cause.waits import find_critical
from bridge.telemetry.schema.facts import Event, MemberInputs, RebalanceExplained
from bridge.telemetry.schema.terms import Cause


def nobody(_member_id: str) -> None:
    """Nothing more is known of any member."""


def explain(events: Sequence[Event], introduced: Introduced = nobody) -> RebalanceExplained | None:
    """What the last rebalance among the events comes to, None if there is none.

    `events` are one group's, in the order in which they were told: its last before the rebalance (events that concern
    no group, such as changed topics, among them), then those of the rebalance. `introduced` says what members told
    about themselves that is not in the events.
    """
    context = context_of(events)
    if context is None:
        return None
    told = introductions(events)
    finding, fact = find_cause(context), context.fact
    critical = find_critical(context, members_behind(finding) if finding.cause is Cause.SESSION_EXPIRED else ())
    return RebalanceExplained(
        group_id=fact.group_id,
        road=fact.road,
        rebalance_id=fact.rebalance_id,
        group_epoch=context.group_epoch,
        cause=finding.cause,
        caused_by=members_behind(finding),
        evidence=tuple(event.stamp.event_id for event in finding.evidence),
        critical_member="" if critical is None else critical.member_id,
        critical_phase=None if critical is None else critical.phase,
        waited_us=0 if critical is None else critical.waited_us,
        sentence=tell(context, finding, critical, lambda member_id: told.get(member_id) or introduced(member_id)),
    )


def introductions(events: Iterable[Event]) -> dict[str, MemberInputs]:
    """What members told about themselves last, by member id."""
    return {event.fact.member_id: event.fact for event in events if isinstance(event.fact, MemberInputs)}
