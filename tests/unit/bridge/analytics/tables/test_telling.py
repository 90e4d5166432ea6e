"""Tables of what stretches tell and of what is left, beside those of all events."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.stretches.clocks import RunClocks
from bridge.analytics.stretches.files import Account
from bridge.analytics.stretches.shares import FLAGS, KEY, SUMS
from bridge.analytics.tables import telling
from bridge.analytics.tables.definitions import BATCH, DATE, EVENTS, FLAPS, PHASES, STALLS, Table
from bridge.analytics.tables.disturbance import marked
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.positions import JUMP_MIN_US, positioned, runs
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import Staged, Store
from bridge.analytics.tables.telling import Telling, Tellings
from tests.support.stretch_rows import read_in_parts, read_together
from tests.support.wild_events import COLUMNS, Row, wild_batches

MAKE = {PHASES.name: phases, STALLS.name: stalls, FLAPS.name: flaps}
TABLES = (PHASES, STALLS, FLAPS)


def bring(store: Store, rows: Sequence[Row]) -> None:
    """Rows of `events`."""
    store.append(EVENTS, conform(EVENTS, store.spark.createDataFrame(list(rows), COLUMNS)))


def sizes(draw: random.Random, *known: int) -> Iterator[int]:
    """One of these, again and again."""
    while True:
        yield draw.choice(known)


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
    whole = read_in_parts(together, str(tmp_path / "part"), sizes(draw, 1, 7, 60, 200))
    bring(store, together)
    known = {file.path for file in store.log(EVENTS).files()}
    bring(store, alone)
    untold = [file.path for file in store.log(EVENTS).files() if file.path not in known]
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
    whole = read_in_parts(rows, str(tmp_path / "part"), sizes(draw, 7, 60, 200))
    bring(store, rows)
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
    whole = read_in_parts(together, str(tmp_path / "part"), repeat(90))
    bring(store, together)
    known = {file.path for file in store.log(EVENTS).files()}
    bring(store, alone)
    telling = Telling(whole, [file.path for file in store.log(EVENTS).files() if file.path not in known])
    events = store.read(EVENTS)
    sums = [f.max(name) for name in FLAGS] + [f.sum(name) for name in SUMS]
    made, wanted = (
        Counter(map(str, marks.groupBy(*KEY).agg(*sums).collect())) for marks in (telling.marks(store), marked(events))
    )
    assert made == wanted
    assert any(row.get("is_again") for row in rows)


def test_what_batches_tell_is_asked_for_while_their_files_stand(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were put together with others hold events that are told and others: Spark looks at all then. So it
    does where stretches leave too much.
    """
    monkeypatch.setattr(telling, "LEFT_SHARE_MAX", 10)
    batches = [*wild_batches(seed=3, groups=1, batches=3, events=60)]
    tellings, paths = Tellings(), list[str]()
    for batch, rows in enumerate(batches):
        bring(store, rows)
        added = [file.path for file in store.log(EVENTS).files() if file.path not in paths]
        paths += added
        if batch:
            tellings.note(batch, read_together(rows, str(tmp_path / f"{batch}")), added)
    both = tellings.of(store, 0, 2)
    assert both is not None
    assert ({clock.boot for clock in both.told.clocks}, [*both.untold]) == ({"b1", "b2"}, [])
    first = tellings.of(store, 0, 1)
    assert first is not None
    assert {clock.boot for clock in first.told.clocks} == {"b1"}
    some = tellings.of(store, -1, 2)
    assert some is not None
    assert {*some.untold} == {file.path for file in store.log(EVENTS).files() if file.lies_in(BATCH, 0, 0)}
    assert tellings.of(store, 2, 3) is None
    with monkeypatch.context() as patched:
        patched.setattr(telling, "LEFT_SHARE_MAX", 0.01)
        patched.setattr(telling, "SPARED_BATCHES", 3)
        assert tellings.ask()
        assert tellings.of(store, 0, 2) is None
        assert [tellings.ask() for _ in range(4)] == [False, False, True, True]
    held = store.log(EVENTS).files()
    whole = store.stage(EVENTS, store.read(EVENTS))
    store.commit(EVENTS, whole, held)
    assert tellings.of(store, 0, 2) is None
    assert tellings.forget(1) == [1]
    assert tellings.forget(2) == [2]
