"""Events as those that lines are read into, and what stretches of them tell. It must not know what is made of them."""

from collections.abc import Iterator, Mapping, Sequence

import orjson
import pyarrow as pa

from bridge.analytics.stretches.coding import Stretches, stretches_of
from bridge.analytics.stretches.files import Account, ReadTogether, in_one_account, write_account
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import EVENTS
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event


def stretch_of(events: Sequence[Event]) -> tuple[pa.RecordBatch, Stretches]:
    """The events, and in which stretch each lies."""
    rows = [orjson.loads(encode_event(event)) for event in events]
    batch = pa.RecordBatch.from_pylist(rows, arrow_schema(EVENTS))
    found = stretches_of([(batch["boot"], batch["number"])])
    assert found is not None
    return batch, found[0]


def read_together(rows: Sequence[Mapping[str, object]], stem: str) -> Account:
    """What events tell that somebody has read together."""
    kinds = ("phase-", "partitions-")
    parts = [[row for row in rows if str(row["kind"]).startswith(kind)] for kind in kinds]
    parts.append([row for row in rows if not str(row["kind"]).startswith(kinds)])
    of_phases, of_partitions, others = ([pa.Table.from_pylist(part, arrow_schema(EVENTS))] for part in parts)
    told = write_account(ReadTogether(phases=of_phases, partitions=of_partitions, others=others), stem)
    assert told is not None
    return told


def read_in_parts(rows: Sequence[Mapping[str, object]], stem: str, sizes: Iterator[int]) -> Account:
    """What events tell that were read in parts of these sizes."""
    told, at = list[Account](), 0
    while at < len(rows):
        size = next(sizes)
        told.append(read_together(rows[at : at + size], f"{stem}-{at}"))
        at += size
    whole = in_one_account(told)
    assert whole is not None
    return whole
