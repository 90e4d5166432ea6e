"""`python -m tests.conformance.record [THEME ...]` plays the wire scenarios on real brokers and keeps what they answer.

It knows which versions and settings a scenario wants, and must not know what is expected.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance import transcripts
from tests.support.conformance.ground import make_topics, play_all
from tests.support.conformance.steps import BOTH, PROFILES, Scenario, settings_of
from tests.support.conformance.transcripts import Answers


def play_on_kafka(version: str, profile: str, scenarios: Sequence[Scenario]) -> dict[str, Answers]:
    """Start a broker, play, stop it."""
    settings = BrokerSettings(version=version, properties=settings_of(profile, version))
    with tempfile.TemporaryDirectory() as directory, start_broker(settings, directory=Path(directory)) as broker:
        make_topics(broker.bootstrap)
        return dict(play_all(broker.bootstrap, scenarios))


def record(version: str, themes: Sequence[str]) -> None:
    """Play all scenarios of these themes that want this version, a broker for each profile."""
    wanted = [one for theme in themes for one in THEMES[theme] if version in one.kafkas]
    answers: dict[str, Answers] = {}
    for profile in PROFILES:
        chosen = [one for one in wanted if one.profile == profile]
        if chosen:
            print(f"Kafka {version}, {profile}: {len(chosen)} scenarios", flush=True)
            answers |= play_on_kafka(version, profile, chosen)
    for theme in themes:
        kept = {one.name: answers[one.name] for one in THEMES[theme] if one.name in answers}
        if kept:
            transcripts.save(version, theme, kept)


if __name__ == "__main__":
    for kafka in BOTH:
        record(kafka, sys.argv[1:] or list(THEMES))
