"""The entries of one append as one block of bytes, with a checksum over its place and content.

It must not know what entries mean, nor where blocks are kept.
"""

from collections.abc import Collection, Iterator
from struct import Struct, error
from zlib import crc32

_LENGTH = Struct(">I")
_PLACE = Struct(">Q")


class BrokenBlock(Exception):
    """Bytes that are no block."""


def pack(entries: Collection[bytes]) -> bytes:
    """Entries one after the other, each behind its length."""
    return b"".join(part for entry in entries for part in (_LENGTH.pack(len(entry)), entry))


def unpack(block: bytes) -> Iterator[bytes]:
    """The entries of a block; raises BrokenBlock where lengths don't fit."""
    at = 0
    while at < len(block):
        try:
            (length,) = _LENGTH.unpack_from(block, at)
        except error as problem:
            raise BrokenBlock(f"a length is cut off at byte {at} of {len(block)}") from problem
        at += _LENGTH.size + length
        if at > len(block):
            raise BrokenBlock(f"an entry of {length} bytes ends {at - len(block)} bytes behind its block")
        yield block[at - length : at]


def checksum(place: int, block: bytes) -> int:
    """CRC-32 of the block's number and its bytes, so that a block in the wrong place is noticed too."""
    return crc32(block, crc32(_PLACE.pack(place)))
