"""Tests of the engine's settings: Kafka's defaults, and one group that differs."""

from dataclasses import replace

from bridge.engine.settings import EngineSettings, configured_settings
from tests.support.engine_bench import GROUP
from translators.dialects.ids import GroupId


def test_group_without_own_settings_has_everybodys() -> None:
    """K2.62: only the groups named differ."""
    own = EngineSettings(group_consumer_session_timeout_ms=50_000)
    both = EngineSettings(per_group={GROUP: own})
    assert (configured_settings(both, GROUP), configured_settings(both, GroupId("other"))) == (own, both)


def test_assignment_interval_is_zero() -> None:
    """The one default that is not Kafka 4.3's: nobody waits for an assignment."""
    assert EngineSettings() == replace(EngineSettings(), group_consumer_assignment_interval_ms=0)
