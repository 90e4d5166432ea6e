"""Frames made wrong, in the ways in which bytes go wrong.

It must not know what a frame means.
"""

from collections.abc import Callable
from random import Random

KEEPS_LENGTH_WRONG = 0.1
SPOILABLE_BYTES = 8
"""Of less there is nothing left to go wrong."""
BITS_OF_INTEREST = (b"\x00", b"\xff", b"\x80", b"\x7f", b"\x01")


def spoilt(random: Random, frame: bytes) -> bytes:
    """The frame with something wrong in it, mostly with the length that it has."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if len(frame) >= SPOILABLE_BYTES:
            frame = random.choice(WAYS)(random, frame)
    return frame if random.random() < KEEPS_LENGTH_WRONG else with_length(frame)


def with_length(frame: bytes) -> bytes:
    """The frame with the length that it has."""
    return (len(frame) - 4).to_bytes(4) + frame[4:] if len(frame) >= 4 else frame


def _flip(random: Random, frame: bytes) -> bytes:
    wrong = bytearray(frame)
    for _ in range(random.choice((1, 1, 2, 8))):
        wrong[random.randrange(len(wrong))] = random.randrange(256)
    return bytes(wrong)


def _flip_late(random: Random, frame: bytes) -> bytes:
    """Behind the header, where the message is."""
    at = random.randrange(min(14, len(frame) - 1), len(frame))
    return frame[:at] + random.choice(BITS_OF_INTEREST) + frame[at + 1 :]


def _extreme(random: Random, frame: bytes) -> bytes:
    at, size = random.randrange(len(frame)), random.choice((2, 4, 5))
    return frame[:at] + random.choice(BITS_OF_INTEREST) * size + frame[at + size :]


def _cut(random: Random, frame: bytes) -> bytes:
    return frame[: random.randrange(4, len(frame) + 1)]


def _grow(random: Random, frame: bytes) -> bytes:
    return frame + random.randbytes(random.choice((1, 4, 100, 3_000)))


def _repeat(random: Random, frame: bytes) -> bytes:
    start = random.randrange(len(frame))
    end = random.randrange(start, len(frame)) + 1
    return frame[:end] + frame[start:end] * random.choice((1, 2, 50)) + frame[end:]


def _drop(random: Random, frame: bytes) -> bytes:
    start = random.randrange(4, len(frame))
    return frame[:start] + frame[start + random.choice((1, 2, 4, 16)) :]


def _other_version(random: Random, frame: bytes) -> bytes:
    return frame[:6] + random.choice((0, 1, 2, 3, 4, 9, 12, 99, 32_767)).to_bytes(2) + frame[8:]


def _other_api(random: Random, frame: bytes) -> bytes:
    api_key: int = random.choice((*range(20), 36, 42, 47, 60, 68, 69, 76, 78, 80, 88, 500))
    return frame[:4] + api_key.to_bytes(2) + frame[6:]


LENGTHS = (b"\x7f\xff\xff\xff", b"\xff" * 4, bytes(4), b"GET ", b"\x16\x03\x01\x00")


def _lengths(random: Random, frame: bytes) -> bytes:
    """The length prefix itself."""
    length: bytes = random.choice(LENGTHS)
    return length + frame[4:]


WAYS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(_flip, _flip_late, _flip_late, _extreme, _cut, _grow, _repeat, _drop, _other_version, _other_api, _lengths),
)
