"""All themes and their scenarios, and which of them classic members play alone."""

from collections.abc import Mapping

from tests.conformance.wire.scenarios import (
    consumers,
    drawn,
    further,
    joining,
    limits,
    mixed,
    natives,
    offsets,
    one_name,
    repeated,
    returning,
    seats,
    staying,
    strange,
    timers,
    translated,
    twice,
    versions,
    views,
)
from tests.support.conformance.steps import Await, Call, Pause, Poll, Scenario

KIP_848 = {"ConsumerGroupHeartbeat", "ShareGroupHeartbeat"}
LONG_MS = 3_000

THEMES: Mapping[str, tuple[Scenario, ...]] = {
    "joining": joining.SCENARIOS,
    "staying": staying.SCENARIOS,
    "seats": seats.SCENARIOS,
    "offsets": offsets.SCENARIOS,
    "views": views.SCENARIOS,
    "consumers": (*consumers.SCENARIOS, *natives.SCENARIOS),
    "limits": limits.SCENARIOS,
    "mixed": mixed.SCENARIOS,
    "returning": returning.SCENARIOS,
    "further": further.SCENARIOS,
    "drawn": drawn.SCENARIOS,
    "versions": versions.SCENARIOS,
    "translated": translated.SCENARIOS,
    "timers": timers.SCENARIOS,
    "twice": twice.SCENARIOS,
    "one_name": one_name.SCENARIOS,
    "repeated": repeated.SCENARIOS,
    "strange": strange.SCENARIOS,
}


def calls(one: Scenario) -> list[str]:
    """The APIs that a scenario calls, in order."""
    steps = (step.call if isinstance(step, Poll) else step for step in one.steps)
    return [step.api for step in steps if isinstance(step, Call)]


SILENT_ALONE = {"a static member that comes back may be silent for longer than its own session until it beats"}
"""Scenarios in which the only member is silent for long, which is the same story in groups of either kind."""


def is_translated_alone(one: Scenario) -> bool:
    """Whether classic members come to a group that nobody waits in: what waits is another story where each is called
    for itself, and has scenarios of its own in groups that a KIP-848 member began."""
    if one.name in SILENT_ALONE:
        return True
    waits = any(
        isinstance(step, Await)
        or (isinstance(step, Call) and step.parked)
        or (isinstance(step, Pause) and step.ms > LONG_MS)
        for step in one.steps
    )
    apis = calls(one)
    return one.profile == "plain" and "JoinGroup" in apis and not KIP_848 & set(apis) and not waits
