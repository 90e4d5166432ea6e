"""Bytes of a request, and how many elements may be read from them: few bytes must not become much memory."""

from dataclasses import dataclass

from bridge.wire.codec.primitives import Fault

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
