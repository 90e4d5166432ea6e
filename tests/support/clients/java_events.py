"""Kafka's VerifiableConsumer output as events: one JSON object per line, stamped with wall-clock milliseconds.

Source: org.apache.kafka.tools.VerifiableConsumer.
"""

import json
from collections.abc import Callable

from bridge.demo.events import Assigned, Committed, Consumed, Event, Failed, Mode, Partition, Revoked

Row = dict[str, object]


def whole(row: Row, name: str) -> int:
    """A number of the tool's output; raises ValueError with the row when it is none."""
    value = row.get(name)
    if not isinstance(value, int):
        raise ValueError(f"{name} is {value!r} in {row}")
    return value


def rows(row: Row, name: str) -> list[Row]:
    """A list of objects of the tool's output."""
    value = row.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name} is {value!r} in {row}")
    return value


def partition_of(row: Row) -> Partition:
    """The partition that a row names."""
    return Partition(str(row["topic"]), whole(row, "partition"))


def events_of(line: str, mode: Mode, to_ns: Callable[[int], int]) -> tuple[Event, ...]:
    """What a line says, as events; `to_ns` maps its wall-clock milliseconds to CLOCK_MONOTONIC.

    A gap within one batch can't be placed and is a failure. Lost partitions are printed as revoked by the tool.
    """
    row: Row = json.loads(line)
    at_ns = to_ns(whole(row, "timestamp"))
    match row.get("name"):
        case "partitions_assigned":
            return (Assigned(at_ns=at_ns, partitions=tuple(map(partition_of, rows(row, "partitions"))), mode=mode),)
        case "partitions_revoked":
            return (Revoked(at_ns=at_ns, partitions=tuple(map(partition_of, rows(row, "partitions"))), mode=mode),)
        case "records_consumed":
            return tuple(_consumed(one, at_ns) for one in rows(row, "partitions"))
        case "offsets_committed" if row.get("success"):
            offsets = tuple((partition_of(one), whole(one, "offset")) for one in rows(row, "offsets"))
            return (Committed(at_ns=at_ns, offsets=offsets),)
        case "offsets_committed":
            return (Failed(at_ns=at_ns, reason=f"commit refused: {row.get('error')}"),)
        case "startup_complete" | "shutdown_requested" | "shutdown_complete":
            return ()
        case name:
            return (Failed(at_ns=at_ns, reason=f"VerifiableConsumer said {name!r}, which this wrapper does not know"),)


def _consumed(row: Row, at_ns: int) -> Consumed | Failed:
    first, last, count = whole(row, "minOffset"), whole(row, "maxOffset"), whole(row, "count")
    if count != last - first + 1:
        return Failed(at_ns=at_ns, reason=f"a batch with a gap: {row}")
    return Consumed(at_ns=at_ns, partition=partition_of(row), first=first, last=last)
