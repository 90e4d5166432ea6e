"""The bridge in front of a real Kafka answers as Kafka itself did, step by step, but where it differs on purpose."""

import pytest

from tests.conformance.wire.conftest import Player
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance.deviations import deviations_of
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import NEWEST, Scenario
from tests.support.conformance.transcripts import Difference, differences, load

ALL = [pytest.param(theme, one, id=one.name) for theme, scenarios in THEMES.items() for one in scenarios]


def written(found: dict[Difference, tuple[Value, Value]]) -> list[str]:
    """Differences as lines."""
    return [f"step {step} {path}: {kafka!r} -> {ours!r}" for (step, path), (kafka, ours) in found.items()]


@pytest.mark.parametrize(("theme", "scenario"), ALL)
def test_scenario_is_answered_as_by_kafka(theme: str, scenario: Scenario, through_bridge: Player) -> None:
    """Every rule that the scenario cites; a deviation that is no more there fails as well as a new one."""
    kafka = load(NEWEST, theme)[scenario.name]
    found = differences(scenario, kafka, through_bridge(scenario))
    assert written(found) == written(deviations_of(scenario.name))
