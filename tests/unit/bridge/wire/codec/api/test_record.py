"""Fields by type."""

import pytest

from bridge.wire.codec.api import Record

RECORD = Record(
    {
        "number": 1,
        "flag": True,
        "text": "a",
        "blob": b"b",
        "record": Record({"number": 2}),
        "records": [Record({"number": 3})],
        "texts": ["x"],
        "numbers": (4, 5),
        "null": None,
    }
)


def test_record_gives_fields_by_type() -> None:
    """Each accessor gives what was read."""
    assert RECORD.number("number") == 1
    assert RECORD.flag("flag") is True
    assert RECORD.text("text") == RECORD.nullable_text("text") == "a"
    assert RECORD.blob("blob") == b"b"
    assert RECORD.record("record") == RECORD.nullable_record("record") == Record({"number": 2})
    assert RECORD.records("records") == [Record({"number": 3})]
    assert RECORD.texts("texts") == ["x"]
    assert RECORD.numbers("numbers") == (4, 5)


def test_record_tells_null_from_empty() -> None:
    """Null arrays count as empty, and can be told apart."""
    assert RECORD.nullable_text("null") is None
    assert RECORD.nullable_record("null") is None
    assert [len(RECORD.records("null")), len(RECORD.texts("null")), len(RECORD.numbers("null"))] == [0, 0, 0]
    assert RECORD.is_null("null")
    assert not RECORD.is_null("texts")


def test_record_refuses_the_wrong_type() -> None:
    """A mapping that asks for the wrong type is a bug."""
    with pytest.raises(AssertionError):
        RECORD.number("text")
