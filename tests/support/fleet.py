"""Hand-written client logs for tests of the judge and the fleet: short names for events, times in milliseconds."""

from collections.abc import Iterable

from bridge.demo.events import (
    Assigned,
    Committed,
    Consumed,
    Event,
    Lost,
    Mode,
    Partition,
    Produced,
    Protocol,
    Revoked,
    Started,
)
from bridge.demo.judge_evidence import ClientLog, Step

TOPIC = "orders"
MS = 1_000_000


def partition(index: int) -> Partition:
    """Partition `index` of the one topic of these stories."""
    return Partition(TOPIC, index)


def started(
    seat: str, at_ms: int = 0, protocol: Protocol = Protocol.CLASSIC, library: str = "confluent-kafka"
) -> Started:
    """A member's introduction."""
    return Started(
        at_ns=at_ms * MS,
        seat=seat,
        client_id=seat,
        library=library,
        library_version="1",
        protocol=protocol,
        assignor="" if protocol is Protocol.CONSUMER else "range",
        instance_id=None,
        pid=1,
    )


def assigned(at_ms: int, *indexes: int, mode: Mode = Mode.INCREMENTAL) -> Assigned:
    """An assigned callback that ended at `at_ms`."""
    return Assigned(at_ns=at_ms * MS, partitions=tuple(map(partition, indexes)), mode=mode)


def revoked(at_ms: int, *indexes: int, mode: Mode = Mode.INCREMENTAL) -> Revoked:
    """A revoked callback that began at `at_ms`."""
    return Revoked(at_ns=at_ms * MS, partitions=tuple(map(partition, indexes)), mode=mode)


def lost(at_ms: int, *indexes: int, mode: Mode = Mode.INCREMENTAL) -> Lost:
    """A lost callback that began at `at_ms`."""
    return Lost(at_ns=at_ms * MS, partitions=tuple(map(partition, indexes)), mode=mode)


def consumed(at_ms: int, index: int, first: int, last: int) -> Consumed:
    """Records processed by `at_ms`."""
    return Consumed(at_ns=at_ms * MS, partition=partition(index), first=first, last=last)


def produced(index: int, first: int, last: int) -> Produced:
    """Records acknowledged."""
    return Produced(at_ns=0, partition=partition(index), first=first, last=last)


def committed(at_ms: int, offsets: Iterable[tuple[int, int]]) -> Committed:
    """Offsets acknowledged at `at_ms`, by partition index."""
    return Committed(at_ns=at_ms * MS, offsets=tuple((partition(index), offset) for index, offset in offsets))


def log(seat: str, *events: Event, number: int = 1, died_ms: int | None = None) -> ClientLog:
    """One process's log; an introduction at 0 is put before it unless it has one or has nothing to say."""
    introduced = not events or any(isinstance(event, Started) for event in events)
    told = events if introduced else (started(seat), *events)
    return ClientLog(seat=seat, number=number, events=told, died_ns=None if died_ms is None else died_ms * MS)


def step(name: str, began_ms: int, ended_ms: int) -> Step:
    """A step of the story."""
    return Step(name=name, began_ns=began_ms * MS, ended_ns=ended_ms * MS)
