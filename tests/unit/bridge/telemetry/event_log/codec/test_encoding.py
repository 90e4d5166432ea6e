"""An event is one line of JSON that says what it is by itself."""

import json

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import BridgeStopped, Event, GroupDeleted, MemberRevived, Stamp
from bridge.telemetry.schema.fields import SCHEMA_VERSION
from bridge.telemetry.schema.terms import Protocol, Road

STAMP = Stamp(boot="7f", number=3, wall_us=1_700_000_000_000_000, mono_us=42)


def test_event_is_one_line_of_stamp_and_fact() -> None:
    """Stamp first, then the fact's fields by their names."""
    line = encode_event(Event(STAMP, BridgeStopped(reason="SIGTERM\nor so")))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "schema_version": SCHEMA_VERSION,
        "event_id": "7f-3",
        "kind": "bridge-stopped",
        "boot": "7f",
        "number": 3,
        "wall_us": 1_700_000_000_000_000,
        "mono_us": 42,
        "reason": "SIGTERM\nor so",
    }


def test_none_is_left_out_and_empty_is_not() -> None:
    """Null means that nothing was said, an empty list that nothing was in it."""
    fact = MemberRevived(
        group_id="g",
        road=Road.EMBEDDED,
        member_id="m",
        protocol=Protocol.CLASSIC,
        client_id="c",
        client_host="h",
        session_timeout_ms=1,
        rebalance_timeout_ms=2,
    )
    document = json.loads(encode_event(Event(STAMP, fact)))
    assert {"instance_id", "rack_id", "pattern", "owned"} & document.keys() == set()
    assert (document["topics"], document["library"], document["group_epoch"]) == ([], "", -1)


def test_text_that_is_no_unicode_is_written_all_the_same() -> None:
    """Half a surrogate pair in a client's name does not stop the log."""
    document = json.loads(encode_event(Event(STAMP, GroupDeleted(group_id="a\ud800b", road=Road.PASSING))))
    assert document["group_id"] == "a?b"
