"""The scenarios played through a bridge in front of a real broker, all of a profile side by side.

It knows which scenarios were chosen for this run, and must not know what their answers should be.
"""

from collections.abc import Callable, Mapping
from functools import cache

import pytest

from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.bridge_process import BridgeProcessError, bridge_process
from tests.support.conformance.ground import make_topics, play_all
from tests.support.conformance.steps import Scenario, settings_of
from tests.support.conformance.transcripts import Answers
from tests.support.kafka import KafkaUnderTest

Player = Callable[[Scenario, str], Answers]
"""Plays a scenario where groups begin as `classic` or as `consumer` groups."""
BRIDGE_SETTINGS = {
    "bridges.group": "off",
    "journal": "memory",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "500",
    "departure.wait.ms": "0",
}

GLOBS = {"everywhere": "*"}
"""What the bridge takes where that is not the scenarios' own groups: with everything also a group without a name."""
BRIDGE_PROFILES = {"newest": {"wire.node-endpoints": "rewrite"}}
"""What only the bridge is told: TxnOffsetCommit 5 belongs to transactions whose Produce names addresses (KIP-951)."""


@pytest.fixture(scope="session")
def through_bridge(
    kafka_43: KafkaUnderTest, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Player:
    """Return what the bridge answered to a scenario; the first of a profile plays all that were chosen."""
    chosen = {_chosen_by(item) for item in request.session.items if "scenario" in getattr(item, "fixturenames", ())}
    make_topics(kafka_43.bootstrap)

    @cache
    def play_profile(profile: str, begins: str) -> dict[str, Answers] | BaseException:
        try:
            return play(profile, begins)
        except (BridgeProcessError, OSError, TimeoutError) as fault:
            return fault

    def play(profile: str, begins: str) -> dict[str, Answers]:
        wanted = (one for theme in THEMES.values() for one in theme if one.profile == profile)
        scenarios = [one for one in wanted if (one.name, begins) in chosen]
        shared = {**BRIDGE_SETTINGS, **BRIDGE_PROFILES.get(profile, {}), **settings_of(profile)}
        settings = {**shared, "embedded.initial.group.type": begins}
        directory = tmp_path_factory.mktemp(f"{profile}-{begins}")
        with bridge_process(kafka_43.bootstrap, (GLOBS.get(profile, "wire-*"),), directory, settings) as bridge:
            return dict(play_all(bridge.bootstrap, scenarios))

    def answers(scenario: Scenario, begins: str) -> Answers:
        played = play_profile(scenario.profile, begins)
        if isinstance(played, BaseException):
            raise played
        return played[scenario.name]

    return answers


def _chosen_by(item: pytest.Item) -> tuple[str, str]:
    callspec = getattr(item, "callspec", None)
    params: Mapping[str, object] = callspec.params if callspec is not None else {}
    scenario = params.get("scenario")
    return (scenario.name if isinstance(scenario, Scenario) else "", str(params.get("begins")))
