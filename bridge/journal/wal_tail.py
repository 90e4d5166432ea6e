"""What SQLite's write-ahead log holds: behind the last whole transaction, which SQLite drops without a word, and before
that, for whoever must not have SQLite open it.

The format is section 4 of sqlite.org/fileformat2.html.
"""

from dataclasses import dataclass
from struct import Struct

_HEADER = Struct(">8I")
_FRAME = Struct(">6I")
_MAGIC_LITTLE, _MAGIC_BIG = 0x377F0682, 0x377F0683
_MASK = 0xFFFFFFFF
_MODES, _WITHOUT_LOG = slice(18, 20), b"\1\1"
"""Where the first page says whether there is a log, and what stands there if there is none."""


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


def settled(database: bytes, log: bytes) -> bytes:
    """The database as SQLite would find it, with what whole transactions of its log have written, and without a log."""
    found, written = bytearray(database), dict[int, bytes]()
    if len(log) >= _HEADER.size and _is_whole_header(log):
        _, _, page_bytes, _, *salts = _HEADER.unpack_from(log)[:6]
        sums = _HEADER.unpack_from(log)[6:]
        size = _FRAME.size + page_bytes
        for begin in range(_HEADER.size, len(log) - size + 1, size):
            page, pages_after, *frame_salts = _FRAME.unpack_from(log, begin)[:4]
            content = log[begin + _FRAME.size : begin + size]
            sums = _sums(log[begin : begin + 8] + content, _order(log), sums)
            if frame_salts != salts or sums != _FRAME.unpack_from(log, begin)[4:]:
                break
            written[page] = content
            if pages_after:
                found.extend(bytes(max(0, pages_after * page_bytes - len(found))))
                for number, changed in written.items():
                    found[(number - 1) * page_bytes : number * page_bytes] = changed
                written.clear()
    found[_MODES] = _WITHOUT_LOG
    return bytes(found)


def _is_whole_header(data: bytes) -> bool:
    if int.from_bytes(data[:4]) not in {_MAGIC_LITTLE, _MAGIC_BIG}:
        return False
    return _sums(data[:24], _order(data), (0, 0)) == _HEADER.unpack_from(data)[6:]


def _order(log: bytes) -> str:
    return "<" if int.from_bytes(log[:4]) == _MAGIC_LITTLE else ">"


def _sums(data: bytes, order: str, before: tuple[int, ...]) -> tuple[int, ...]:
    """SQLite's checksum of the data, which goes on with that of what is before it."""
    first, second = before
    words = Struct(f"{order}{len(data) // 4}I").unpack(data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second
