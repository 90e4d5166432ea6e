"""All themes and their scenarios."""

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
    returning,
    seats,
    staying,
    timers,
    translated,
    twice,
    versions,
    views,
)
from tests.support.conformance.steps import Scenario

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
}
