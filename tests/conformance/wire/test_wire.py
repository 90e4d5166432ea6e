"""The bridge in front of a real Kafka answers as Kafka itself did, step by step, but where it differs on purpose."""

from collections.abc import Iterator

import pytest

from tests.conformance.wire.conftest import Player
from tests.conformance.wire.scenarios.catalogue import THEMES, calls, is_translated_alone
from tests.support.conformance.deviations import BEGUN_AS_CONSUMER, deviations_of, without_leaders
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import NEWEST, Scenario
from tests.support.conformance.transcripts import Difference, differences, load

pytestmark = pytest.mark.timeout(1_200)
"""The first test of a profile plays all scenarios that are."""
NATIVE = {"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"}
BEGINS_AGAIN = ("an empty consumer group becomes a classic group", "empty groups change")
CLASSIC = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "TxnOffsetCommit"}


def is_begun_by_a_native(one: Scenario) -> bool:
    """Whether a group's kind is said by its first member, of KIP-848, and classic members come to it."""
    apis = calls(one)
    return apis[0] in NATIVE and bool(CLASSIC & set(apis)) and not one.name.startswith(BEGINS_AGAIN)


def cases() -> Iterator[object]:
    """Every scenario where groups begin classic, and where they do not those in which that makes no difference, and
    those of classic members that do not wait for each other."""
    for theme, scenarios in THEMES.items():
        for one in scenarios:
            yield pytest.param("classic", theme, one, id=one.name)
            if is_begun_by_a_native(one) or is_translated_alone(one):
                yield pytest.param("consumer", theme, one, id=f"{one.name}{BEGUN_AS_CONSUMER}")


def written(found: dict[Difference, tuple[Value, Value]]) -> list[str]:
    """Differences as lines."""
    return [f"step {step} {path}: {kafka!r} -> {ours!r}" for (step, path), (kafka, ours) in found.items()]


@pytest.mark.parametrize(("begins", "theme", "scenario"), list(cases()))
def test_scenario_is_answered_as_by_kafka(begins: str, theme: str, scenario: Scenario, through_bridge: Player) -> None:
    """Every rule that the scenario cites; a deviation that is no more there fails as well as a new one."""
    kafka = load(NEWEST, theme)[scenario.name]
    ours = through_bridge(scenario, begins)
    found = differences(scenario, kafka, ours)
    if begins == "consumer":
        found = without_leaders(found, kafka, ours)
    assert written(found) == written(deviations_of(scenario.name, begins))
