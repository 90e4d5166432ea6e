"""A line knows which group it is about."""

from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.schema.facts import BridgeStopped, Event, GroupDeleted, Stamp
from bridge.telemetry.schema.terms import Road


def test_line_names_its_group_or_none() -> None:
    """Events of a group stay in order by that name."""
    stamp = Stamp("7f", 1, 2, 3)
    assert Line(Event(stamp, GroupDeleted(group_id="g", road=Road.PASSING)), b"").group_id == "g"
    assert Line(Event(stamp, BridgeStopped(reason="x")), b"").group_id == ""
