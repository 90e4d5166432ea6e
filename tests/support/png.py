"""Reads the pixels of a PNG as a browser writes it: eight bits a channel, not interlaced."""

import struct
import zlib
from collections import Counter
from pathlib import Path

Colour = tuple[int, int, int]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}


def count_colours(path: Path) -> Counter[Colour]:
    """How many pixels have which colour; raises ValueError for another kind of picture."""
    rows, channels = _read(path.read_bytes())
    colours: Counter[Colour] = Counter()
    for row in rows:
        colours.update(zip(row[0::channels], row[1::channels], row[2::channels], strict=True))
    return colours


def _read(data: bytes) -> tuple[list[bytearray], int]:
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG")
    place, packed, width, channels = len(SIGNATURE), b"", 0, 0
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + length]
        place += 12 + length
        if kind == b"IHDR":
            width, _, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            if depth != 8 or colour not in CHANNELS or interlace:
                raise ValueError(f"depth {depth}, colour type {colour}, interlace {interlace}")
            channels = CHANNELS[colour]
        elif kind == b"IDAT":
            packed += body
    return _unfilter(zlib.decompress(packed), width * channels, channels), channels


def _unfilter(raw: bytes, stride: int, channels: int) -> list[bytearray]:
    rows: list[bytearray] = []
    before = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        row = bytearray(raw[start + 1 : start + 1 + stride])
        _undo(raw[start], row, before, channels)
        rows.append(row)
        before = row
    return rows


def _undo(method: int, row: bytearray, above: bytearray, channels: int) -> None:
    for place in range(len(row)):
        left = row[place - channels] if place >= channels else 0
        corner = above[place - channels] if place >= channels else 0
        row[place] = (row[place] + _predicted(method, left, above[place], corner)) & 255


def _predicted(method: int, left: int, up: int, corner: int) -> int:
    if method == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2)[method]
