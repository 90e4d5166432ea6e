"""Which numbers of a run came, as bits: enough to say that none came twice, without sorting anything."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

SPAN_MAX = 2**24
"""Numbers that are farther apart are not told apart here: 2 MB of bits."""
NOTE_MAX = 2**18
"""More letters than that are not written down with a batch."""
BITS_WRITTEN_MAX, STRETCHES_MAX = 2**16, 500
"""More bits than that are written as stretches of equal ones, if those are not too many: what a stream has missed is
one, and was so long that nothing at all was written, and every restart read all events.
"""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of one run: bit k of `bits` stands for `lowest` + k."""

    lowest: int
    bits: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a run: all numbers up to `through`, and some above it, of which bit 0 of `above` is the next one.

    A run numbers its events from 1 without gaps, so what is above stays short, whichever way the events came.
    """

    through: int = 0
    above: int = 0

    @property
    def highest(self) -> int:
        """The highest number that came."""
        return self.through + self.above.bit_length()

    def adding(self, numbers: Numbers) -> "Seen | None":
        """With numbers of which none has come before; None where that is not sure."""
        shift = numbers.lowest - self.through - 1
        if shift < 0 or shift + numbers.bits.bit_length() > SPAN_MAX:
            return None
        placed = numbers.bits << shift
        return None if placed & self.above else _settled(self.through, self.above | placed)

    def including(self, numbers: Numbers, floor: int) -> "Seen":
        """With numbers that may have come before; whatever is not above `floor` counts as come."""
        through = max(self.through, floor)
        shift = numbers.lowest - through - 1
        placed = numbers.bits << shift if shift >= 0 else numbers.bits >> -shift
        return _settled(through, self.above >> (through - self.through) | placed)


def _settled(through: int, above: int) -> Seen:
    """What follows `through` without a gap belongs to it."""
    gap = ~above & (above + 1)
    count = gap.bit_length() - 1
    return Seen(through + count, above >> count)


Came = Iterable[tuple[str, Numbers]]
"""Numbers by run (`boot`); a run may be there several times."""


def grown(seen: Mapping[str, Seen], came: Came) -> dict[str, Seen] | None:
    """The runs that brought something, with what came of them now; None where a number may have come before."""
    after: dict[str, Seen] = {}
    for boot, numbers in came:
        more = after.get(boot, seen.get(boot, Seen())).adding(numbers)
        if more is None:
            return None
        after[boot] = more
    return after


def written_seen(seen: Mapping[str, Seen]) -> str:
    """What came of each run as text; nothing where that is too long, as it is of runs that came far out of order."""
    text = json.dumps({boot: [one.through, _written(one.above)] for boot, one in seen.items()})
    return text if len(text) <= NOTE_MAX else ""


def read_seen(text: str) -> dict[str, Seen]:
    """The same, read again."""
    return {boot: Seen(through, _read(above)) for boot, (through, above) in json.loads(text).items()}


def _written(bits: int) -> str | list[int]:
    """Bits in hexadecimal, or how many zeros, ones, zeros … there are from bit 0 on."""
    if bits.bit_length() > BITS_WRITTEN_MAX:
        found = islice(re.finditer("0+|1+", f"{bits:b}"[::-1]), STRETCHES_MAX + 1)
        stretches = [len(one[0]) for one in found]
        if len(stretches) <= STRETCHES_MAX:
            return stretches if not bits & 1 else [0, *stretches]
    return f"{bits:x}"


def _read(written: str | Sequence[int]) -> int:
    if isinstance(written, str):
        return int(written, 16)
    bits, place = 0, 0
    for number, length in enumerate(written):
        if number % 2:
            bits |= ((1 << length) - 1) << place
        place += length
    return bits
