"""What a client process can tell about itself: one frozen value per line of its event log, as JSON and back."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TextIO

# ------------------------------------------------------------------------------------------- events
# What a client process can tell about itself: one frozen value per line of its event log, stamped by one clock;
# records at consecutive offsets are one span, so that a log stays short.


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


# -------------------------------------------------------------------------------------- events json
# The event log's line format: one JSON object per event, and back; each line is flushed at once.

Fields = Mapping[str, object]


class EventError(ValueError):
    """A line of an event log that is not an event (EB-EVENT-001): the client printed something else on standard
    output.
    """


def encode_event(event: Event) -> str:
    """One line without its newline: `event` is the class name in lower case, partitions are `[topic, index]`."""
    return json.dumps({"event": type(event).__name__.lower(), "at_ns": event.at_ns, **_fields_of(event)})


def decode_event(line: str) -> Event:
    """The event that a line holds; raises EventError with the line and what is wrong with it."""
    try:
        fields: object = json.loads(line)
    except json.JSONDecodeError as error:
        raise _refused(line, str(error)) from error
    if not isinstance(fields, dict):
        raise _refused(line, "it is no JSON object")
    build = BUILDERS.get(str(fields.get("event")))
    if build is None:
        raise _refused(line, f"unknown event {fields.get('event')!r}, known are {', '.join(BUILDERS)}")
    try:
        return build(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(line, f"missing or wrong field: {error}") from error


def _refused(line: str, why: str) -> EventError:
    return EventError(f"EB-EVENT-001: not an event: {why}; the line was {line[:200]!r}")


def _fields_of(event: Event) -> Fields:
    match event:
        case Started():
            return {
                "seat": event.seat,
                "client_id": event.client_id,
                "library": event.library,
                "library_version": event.library_version,
                "protocol": event.protocol,
                "assignor": event.assignor,
                "instance_id": event.instance_id,
                "pid": event.pid,
            }
        case Assigned() | Revoked() | Lost():
            return {"partitions": event.partitions, "mode": event.mode}
        case Consumed() | Produced():
            count = event.last - event.first + 1
            return {"partition": event.partition, "first": event.first, "last": event.last, "count": count}
        case Committed():
            return {"offsets": [[topic, index, offset] for (topic, index), offset in event.offsets]}
        case Failed():
            return {"reason": event.reason}
        case Ended():
            return {}


def _whole(fields: Fields, name: str) -> int:
    return _as_whole(fields[name], name)


def _as_whole(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, not a whole number")
    return value


def _text(fields: Fields, name: str) -> str:
    return _as_text(fields[name], name)


def _as_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, not text")
    return value


def _rows(fields: Fields, name: str, width: int) -> list[list[object]]:
    rows = fields[name]
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != width for row in rows):
        raise ValueError(f"{name} is {rows!r}, not a list of lists of {width}")
    return rows


def _partition(row: list[object]) -> Partition:
    return Partition(_as_text(row[0], "topic"), _as_whole(row[1], "partition"))


def _started(fields: Fields) -> Started:
    instance_id = fields["instance_id"]
    return Started(
        at_ns=_whole(fields, "at_ns"),
        seat=_text(fields, "seat"),
        client_id=_text(fields, "client_id"),
        library=_text(fields, "library"),
        library_version=_text(fields, "library_version"),
        protocol=Protocol(_text(fields, "protocol")),
        assignor=_text(fields, "assignor"),
        instance_id=None if instance_id is None else _as_text(instance_id, "instance_id"),
        pid=_whole(fields, "pid"),
    )


def _rebalance(build: type[Assigned] | type[Revoked] | type[Lost]) -> Callable[[Fields], RebalanceEvent]:
    def built(fields: Fields) -> RebalanceEvent:
        partitions = tuple(_partition(row) for row in _rows(fields, "partitions", 2))
        return build(at_ns=_whole(fields, "at_ns"), partitions=partitions, mode=Mode(_text(fields, "mode")))

    return built


def _span(build: type[Consumed] | type[Produced]) -> Callable[[Fields], Consumed | Produced]:
    def built(fields: Fields) -> Consumed | Produced:
        first, last, count = (_whole(fields, name) for name in ("first", "last", "count"))
        if not 0 <= first <= last or count != last - first + 1:
            raise ValueError(f"first {first}, last {last} and count {count} do not fit together")
        (row,) = _rows({"partition": [fields["partition"]]}, "partition", 2)
        return build(at_ns=_whole(fields, "at_ns"), partition=_partition(row), first=first, last=last)

    return built


def _committed(fields: Fields) -> Committed:
    rows = _rows(fields, "offsets", 3)
    offsets = tuple((_partition(row), _as_whole(row[2], "offset")) for row in rows)
    return Committed(at_ns=_whole(fields, "at_ns"), offsets=offsets)


def _failed(fields: Fields) -> Failed:
    return Failed(at_ns=_whole(fields, "at_ns"), reason=_text(fields, "reason"))


def _ended(fields: Fields) -> Ended:
    return Ended(at_ns=_whole(fields, "at_ns"))


BUILDERS: Mapping[str, Callable[[Fields], Event]] = {
    "started": _started,
    "assigned": _rebalance(Assigned),
    "revoked": _rebalance(Revoked),
    "lost": _rebalance(Lost),
    "consumed": _span(Consumed),
    "produced": _span(Produced),
    "committed": _committed,
    "failed": _failed,
    "ended": _ended,
}
"""How each event is read, by the name in its `event` field."""


class EventWriter:
    """Appends events to a stream, each flushed at once, so that a killed process has told all it knew."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: Event) -> None:
        """Write one event; raises BrokenPipeError when the reader is gone, which ends the client."""
        line = encode_event(event)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
