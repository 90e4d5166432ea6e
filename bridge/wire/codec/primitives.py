"""Strings, bytes, lengths and varints of Kafka's wire format, in the old form and the compact one (KIP-482).

A request's bytes carry an allowance: how many elements may be read from them, so that few bytes don't become much
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct

from bridge.wire.packing import INT16, INT32

Read = Callable[[bytes, int], tuple[object, int]]
"""Reads a value at a position and returns it with the position behind it; raises `Fault`."""
ReadSize = Callable[[bytes, int], tuple[int, int]]
"""Reads a length: -1 for null, never less."""

MAX_STRING_BYTES = 32767
"""The longest string in either form (`MessageUtil`: the compact form may not hold more than the old one can)."""
_MAX_UVARINT_BYTES = 5


class Fault(Exception):
    """Bytes that can't be right, at `offset`; `path` is filled from the inside out while it rises."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset = offset
        self.reason = reason
        self.path: list[str] = []

    def field(self) -> str:
        """The path of the field: `topics[0].partitions[3].metadata`."""
        return ".".join(reversed(self.path)).replace(".[", "[")


def fault_of_cut(buf: bytes, at: int, wanted: int) -> Fault:
    """The fault of a value that needs more bytes than there are."""
    return Fault(at, f"{wanted} bytes wanted, {len(buf) - at} left")


def read_uvarint(buf: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes."""
    value = 0
    for index in range(_MAX_UVARINT_BYTES):
        if at + index >= len(buf):
            raise Fault(at, "the bytes end inside a varint")
        byte = buf[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise Fault(at, f"a varint of more than {_MAX_UVARINT_BYTES} bytes")


def read_compact_size(buf: bytes, at: int) -> tuple[int, int]:
    """Read a length that is sent plus one, so that 0 means null."""
    if at < len(buf) and (byte := buf[at]) < 0x80:
        return byte - 1, at + 1
    size, end = read_uvarint(buf, at)
    return size - 1, end


def read_int16_size(buf: bytes, at: int) -> tuple[int, int]:
    """Read the length of a string in the old form."""
    return _read_size(INT16, buf, at)


def read_int32_size(buf: bytes, at: int) -> tuple[int, int]:
    """Read the length of bytes or of an array in the old form."""
    return _read_size(INT32, buf, at)


def _read_size(form: Struct, buf: bytes, at: int) -> tuple[int, int]:
    end = at + form.size
    if end > len(buf):
        raise fault_of_cut(buf, at, form.size)
    size: int = form.unpack_from(buf, at)[0]
    if size < -1:
        raise Fault(at, f"length {size} is negative")
    return size, end


def string_reader(*, compact: bool, nullable: bool) -> Read:
    """Make the reader of a string."""
    read_size: ReadSize = read_compact_size if compact else read_int16_size

    def read_string(buf: bytes, at: int) -> tuple[object, int]:
        size, start = read_size(buf, at)
        if size < 0:
            _refuse_null(at, nullable=nullable)
            return None, start
        end = start + size
        if size > MAX_STRING_BYTES:
            raise Fault(at, f"a string of {size} bytes, more than {MAX_STRING_BYTES}")
        if end > len(buf):
            raise fault_of_cut(buf, start, size)
        try:
            return buf[start:end].decode(), end
        except UnicodeDecodeError as error:
            raise Fault(start + error.start, f"not UTF-8: {error.reason}") from error

    return read_string


def bytes_reader(*, compact: bool, nullable: bool) -> Read:
    """Make the reader of bytes."""
    read_size: ReadSize = read_compact_size if compact else read_int32_size

    def read_bytes(buf: bytes, at: int) -> tuple[object, int]:
        size, start = read_size(buf, at)
        if size < 0:
            _refuse_null(at, nullable=nullable)
            return None, start
        end = start + size
        if end > len(buf):
            raise fault_of_cut(buf, start, size)
        return buf[start:end], end

    return read_bytes


def _refuse_null(at: int, *, nullable: bool) -> None:
    if not nullable:
        raise Fault(at, "null, which it may not be")


def uvarint_bytes(value: int) -> bytes:
    """Write an unsigned varint."""
    if value < 0x80:
        return bytes((value,))
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def compact_size_bytes(size: int) -> bytes:
    """Write a length plus one; -1 is null."""
    return uvarint_bytes(size + 1)


def int16_size_bytes(size: int) -> bytes:
    """Write the length of a string in the old form; -1 is null."""
    return INT16.pack(size)


def int32_size_bytes(size: int) -> bytes:
    """Write the length of bytes or of an array in the old form; -1 is null."""
    return INT32.pack(size)


FREE_STRUCTS = 160
STRUCT_BYTES = 8
"""How many bytes a struct takes on average, beyond the first few: no client sends smaller ones in numbers."""


class TooMany(Fault):
    """More elements than are read of one request."""


@dataclass(slots=True)
class Allowance:
    """What is left: elements of arrays of any kind, and structs among them."""

    elements: int
    structs: int

    def take(self, count: int, at: int, *, are_structs: bool) -> None:
        """An array of `count` elements begins at `at`; raises TooMany before any of it is read."""
        self.elements -= count
        if self.elements < 0:
            raise TooMany(at, f"{count} elements, {-self.elements} more than are read of one request")
        if are_structs:
            self.structs -= count
            if self.structs < 0:
                raise TooMany(at, f"{count} structs, of fewer than {STRUCT_BYTES} bytes each on average")


class AllowedBytes(bytes):
    """A body with its allowance; readers that meet plain bytes read all there is."""

    allowance: Allowance


def allow(body: bytes | bytearray | memoryview, elements_max: int) -> AllowedBytes:
    """A copy of a body of which at most that many elements are read, and of small structs as many as it has room for.

    Measured, a decoded element takes at most 400 bytes, and what is read at most 48 times the body and 64 KiB.
    """
    allowed = AllowedBytes(body)
    allowed.allowance = Allowance(elements_max, FREE_STRUCTS + len(allowed) // STRUCT_BYTES)
    return allowed


def part_of(buf: bytes, start: int, end: int) -> bytes:
    """Some of a body's bytes, drawing on the same allowance."""
    if not isinstance(buf, AllowedBytes):
        return buf[start:end]
    part = AllowedBytes(buf[start:end])
    part.allowance = buf.allowance
    return part
