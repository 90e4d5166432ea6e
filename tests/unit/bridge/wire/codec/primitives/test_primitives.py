"""Lengths, varints, strings and bytes: both forms, and every way to lie."""

import pytest

from bridge.wire.codec.primitives import (
    MAX_STRING_BYTES,
    Fault,
    bytes_reader,
    compact_size_bytes,
    fault_of_cut,
    int16_size_bytes,
    int32_size_bytes,
    read_compact_size,
    read_int16_size,
    read_int32_size,
    read_uvarint,
    string_reader,
    uvarint_bytes,
)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16_383, 16_384, 2**31 - 1])
def test_varint_reads_as_written(value: int) -> None:
    """Seven bits a byte, lowest first."""
    written = uvarint_bytes(value)
    assert read_uvarint(b"x" + written, 1) == (value, 1 + len(written))


@pytest.mark.parametrize("raw", [b"", b"\x80", b"\xff\xff\xff\xff", b"\xff" * 5 + b"\x01"])
def test_varint_without_end_is_a_fault(raw: bytes) -> None:
    """Five bytes at most."""
    with pytest.raises(Fault):
        read_uvarint(raw, 0)


def test_sizes_read_as_written() -> None:
    """-1 is null in every form."""
    for size in (-1, 0, 5, 300):
        assert read_compact_size(compact_size_bytes(size), 0)[0] == size
        assert read_int16_size(int16_size_bytes(size), 0) == (size, 2)
        assert read_int32_size(int32_size_bytes(size), 0) == (size, 4)


def test_size_below_null_is_a_fault() -> None:
    """Only -1 has a meaning."""
    with pytest.raises(Fault, match="length -2 is negative"):
        read_int16_size(b"\xff\xfe", 0)
    with pytest.raises(Fault, match="4 bytes wanted, 3 left"):
        read_int32_size(b"\0\0\0", 0)


@pytest.mark.parametrize(("compact", "raw"), [(False, b"\0\3\xc3\xa9!"), (True, b"\4\xc3\xa9!")])
def test_string_reads_in_both_forms(compact: bool, raw: bytes) -> None:
    """UTF-8."""
    assert string_reader(compact=compact, nullable=False)(raw, 0) == ("é!", len(raw))


@pytest.mark.parametrize(("compact", "raw"), [(False, b"\xff\xff"), (True, b"\0")])
def test_null_string_is_none_or_a_fault(compact: bool, raw: bytes) -> None:
    """kafka-python lets a null pass where none may be."""
    assert string_reader(compact=compact, nullable=True)(raw, 0) == (None, len(raw))
    with pytest.raises(Fault, match="null"):
        string_reader(compact=compact, nullable=False)(raw, 0)


def test_string_that_is_no_utf8_is_a_fault_at_the_byte() -> None:
    """The offset is the bad byte's."""
    with pytest.raises(Fault) as caught:
        string_reader(compact=True, nullable=False)(b"\4ab\xff", 0)
    assert caught.value.offset == 3


def test_string_longer_than_kafka_allows_is_a_fault() -> None:
    """A group id of 300 kB in a compact string is refused, although its bytes are there."""
    raw = compact_size_bytes(300_000) + b"g" * 300_000
    with pytest.raises(Fault, match=f"300000 bytes, more than {MAX_STRING_BYTES}"):
        string_reader(compact=True, nullable=False)(raw, 0)


@pytest.mark.parametrize(("compact", "raw"), [(False, b"\0\0\0\2ab"), (True, b"\3ab")])
def test_bytes_read_in_both_forms(compact: bool, raw: bytes) -> None:
    """And a cut is never shortened silently."""
    read = bytes_reader(compact=compact, nullable=False)
    assert read(raw, 0) == (b"ab", len(raw))
    with pytest.raises(Fault, match="2 bytes wanted, 1 left"):
        read(raw[:-1], 0)


def test_null_bytes_are_none_or_a_fault() -> None:
    """As strings."""
    assert bytes_reader(compact=True, nullable=True)(b"\0", 0) == (None, 1)
    with pytest.raises(Fault, match="null"):
        bytes_reader(compact=False, nullable=False)(b"\xff\xff\xff\xff", 0)


def test_fault_names_its_path_from_the_outside_in() -> None:
    """Readers append while the fault rises."""
    fault = fault_of_cut(b"abc", 1, 4)
    fault.path.extend(["metadata", "[3]", "partitions", "[0]", "topics"])
    assert (fault.offset, fault.reason) == (1, "4 bytes wanted, 2 left")
    assert fault.field() == "topics[0].partitions[3].metadata"
