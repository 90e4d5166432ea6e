"""Spark's `xxhash64` of a text (XXH64 with seed 42): what is added up here is added to what Spark adds up."""

SEED = 42
HASH_OF_NULL = SEED
"""Spark passes over what is null."""
_MASK, _SIGN = (1 << 64) - 1, 1 << 63
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_STRIPE, _LANE = 32, 8


def xxhash64(text: bytes) -> int:
    """The hash as Spark has it: a signed number of 64 bits."""
    at, length = 0, len(text)
    if length >= _STRIPE:
        lanes = [(SEED + _P1 + _P2) & _MASK, (SEED + _P2) & _MASK, SEED, (SEED - _P1) & _MASK]
        while at + _STRIPE <= length:
            lanes = [_round(lane, _word(text, at + place * _LANE, _LANE)) for place, lane in enumerate(lanes)]
            at += _STRIPE
        mixed = sum(_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            mixed = ((mixed ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        mixed = SEED + _P5
    mixed = (mixed + length) & _MASK
    while at + _LANE <= length:
        mixed = (_turned(mixed ^ _round(0, _word(text, at, _LANE)), 27) * _P1 + _P4) & _MASK
        at += _LANE
    if at + 4 <= length:
        mixed = (_turned(mixed ^ (_word(text, at, 4) * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in text[at:]:
        mixed = _turned(mixed ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    return _settled(mixed)


def _settled(mixed: int) -> int:
    mixed = (mixed ^ (mixed >> 33)) * _P2 & _MASK
    mixed = (mixed ^ (mixed >> 29)) * _P3 & _MASK
    mixed ^= mixed >> 32
    return mixed - (1 << 64) if mixed & _SIGN else mixed


def _round(lane: int, word: int) -> int:
    return _turned((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _turned(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _word(text: bytes, at: int, length: int) -> int:
    return int.from_bytes(text[at : at + length], "little")
