"""The compiled writer: what it refuses, and which tags it sends."""

import pytest

from bridge.wire.codec.schema import parse_message
from bridge.wire.codec.writer import compile_writer

THING = parse_message("""{
  "apiKey": 99, "type": "request", "name": "ThingRequest", "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "Id", "type": "int16", "versions": "0+" },
    { "name": "Name", "type": "string", "versions": "0+", "nullableVersions": "1+" },
    { "name": "Late", "type": "int32", "versions": "1+", "taggedVersions": "1+", "tag": 5, "default": "-1" },
    { "name": "Many", "type": "[]uuid", "versions": "1+", "taggedVersions": "1+", "tag": 2 }
  ]
}""")
VALUES: dict[str, object] = {"id": 1, "name": "n", "late": -1, "many": []}


def written(version: int, values: dict[str, object]) -> bytes:
    """The bytes of a message."""
    out = bytearray()
    compile_writer(THING, version)(out, values)
    return bytes(out)


def test_field_of_another_version_is_ignored() -> None:
    """A mapping gives all it has."""
    assert written(0, VALUES) == b"\0\1\0\1n"


def test_default_tags_are_not_sent_and_others_go_in_order() -> None:
    """As Kafka's own writers do."""
    assert written(1, VALUES) == b"\0\1\2n\0"
    topic_id = bytes(range(16))
    assert written(1, {**VALUES, "late": 7, "many": [topic_id]}) == (
        b"\0\1\2n\2" + b"\2\x11\2" + topic_id + b"\5\4\0\0\0\7"
    )


def test_missing_field_is_a_bug_that_shows() -> None:
    """Typos can't hide as defaults."""
    with pytest.raises(KeyError, match="name"):
        written(1, {"id": 1, "late": -1, "many": []})


def test_null_where_none_may_be_is_refused() -> None:
    """The version decides."""
    assert written(1, {**VALUES, "name": None}) == b"\0\1\0\0"
    with pytest.raises(ValueError, match="name is null"):
        written(0, {**VALUES, "name": None})


def test_string_that_no_reader_would_take_is_refused() -> None:
    """32,767 bytes at most, in both forms."""
    assert len(written(1, {**VALUES, "name": "x" * 32_767})) == 2 + 3 + 32_767 + 1
    with pytest.raises(ValueError, match="32768 bytes"):
        written(1, {**VALUES, "name": "x" * 32_768})
