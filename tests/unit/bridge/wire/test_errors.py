"""What people read about bad bytes."""

from bridge.wire.errors import UNKNOWN_API, UNKNOWN_VERSION, MalformedFrame


def test_message_names_api_version_field_offset_and_value() -> None:
    """One line is enough to find the byte."""
    error = MalformedFrame("JOIN_GROUP", 5, "group_id", 24, "length 300 runs over the end")
    assert str(error) == (
        "EB-WIRE-001: malformed frame: JOIN_GROUP v5, field group_id, byte 24: length 300 runs over the end"
    )
    assert (error.api, error.version, error.field, error.offset) == ("JOIN_GROUP", 5, "group_id", 24)


def test_unread_header_leaves_the_version_out() -> None:
    """Before the header is read there is no version to name."""
    error = MalformedFrame(UNKNOWN_API, UNKNOWN_VERSION, "length", 0, "too long")
    assert str(error) == "EB-WIRE-001: malformed frame: unknown, field length, byte 0: too long"
