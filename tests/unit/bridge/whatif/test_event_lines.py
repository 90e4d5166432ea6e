"""Lines of the event log without the libraries of the bridge."""

import json

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event, Stamp
from bridge.whatif.event_lines import read_event
from tests.support.sample_facts import sample_facts

STAMP = Stamp("b1", 7, 1_763_700_000_000_000, 42)
EVENTS = [Event(STAMP, fact) for fact in sample_facts()]


def test_event_written_and_read_is_the_same() -> None:
    """Every kind, every field."""
    assert [read_event(encode_event(event).decode()) for event in EVENTS] == EVENTS


def test_line_that_lacks_a_field_or_has_an_unknown_word_is_no_event() -> None:
    """The reader has judged kind and stamp; what else is missing costs that line only."""
    whole = json.loads(encode_event(next(event for event in EVENTS if event.fact.kind == "member-left")))
    lacking = {name: value for name, value in whole.items() if name != "departure"}
    strange = {**whole, "departure": "eloped"}
    assert [read_event(json.dumps(one)) for one in (lacking, strange)] == [None, None]


def test_field_of_a_newer_schema_is_passed_over() -> None:
    """Fields are only ever added."""
    event = EVENTS[0]
    newer = {**json.loads(encode_event(event)), "of_tomorrow": 1}
    assert read_event(json.dumps(newer)) == event
