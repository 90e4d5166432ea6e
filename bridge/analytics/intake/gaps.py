"""What was gone before a stream came to it, written down; of a topic, offsets that were next by the checkpoint, and did
not come.

Kafka removes records from the front of a partition, so what is gone lies before the first one that came.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.errors import tell
from bridge.analytics.intake.reading import SOURCE
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import BATCH, DATE, GAPS
from bridge.analytics.tables.store import CHECKPOINT, Store

OFFSET = "offset"
Offsets = Mapping[str, int]
"""By topic and partition, as `SOURCE` has it: the next offset."""
RETENTION = "removed by Kafka before the stream came to them"
GONE = "the partition is no longer there: the topic was deleted, or made anew with fewer of them"
ANEW = "the topic was deleted and made anew: these came before the stream looked again"
_SCHEMA = f"{SOURCE} string, from_offset long, to_offset long, detail string"


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of a partition, or numbers of a run, from the first that is missing to the first that is not, None where
    there is none.
    """

    source: str
    from_offset: int
    to_offset: int | None
    detail: str
    unit: str = OFFSET


def note_gaps(store: Store, records: DataFrame, batch: int, anew: Collection[str] = ()) -> list[Gap]:
    """Write down what is missing before the records (`SOURCE`, `OFFSET`) of a batch that the checkpoint has planned;
    `anew` are topics that are not those of the batches before.
    """
    first = {row[SOURCE]: row[OFFSET] for row in records.groupBy(SOURCE).agg(f.min(OFFSET).alias(OFFSET)).collect()}
    before = ("offsets", str(batch - 1)) if batch else ("sources", "0", "0")
    start, end = (_offsets(store, *names) for names in (before, ("offsets", str(batch))))
    found = gaps_between(start, end, first, anew)
    write_gaps(store, found, batch)
    return found


def write_gaps(store: Store, gaps: Sequence[Gap], batch: int) -> None:
    """Write down what is missing in a batch, in place of what an earlier attempt at it wrote."""
    if gaps:
        rows = [(gap.source, gap.from_offset, gap.to_offset, gap.detail) for gap in gaps]
        told = store.spark.createDataFrame(rows, _SCHEMA)
        store.put_batch(GAPS, conform(GAPS, told.withColumns({DATE: f.current_date(), BATCH: f.lit(batch)})), batch)


def tell_gaps(gaps: Iterable[Gap]) -> None:
    """Say at once what is missing: nobody looks into a table for what nobody expects."""
    for gap in gaps:
        until = "" if gap.to_offset is None else f" to {gap.to_offset}"
        tell(f"gap in {gap.source} from {gap.unit} {gap.from_offset}{until}: {gap.detail}")


def gaps_between(start: Offsets, end: Offsets, first: Offsets, anew: Collection[str] = ()) -> list[Gap]:
    """What is missing of a batch from `start` to `end`, of which `first` came first; a new partition starts at 0, and
    of a topic that is not the one before (`anew`) nothing came that lies before `start`.
    """
    found: list[Gap | None] = []
    for name in sorted({*start, *end}):
        is_anew = name.rpartition("-")[0] in anew
        found.append(_gap(name, (start.get(name, 0), end.get(name)), first.get(name), is_anew=is_anew))
    return [gap for gap in found if gap is not None]


def _gap(source: str, planned: tuple[int, int | None], first: int | None, *, is_anew: bool) -> Gap | None:
    start, end = planned
    if end is None:
        return Gap(source, start, None, GONE)
    if end < start:
        return Gap(source, 0, end, ANEW)
    came = end if first is None else first
    if is_anew:
        return Gap(source, 0, came, ANEW) if start else None
    return Gap(source, start, came, RETENTION) if came > start else None


def _offsets(store: Store, *names: str) -> dict[str, int]:
    """What Spark has written down of the offsets of a topic: JSON in the last line of a file of the checkpoint."""
    *_, last = store.files.read(store.path(CHECKPOINT, *names)).splitlines()
    topics: dict[str, dict[str, int]] = json.loads(last)
    return {f"{topic}-{partition}": next_ for topic, known in topics.items() for partition, next_ in known.items()}
