"""How far one member has come in each partition it owns: what it processed, what it still has to commit.
It must not know a client library or a clock.
"""

from collections.abc import Iterable, Mapping

from bridge.demo.events import Mode, Partition
from bridge.demo.events_spans import Span, SpanCollector


class Progress:
    """Ownership, positions and commits of one member; every method is O(partitions named)."""

    def __init__(self) -> None:
        self._owned: set[Partition] = set()
        self._positions: dict[Partition, int] = {}
        self._committed: dict[Partition, int] = {}
        self._spans = SpanCollector()

    def own(self, partitions: Iterable[Partition], mode: Mode) -> None:
        """Take partitions: these instead of all others (eager), or these as well (incremental)."""
        taken = set(partitions)
        if mode is Mode.EAGER:
            self.release(self._owned - taken)
        self._owned |= taken

    def release(self, partitions: Iterable[Partition]) -> None:
        """Give partitions up: nothing is committed for them any more, and the next owner sets the position."""
        for partition in partitions:
            self._owned.discard(partition)
            self._positions.pop(partition, None)
            self._committed.pop(partition, None)

    def process(self, partition: Partition, offset: int) -> None:
        """Count one processed record; one that arrives after its partition was given up moves no position."""
        self._spans.add(partition, offset)
        if partition in self._owned:
            self._positions[partition] = offset + 1

    def take_spans(self) -> tuple[Span, ...]:
        """What was processed since the last call, in order per partition."""
        return self._spans.take()

    def uncommitted(self) -> Mapping[Partition, int]:
        """Per owned partition the offset to commit, where it is not committed yet."""
        return {
            partition: offset
            for partition, offset in self._positions.items()
            if partition in self._owned and self._committed.get(partition) != offset
        }

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Remember what the broker acknowledged."""
        self._committed.update({partition: offset for partition, offset in offsets.items() if partition in self._owned})
