"""What a client process can tell about itself: one frozen value per line of its event log, stamped by one clock;
records at consecutive offsets are one span, so that a log stays short.
"""

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition of a topic, by name."""

    topic: str
    partition: int


class Protocol(StrEnum):
    """Which group protocol a consumer was told to speak (its `group.protocol`)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Mode(StrEnum):
    """What the lists in rebalance callbacks mean: the whole assignment, or only the difference (KIP-429)."""

    EAGER = "eager"
    INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The process runs and is about to join; `assignor` is the client's own name for it, "" with the consumer
    protocol's default.
    """

    at_ns: int
    seat: str
    client_id: str
    library: str
    library_version: str
    protocol: Protocol
    assignor: str
    instance_id: str | None
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """An assigned callback has ended: from now on its partitions are owned."""

    at_ns: int
    partitions: tuple[Partition, ...]
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A revoked callback has begun: from now on its partitions are not owned."""

    at_ns: int
    partitions: tuple[Partition, ...]
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A lost callback has begun: the group gave the partitions away without asking (KIP-429)."""

    at_ns: int
    partitions: tuple[Partition, ...]
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """Records `first` to `last` (offsets, both included, no gap) were processed; `at_ns` is when the line was
    written.
    """

    at_ns: int
    partition: Partition
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """The broker acknowledged records at the offsets `first` to `last` (both included, no gap)."""

    at_ns: int
    partition: Partition
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A commit was acknowledged: per partition the offset of the next record to read."""

    at_ns: int
    offsets: tuple[tuple[Partition, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Something went wrong that the client reported; it may go on afterwards."""

    at_ns: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The client closed in good order; nothing follows."""

    at_ns: int


RebalanceEvent = Assigned | Revoked | Lost
Event = Started | Assigned | Revoked | Lost | Consumed | Produced | Committed | Failed | Ended
"""`at_ns` of every event is the host's CLOCK_MONOTONIC in nanoseconds."""


def now_ns() -> int:
    """Nanoseconds on CLOCK_MONOTONIC, comparable between processes of one host."""
    return time.monotonic_ns()


def wall_ms_to_now_ns(wall_ms: int) -> int:
    """The monotonic instant of a wall-clock stamp (milliseconds since 1970) taken lately on this host; never in the
    future.
    """
    seen_ns = time.monotonic_ns()
    return min(seen_ns, wall_ms * 1_000_000 - time.time_ns() + seen_ns)


class Span(NamedTuple):
    """Records of one partition at consecutive offsets, both ends included."""

    partition: Partition
    first: int
    last: int


class SpanCollector:
    """Collects records in the order they come; O(1) per record."""

    def __init__(self) -> None:
        self._open: dict[Partition, Span] = {}
        self._closed: list[Span] = []

    def add(self, partition: Partition, offset: int) -> None:
        """Count one record; an offset that does not follow the last one of its partition opens a new span."""
        span = self._open.get(partition)
        if span is None:
            self._open[partition] = Span(partition, offset, offset)
        elif offset == span.last + 1:
            self._open[partition] = span._replace(last=offset)
        else:
            self._closed.append(span)
            self._open[partition] = Span(partition, offset, offset)

    def take(self) -> tuple[Span, ...]:
        """The spans since the last call, in order per partition."""
        spans = (*self._closed, *self._open.values())
        self._closed = []
        self._open = {}
        return spans
