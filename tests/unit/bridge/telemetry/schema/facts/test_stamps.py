"""An event's name is unique over runs of the bridge."""

from bridge.telemetry.schema.facts import Stamp


def test_event_id_names_run_and_position() -> None:
    """Two runs never share an event id."""
    assert Stamp(boot="7f3a", number=12, wall_us=1, mono_us=2).event_id == "7f3a-12"
