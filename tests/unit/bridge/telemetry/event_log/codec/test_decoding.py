"""Every event comes back from its line as it was; what is none comes back with the reason."""

import json

import pytest

from bridge.telemetry.event_log.codec import Flaw, Rejected, decode_line, encode_event
from bridge.telemetry.schema.facts import BridgeStopped, Event, Fact, GroupDeleted, Stamp
from bridge.telemetry.schema.fields import SCHEMA_VERSION
from bridge.telemetry.schema.terms import Road
from tests.support.sample_facts import sample_facts

STAMP = Stamp(boot="7f", number=3, wall_us=5, mono_us=42)
LINE = encode_event(Event(STAMP, GroupDeleted(group_id="g", road=Road.PASSING)))


def _changed(**values: object) -> bytes:
    return json.dumps(json.loads(LINE) | values).encode()


@pytest.mark.parametrize("fact", list(sample_facts()), ids=lambda fact: fact.kind)
def test_every_kind_comes_back_as_it_was(fact: Fact) -> None:
    """Decoding is the inverse of encoding, for every fact with every field filled."""
    assert decode_line(encode_event(Event(STAMP, fact))) == Event(STAMP, fact)


@pytest.mark.parametrize("cut", range(1, len(LINE) - 1))
def test_line_cut_anywhere_is_truncated(cut: int) -> None:
    """A torn line is known as one."""
    found = decode_line(LINE[:cut])
    assert isinstance(found, Rejected)
    assert found.flaw is Flaw.TRUNCATED


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "no JSON object"),
        (b"2026-11-21 INFO started", "no JSON object"),
        (b"\xff\xfe\x00", "no JSON object"),
        (b"[1, 2]", "a JSON list, not an object"),
        (b'{"level": "info"}', "schema_version is None"),
        (_changed(schema_version=True), "schema_version is True"),
        (_changed(kind="lunch-began"), "unknown kind 'lunch-began'"),
        (_changed(event_id="7f-4"), "event_id is '7f-4', boot and number say 7f-3"),
        (_changed(number="3"), "'3' is no whole number"),
        (_changed(road="high-street"), "group-deleted.road: 'high-street' is none of pass, embedded, upstream"),
        (_changed(group_id=["g"]), "group-deleted.group_id: ['g'] is no text"),
        (_changed(colour="red"), "group-deleted: missing [], unknown ['colour']"),
        (_changed(group_epoch=1.5), "group-deleted.group_epoch: 1.5 is no whole number"),
    ],
)
def test_foreign_line_is_rejected_with_what_was_seen(line: bytes, reason: str) -> None:
    """Whoever looks at a rejected line learns what is wrong with it."""
    found = decode_line(line)
    assert isinstance(found, Rejected)
    assert (found.flaw, found.reason[: len(reason)]) == (Flaw.FOREIGN, reason)


def test_newer_schema_is_rejected_as_such() -> None:
    """What a later bridge wrote is not guessed at."""
    assert decode_line(_changed(schema_version=SCHEMA_VERSION + 1)) == Rejected(
        Flaw.NEWER_SCHEMA, f"schema version {SCHEMA_VERSION + 1}; this bridge reads up to {SCHEMA_VERSION}"
    )


def test_flag_and_list_of_other_types_are_foreign() -> None:
    """Each column has one type."""
    stopped = json.loads(encode_event(Event(STAMP, BridgeStopped(reason="x"))))
    started = stopped | {"kind": "bridge-started", "bridge_version": "1", "is_revived": 1}
    del started["reason"]
    assert decode_line(json.dumps(started).encode()) == Rejected(
        Flaw.FOREIGN, "bridge-started.is_revived: 1 is neither true nor false"
    )
    changed = stopped | {"kind": "topics-changed", "topics": "t", "partition_counts": [1]}
    del changed["reason"]
    assert decode_line(json.dumps(changed).encode()) == Rejected(Flaw.FOREIGN, "topics-changed.topics: 't' is no list")
