"""Tables of what stretches tell and of what is left, beside those of all events."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.stretches.clocks import RunClocks
from bridge.analytics.stretches.files import Account, ReadTogether, in_one_account, write_account
from bridge.analytics.stretches.shares import FLAGS, KEY, SUMS
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, EVENTS, FLAPS, PHASES, STALLS, Table
from bridge.analytics.tables.disturbance import marked
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.positions import JUMP_MIN_US, positioned, runs
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import Staged, Store
from bridge.analytics.tables.telling import Telling
from tests.support.wild_events import COLUMNS, Row, wild_batches

MAKE = {PHASES.name: phases, STALLS.name: stalls, FLAPS.name: flaps}
TABLES = (PHASES, STALLS, FLAPS)


def read_together(rows: Sequence[Row], stem: str) -> Account:
    """What events tell that somebody has read together."""
    kinds = ("phase-", "partitions-")
    parts = [[row for row in rows if str(row["kind"]).startswith(kind)] for kind in kinds]
    parts.append([row for row in rows if not str(row["kind"]).startswith(kinds)])
    of_phases, of_partitions, others = ([pa.Table.from_pylist(part, arrow_schema(EVENTS))] for part in parts)
    told = write_account(ReadTogether(phases=of_phases, partitions=of_partitions, others=others), stem)
    assert told is not None
    return told


def bring(store: Store, rows: Sequence[Row]) -> None:
    """Rows of `events`."""
    store.append(EVENTS, conform(EVENTS, store.spark.createDataFrame(list(rows), COLUMNS)))


def rows_of(staged: Iterable[Staged], table: Table) -> Iterable[tuple[object, ...]]:
    """Rows of a table in files, each with the day of its file."""
    for one in staged:
        for row in pyarrow.parquet.read_table(one.path).to_pylist():
            yield _flat({**row, DATE: one.day}, table)


def spark_rows(rows: DataFrame, table: Table) -> Iterable[tuple[object, ...]]:
    """The same of rows of Spark."""
    return (_flat({**row.asDict(), DATE: str(row[DATE])}, table) for row in rows.collect())


def _flat(row: dict[str, object], table: Table) -> tuple[object, ...]:
    values = (row[name] for name in table.column_names)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


@pytest.mark.parametrize("attempt", range(3))
def test_tables_of_stretches_are_those_of_all_events(store: Store, tmp_path: Path, attempt: int) -> None:
    """From a fresh seed: anything may follow anything, two runs, events read together in parts of any size, and some
    read by nobody else than Spark, so that a number is missing among the others.
    """
    seed = random.SystemRandom().randrange(10**9)
    draw = random.Random(seed)
    batches = wild_batches(seed=seed, groups=draw.randrange(1, 5), batches=2, events=draw.choice([60, 400]))
    rows = [{**row, "batch": 0} for batch in batches for row in batch]
    alone = [row for row in rows if draw.random() < draw.choice([0, 0.02])]
    together = [row for row in rows if row not in alone]
    told, at = list[Account](), 0
    while at < len(together):
        size = draw.choice([1, 7, 60, 200])
        told.append(read_together(together[at : at + size], str(tmp_path / f"part-{at}")))
        at += size
    bring(store, together)
    known = {file.path for file in store.log(EVENTS).files()}
    bring(store, alone)
    untold = [file.path for file in store.log(EVENTS).files() if file.path not in known]
    whole = in_one_account(told)
    assert whole is not None
    telling = Telling(whole, untold)
    events = store.read(EVENTS)
    order = runs(events).localCheckpoint()
    ordered = positioned(events, order)
    for table in TABLES:
        wanted = Counter(spark_rows(MAKE[table.name](ordered), table))
        made = Counter(rows_of(telling.staged(table), table))
        made.update(spark_rows(telling.rows(store, table, ordered, order), table))
        assert made - wanted == Counter(), f"seed {seed}: {table.name} has more"
        assert wanted - made == Counter(), f"seed {seed}: {table.name} has less"


def test_most_is_told_by_stretches(store: Store, tmp_path: Path) -> None:
    """Of 400 events that are read together little is left."""
    (rows,) = wild_batches(seed=1, groups=2, batches=1, events=400)
    telling = Telling(read_together(rows, str(tmp_path / "part")))
    for table in TABLES:
        left = [path for one in telling.told.tables if one.table == table.name for path in one.left]
        assert sum(len(pyarrow.parquet.read_table(path)) for path in left) < 200
        assert len([*rows_of(telling.staged(table), table)]) > 5


@pytest.mark.parametrize("attempt", range(3))
def test_what_stretches_have_left_is_told_without_spark(store: Store, tmp_path: Path, attempt: int) -> None:
    """From a fresh seed, as above, with no event that nobody read: the same rows again. Phases only where no end is
    behind a stretch that may have more of its episode.
    """
    seed = random.SystemRandom().randrange(10**9)
    draw = random.Random(seed)
    batches = wild_batches(seed=seed, groups=draw.randrange(1, 5), batches=2, events=draw.choice([60, 400]))
    rows = [{**row, "batch": 0} for batch in batches for row in batch]
    told, at = list[Account](), 0
    while at < len(rows):
        size = draw.choice([7, 60, 200])
        told.append(read_together(rows[at : at + size], str(tmp_path / f"part-{at}")))
        at += size
    bring(store, rows)
    whole = in_one_account(told)
    assert whole is not None
    telling, events = Telling(whole), store.read(EVENTS)
    ordered = positioned(events, runs(events).localCheckpoint())
    for table in TABLES:
        finished = telling.finished(table)
        if finished is None:
            assert table is PHASES, f"seed {seed}: nothing tells of {table.name}"
            continue
        wanted, made = Counter(spark_rows(MAKE[table.name](ordered), table)), Counter(rows_of(finished, table))
        assert made - wanted == Counter(), f"seed {seed}: {table.name} has more"
        assert wanted - made == Counter(), f"seed {seed}: {table.name} has less"
    assert Telling(whole, ["a file"]).finished(PHASES) is None, "who has not read all can't tell"


def test_order_of_runs_and_jumps_are_told_without_a_look_at_events(store: Store) -> None:
    """By the clocks of their first events; where events are untold, nobody knows."""
    early, late = RunClocks("b2", 1, 50, 10, 10), RunClocks("b1", 1, 80, 10, 10 + JUMP_MIN_US)
    telling = Telling(Account(clocks=(late, early)))
    order = telling.order(store.spark)
    assert order is not None
    assert {row["boot"]: row["run"] for row in order.collect()} == {"b2": 1, "b1": 2}
    assert telling.unsteady() == ["b1"]
    unsure = Telling(telling.told, ["a file"])
    assert (unsure.order(store.spark), unsure.unsteady()) == (None, None)


def test_what_members_lost_adds_up_over_parts(store: Store, tmp_path: Path) -> None:
    """However the events were cut, and with some that nobody else than Spark reads."""
    (rows,) = wild_batches(seed=2, groups=2, batches=1, events=600)
    together, alone = rows[:500], rows[500:]
    told = [read_together(together[at : at + 90], str(tmp_path / f"part-{at}")) for at in range(0, 500, 90)]
    bring(store, together)
    known = {file.path for file in store.log(EVENTS).files()}
    bring(store, alone)
    whole = in_one_account(told)
    assert whole is not None
    telling = Telling(whole, [file.path for file in store.log(EVENTS).files() if file.path not in known])
    events = store.read(EVENTS)
    sums = [f.max(name) for name in FLAGS] + [f.sum(name) for name in SUMS]
    made, wanted = (
        Counter(map(str, marks.groupBy(*KEY).agg(*sums).collect())) for marks in (telling.marks(store), marked(events))
    )
    assert made == wanted
    assert any(row.get("is_again") for row in rows)
