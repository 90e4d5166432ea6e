"""A journal that is lost with the process: for tests, and for bridges that need not survive a restart."""

from collections.abc import Collection, Iterator

from bridge.ports import Condense, JournalFull

OVERGROWN_BYTES = 1_048_576


class MemoryJournal:
    """Entries in a list; `bytes_max` makes it full, as a disk gets full."""

    def __init__(self, bytes_max: int | None = None, overgrown_bytes: int = OVERGROWN_BYTES) -> None:
        self.bytes_max = bytes_max
        self._entries: list[bytes] = []
        self._bytes = 0
        self._condensed_bytes = 0
        self._overgrown_bytes = overgrown_bytes

    def append(self, entries: Collection[bytes]) -> None:
        """Keep all; raises JournalFull where they don't fit."""
        size = sum(map(len, entries))
        if self.bytes_max is not None and self._bytes + size > self.bytes_max:
            raise JournalFull(f"{self._bytes} bytes are kept, {size} more exceed {self.bytes_max}")
        self._entries += entries
        self._bytes += size

    def replay(self) -> Iterator[bytes]:
        """Every entry in the order written."""
        return iter(tuple(self._entries))

    def is_overgrown(self) -> bool:
        """Whether it is four times what the last compaction left."""
        return self._bytes > max(self._overgrown_bytes, 4 * self._condensed_bytes)

    async def compact(self, condense: Condense) -> None:
        """At once: memory is quick."""
        self._entries = list(condense(tuple(self._entries)))
        self._bytes = self._condensed_bytes = sum(map(len, self._entries))

    def close(self) -> None:
        """Nothing is held."""
