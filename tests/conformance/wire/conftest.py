"""The scenarios played through a bridge in front of a real broker, once for each profile, all of a profile side by side.

It knows which scenarios were chosen for this run, and must not know what their answers should be.
"""

from collections.abc import Callable
from functools import cache

import pytest

from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.bridge_process import BridgeProcessError, bridge_process
from tests.support.conformance.ground import make_topics, play_all
from tests.support.conformance.steps import Scenario, settings_of
from tests.support.conformance.transcripts import Answers
from tests.support.kafka import KafkaUnderTest

Player = Callable[[Scenario], Answers]
BRIDGE_SETTINGS = {
    "journal": "memory",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "500",
    "embedded.initial.group.type": "classic",
}


@pytest.fixture(scope="session")
def through_bridge(
    kafka_43: KafkaUnderTest, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Player:
    """Return what the bridge answered to a scenario; the first of a profile plays all that were chosen."""
    items = [item for item in request.session.items if "scenario" in getattr(item, "fixturenames", ())]
    chosen = {one.name for item in items if (one := _scenario_of(item)) is not None}
    make_topics(kafka_43.bootstrap)

    @cache
    def play_profile(profile: str) -> dict[str, Answers] | BaseException:
        try:
            return play(profile)
        except (BridgeProcessError, OSError, TimeoutError) as fault:
            return fault

    def play(profile: str) -> dict[str, Answers]:
        scenarios = [one for theme in THEMES.values() for one in theme if one.profile == profile and one.name in chosen]
        settings = {**BRIDGE_SETTINGS, **settings_of(profile)}
        with bridge_process(kafka_43.bootstrap, ("wire-*",), tmp_path_factory.mktemp(profile), settings) as bridge:
            return dict(play_all(bridge.bootstrap, scenarios))

    def answers(scenario: Scenario) -> Answers:
        played = play_profile(scenario.profile)
        if isinstance(played, BaseException):
            raise played
        return played[scenario.name]

    return answers


def _scenario_of(item: pytest.Item) -> Scenario | None:
    callspec = getattr(item, "callspec", None)
    value: object = callspec.params.get("scenario") if callspec is not None else None
    return value if isinstance(value, Scenario) else None
