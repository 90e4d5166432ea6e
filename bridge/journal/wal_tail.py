"""What SQLite's write-ahead log holds behind the last whole transaction: SQLite drops it without a word.

The format is section 4 of sqlite.org/fileformat2.html.
"""

from dataclasses import dataclass
from struct import Struct

_HEADER = Struct(">8I")
_FRAME = Struct(">6I")
_MAGIC_LITTLE, _MAGIC_BIG = 0x377F0682, 0x377F0683
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class WalScan:
    """The frames of the running log, which of them end a transaction (numbers from 1), and bytes of half a frame."""

    frames: int = 0
    commits: tuple[int, ...] = ()
    odd_bytes: int = 0
    has_broken_header: bool = False

    def lost_frames(self, valid: int) -> int:
        """How many frames SQLite drops when it takes the first `valid` ones."""
        return max(self.frames - valid, 0)

    def lost_commits(self, valid: int) -> int:
        """How many of them end a transaction: the last append may have been cut off while it was written, no other."""
        return sum(1 for number in self.commits if number > valid)


def scan_log(data: bytes) -> WalScan:
    """Look at a write-ahead log as it was before SQLite opened it; a missing or empty one has no frames."""
    if len(data) < _HEADER.size:
        return WalScan(odd_bytes=len(data))
    if not _is_whole_header(data):
        return WalScan(has_broken_header=len(data) > _HEADER.size, odd_bytes=len(data))
    _, _, page_bytes, _, *salts = _HEADER.unpack_from(data)[:6]
    size = _FRAME.size + page_bytes
    whole, odd_bytes = divmod(len(data) - _HEADER.size, size)
    running: list[bool] = []
    for number in range(whole):
        _, pages_after, *frame_salts = _FRAME.unpack_from(data, _HEADER.size + number * size)[:4]
        if frame_salts == salts:
            running.extend([False] * (number - len(running)))
            running.append(pages_after > 0)
    commits = tuple(number for number, ends in enumerate(running, 1) if ends)
    return WalScan(frames=len(running), commits=commits, odd_bytes=odd_bytes)


def _is_whole_header(data: bytes) -> bool:
    magic = int.from_bytes(data[:4])
    if magic not in {_MAGIC_LITTLE, _MAGIC_BIG}:
        return False
    order = "<" if magic == _MAGIC_LITTLE else ">"
    first = second = 0
    words = Struct(order + "6I").unpack_from(data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return (first, second) == Struct(">2I").unpack_from(data, 24)
