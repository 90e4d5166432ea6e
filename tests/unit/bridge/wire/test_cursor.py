"""Reading primitive types by hand."""

import pytest

from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame


def _cursor(data: bytes, *, flexible: bool = False, offset: int = 0) -> Cursor:
    return Cursor(data, offset, "METADATA", 9, flexible=flexible)


def test_numbers_are_signed_big_endian_and_move_on() -> None:
    """The primitive types of Kafka's protocol guide."""
    cursor = _cursor(b"\xff" + b"\xff\xfe" + b"\x00\x00\x00\x03" + b"\xff" * 7 + b"\xfc")
    assert [cursor.int8("a"), cursor.int16("b"), cursor.int32("c"), cursor.int64("d")] == [-1, -2, 3, -4]
    cursor.expect_end()


def test_strings_are_plain_or_compact() -> None:
    """KIP-482: length plus one as a varint, zero for null."""
    assert _cursor(b"\x00\x02hi").nullable_string("x") == "hi"
    assert _cursor(b"\xff\xff").nullable_string("x") is None
    assert _cursor(b"\x03hi", flexible=True).nullable_string("x") == "hi"
    assert _cursor(b"\x00", flexible=True).nullable_string("x") is None
    assert _cursor(memoryview(b"\x00\x02hi").tobytes()).string("x") == "hi"


def test_skips_end_where_reads_end() -> None:
    """Strings, bytes, arrays of equal items and tags."""
    plain = _cursor(b"\xff\xff" + b"\x00\x01x" + b"\x00\x00\x00\x02yy" + b"\x00\x00\x00\x02aabb")
    plain.skip_string("a")
    plain.skip_string("b")
    plain.skip_bytes("c")
    plain.skip_array(2, "d")
    plain.skip_tags()
    plain.expect_end()
    compact = _cursor(b"\x00" + b"\x02x" + b"\x03yy" + b"\x03aabb" + b"\x01\x05\x02zz", flexible=True)
    compact.skip_string("a")
    compact.skip_string("b")
    compact.skip_bytes("c")
    compact.skip_array(2, "d")
    compact.skip_tags()
    compact.expect_end()


def test_longest_string_is_read() -> None:
    """32,767 bytes in either form; one more is refused (below)."""
    text = "x" * 32_767
    assert _cursor(b"\x7f\xff" + text.encode()).string("x") == text
    assert _cursor(b"\x80\x80\x02" + text.encode(), flexible=True).string("x") == text


def test_null_array_counts_as_empty() -> None:
    """Minus one, or zero in the compact form."""
    assert _cursor(b"\xff\xff\xff\xff").array_length("x") == 0
    assert _cursor(b"\x00", flexible=True).array_length("x") == 0


@pytest.mark.parametrize(
    ("data", "flexible", "method"),
    [
        (b"\x00", False, "int16"),
        (b"\x00\x00\x00", False, "int32"),
        (b"", False, "int8"),
        (b"\x00" * 7, False, "int64"),
        (b"\x00\x05abc", False, "string"),
        (b"\xff\xff", False, "string"),
        (b"\xff\xfe", False, "nullable_string"),
        (b"\x00\x01\xff", False, "string"),
        (b"\x81\x80\x02" + b"x" * 32_768, True, "string"),
        (b"\x81\x80\x02" + b"x" * 32_768, True, "skip_string"),
        (b"\x00", True, "string"),
        (b"\xff\xff\xff\xff\xff\x01", True, "uvarint"),
        (b"\x80", True, "uvarint"),
        (b"\x7f\xff\xff\xff", False, "array_length"),
        (b"\xff\xff\xff\xfe", False, "array_length"),
        (b"\xff\xff\xff\xff\x0f", True, "array_length"),
        (b"\xff\xff\xff\xfe", False, "skip_bytes"),
        (b"\x00\x00\x00\x09abc", False, "skip_bytes"),
        (b"\x01\x00\x09abc", True, "skip_tags"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, flexible: bool, method: str) -> None:
    """Never a shorter value, never another exception."""
    with pytest.raises(MalformedFrame) as caught:
        getattr(_cursor(data, flexible=flexible), method)("the_field")
    assert (caught.value.api, caught.value.version, caught.value.field) == ("METADATA", 9, "the_field")


def test_leftover_bytes_are_refused_with_their_place() -> None:
    """A frame holds its message and nothing else."""
    cursor = _cursor(b"\x00\x01\x02", offset=1)
    with pytest.raises(MalformedFrame, match="byte 1: 2 bytes too many"):
        cursor.expect_end()
