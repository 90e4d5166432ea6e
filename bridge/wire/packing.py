"""Writing Kafka's primitive types by hand, plain or compact."""

from collections.abc import Mapping
from struct import Struct

INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")

NO_TAGS = b"\x00"


def uvarint(value: int) -> bytes:
    """An unsigned varint, least significant group of seven bits first."""
    if value < 0x80:
        return value.to_bytes(1, "big")
    groups = bytearray()
    while value >= 0x80:
        groups.append((value & 0x7F) | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def nullable_string(value: str | None, *, flexible: bool) -> bytes:
    """A string with its length before it, compact in flexible versions; None is null."""
    if value is None:
        return b"\x00" if flexible else b"\xff\xff"
    encoded = value.encode()
    return (uvarint(len(encoded) + 1) if flexible else INT16.pack(len(encoded))) + encoded


def array_length(count: int, *, flexible: bool) -> bytes:
    """The number of elements that follow; -1 for a null array."""
    return uvarint(count + 1) if flexible else INT32.pack(count)


def tag_section(fields: Mapping[int, bytes]) -> bytes:
    """A tag section (KIP-482): number of tags, then tag, size and bytes of each in order of tags."""
    parts = [uvarint(len(fields))]
    for tag in sorted(fields):
        parts += (uvarint(tag), uvarint(len(fields[tag])), fields[tag])
    return b"".join(parts)
