"""Writing primitive types by hand."""

import pytest

from bridge.wire.cursor import Cursor
from bridge.wire.packing import array_length, nullable_string, tag_section, uvarint


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16_383, 16_384, (1 << 31) - 1, (1 << 32) - 1])
def test_varint_reads_back(value: int) -> None:
    """Seven bits a byte, least significant first (KIP-482)."""
    cursor = Cursor(uvarint(value), 0, "x", 0, flexible=True)
    assert cursor.uvarint("x") == value
    cursor.expect_end()


def test_varint_of_300_is_two_bytes() -> None:
    """The example everybody knows."""
    assert uvarint(300) == b"\xac\x02"


@pytest.mark.parametrize("flexible", [False, True])
def test_strings_and_lengths_read_back(flexible: bool) -> None:
    """Null, empty, short, and longer than one varint byte."""
    for value in (None, "", "höst", "x" * 200):
        cursor = Cursor(nullable_string(value, flexible=flexible), 0, "x", 0, flexible=flexible)
        assert cursor.nullable_string("x") == value
        cursor.expect_end()
    assert Cursor(array_length(3, flexible=flexible) + b"abc", 0, "x", 0, flexible=flexible).array_length("x") == 3
    assert Cursor(array_length(-1, flexible=flexible), 0, "x", 0, flexible=flexible).array_length("x") == 0


def test_tags_are_written_in_order() -> None:
    """KIP-482 asks for ascending tags."""
    assert tag_section({5: b"ab", 1: b""}) == b"\x02\x01\x00\x05\x02ab"
    assert tag_section({}) == b"\x00"
