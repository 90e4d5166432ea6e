"""Events as those that lines are read into, all of one stretch. It must not know what is made of them."""

from collections.abc import Sequence

import orjson
import pyarrow as pa

from bridge.analytics.stretches.coding import Stretches, stretches_of
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
