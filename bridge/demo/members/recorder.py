"""What one member process tells about itself: its callbacks, records and commits become events in the right order,
and how far it has come in each partition.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from bridge.demo.events import (
    Assigned,
    Committed,
    Consumed,
    Ended,
    EventWriter,
    Failed,
    Lost,
    Mode,
    Partition,
    Revoked,
    Span,
    SpanCollector,
    Started,
)
from bridge.demo.members.process import MemberOptions


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


class Recorder:
    """The event log of one member, callable from the library's threads and the main thread alike."""

    def __init__(self, options: MemberOptions, writer: EventWriter, now_ns: Callable[[], int]) -> None:
        self._options = options
        self._writer = writer
        self._now_ns = now_ns
        self._progress = Progress()
        self._lock = threading.RLock()
        self._commit_due_ns = 0

    def start(self, library: str, library_version: str) -> None:
        """Write `started`; call it before the client connects."""
        options = self._options
        consumer_protocol = options.protocol.value == "consumer"
        self._writer.write(
            Started(
                at_ns=self._now_ns(),
                seat=options.name,
                client_id=options.client_id,
                library=library,
                library_version=library_version,
                protocol=options.protocol,
                assignor="" if consumer_protocol else options.assignor,
                instance_id=options.instance_id,
                pid=os.getpid(),
            )
        )

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Call it as the last thing in the assigned callback."""
        listed = tuple(sorted(partitions))
        with self._lock:
            self._progress.own(listed, self._options.mode)
            self._writer.write(Assigned(at_ns=self._now_ns(), partitions=listed, mode=self._options.mode))

    def revoke(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """Call it first thing in the revoked callback; returns the offsets to commit before the callback ends."""
        at_ns = self._now_ns()
        listed = tuple(sorted(partitions))
        with self._lock:
            self._writer.write(Revoked(at_ns=at_ns, partitions=listed, mode=self._options.mode))
            self._write_processed()
            return {
                partition: offset for partition, offset in self._progress.uncommitted().items() if partition in listed
            }

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Call it first thing in the lost callback; nothing may be committed for these partitions any more."""
        at_ns = self._now_ns()
        listed = tuple(sorted(partitions))
        with self._lock:
            self._writer.write(Lost(at_ns=at_ns, partitions=listed, mode=self._options.mode))
            self._write_processed()
            self._progress.release(listed)

    def release(self, partitions: Iterable[Partition]) -> None:
        """Call it at the end of the revoked callback, after the commit."""
        with self._lock:
            self._progress.release(partitions)

    def process(self, partition: Partition, offset: int) -> None:
        """Count one processed record; it is written with the next flush."""
        with self._lock:
            self._progress.process(partition, offset)

    def due_commit(self, *, now: bool = False) -> Mapping[Partition, int]:
        """The offsets to commit, or nothing before the commit interval has passed (`now` ignores the interval)."""
        at_ns = self._now_ns()
        if not now and at_ns < self._commit_due_ns:
            return {}
        self._commit_due_ns = at_ns + self._options.commit_interval_ms * 1_000_000
        with self._lock:
            self._write_processed()
            return dict(self._progress.uncommitted())

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Write `committed`; call it after the broker acknowledged these offsets."""
        with self._lock:
            self._progress.commit(offsets)
            self._writer.write(Committed(at_ns=self._now_ns(), offsets=tuple(sorted(offsets.items()))))

    def fail(self, reason: str) -> None:
        """Write `failed`."""
        self._writer.write(Failed(at_ns=self._now_ns(), reason=reason))

    def end(self) -> None:
        """Write `ended`; call it after the client has closed."""
        with self._lock:
            self._write_processed()
            self._writer.write(Ended(at_ns=self._now_ns()))

    def _write_processed(self) -> None:
        at_ns = self._now_ns()
        for span in self._progress.take_spans():
            self._writer.write(Consumed(at_ns=at_ns, partition=span.partition, first=span.first, last=span.last))


class Consuming(Protocol):
    """A consumer of whichever library, which tells its recorder what it does."""

    def take(self) -> None:
        """Process what has arrived."""
        ...

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit these, if they are any, and wait."""
        ...

    def close(self) -> None:
        """Leave the group; the revoked callback runs inside."""
        ...


def consume(member: Consuming, recorder: Recorder, is_over: Callable[[], bool]) -> None:
    """Process and commit until it is over; then commit what is left, and leave."""
    while not is_over():
        member.take()
        member.commit(recorder.due_commit())
    member.commit(recorder.due_commit(now=True))
    member.close()
    recorder.end()
