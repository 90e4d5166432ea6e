"""Tables that are brought on by what is new are those that are made of everything."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables import increment
from bridge.analytics.tables import store as store_module
from bridge.analytics.tables import telling as telling_module
from bridge.analytics.tables.batch_history import Extent, History
from bridge.analytics.tables.carrying import begun_of
from bridge.analytics.tables.definitions import EVENTS, FLAPS, PHASES, REBALANCES, STALLS, STORMS
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.increment import Increment
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.storms import storms
from bridge.analytics.tables.telling import Tellings
from tests.support.fleet_log import MINUTE_US
from tests.support.stretch_rows import read_in_parts
from tests.support.table_truth import contents
from tests.support.wild_events import COLUMNS, Row, some_late, wild_batches


def bring(store: Store, rows: Sequence[Row]) -> None:
    """A batch of events, as an intake would leave them."""
    store.append(EVENTS, conform(EVENTS, store.spark.createDataFrame(list(rows), COLUMNS)))


def make(derivation: Derivation) -> None:
    """All steps."""
    for stage in derivation.stages():
        for step in stage.values():
            step()


@pytest.mark.timeout(900)
def test_tables_of_any_events_are_those_of_a_run(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever follows whatever, in a dozen groups, with some that come late: every row of every table. What is new and
    what is carried are one piece, so that no order and no group has to put them together.
    """
    pieces: list[int] = []

    def noted(events: DataFrame) -> DataFrame:
        pieces.append(events.rdd.getNumPartitions())
        return begun_of(events)

    monkeypatch.setattr(increment, "begun_of", noted)
    batches = [*wild_batches(seed=7, groups=12, batches=3, events=600)]
    some_late(batches, seed=7, count=3)
    history = History(store)
    late: list[float] = []
    for batch, rows in enumerate(batches):
        bring(store, rows)
        extent = history.advance(batch)
        if extent is not None:
            late.append(len(Increment(store, batch, extent).late()) / len(extent.groups))
        make(Derivation(store, batch, extent))
    whole = Store(spark, str(tmp_path / "whole"))
    bring(whole, [row for rows in batches for row in rows])
    make(Derivation(whole, len(batches) - 1))
    brought, made = contents(store), contents(whole)
    assert {name: rows - made[name] for name, rows in brought.items()} == {name: Counter() for name in made}
    assert {name: rows - brought[name] for name, rows in made.items()} == {name: Counter() for name in made}
    assert 0 < min(late) <= max(late) < 0.9
    assert pieces == [1, 1]
    assert all(made[name] for name in ("phases", "rebalances", "stalls", "members", "flaps", "storms", "daily"))


@pytest.mark.parametrize("attempt", range(2))
@pytest.mark.timeout(900)
def test_tables_of_what_stretches_of_new_events_leave_are_those_of_a_run(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    """From a fresh seed: anything may follow anything, a batch read in parts of any size and some of it by nobody else
    than Spark, between what is carried and what comes next.
    """
    monkeypatch.setattr(store_module, "ONE_PIECE_BYTES", 0)
    monkeypatch.setattr(telling_module, "LEFT_SHARE_MAX", 10)
    seed = random.SystemRandom().randrange(10**9)
    draw = random.Random(seed)
    batches = [*wild_batches(seed=seed, groups=draw.randrange(1, 4), batches=4, events=draw.choice([60, 300]))]
    history, tellings, told_of = History(store), Tellings(), list[str]()
    for batch, rows in enumerate(batches):
        together = [row for row in rows if draw.random() < draw.choice([1, 0.97])]
        known = {file.path for file in store.log(EVENTS).files()}
        bring(store, together)
        sizes = (draw.choice([1, 7, 60, 200]) for _ in rows)
        account = read_in_parts(together, str(tmp_path / f"told-{batch}"), sizes)
        tellings.note(batch, account, [one.path for one in store.log(EVENTS).files() if one.path not in known])
        bring(store, [row for row in rows if row not in together])
        telling = tellings.of(store, history.last_batch, batch)
        extent = history.advance(batch, None if telling is None else telling.whole)
        if extent is not None and telling is not None:
            assert not extent.late
            told_of += (one.table for one in telling.told.tables)
        make(Derivation(store, batch, extent, telling=None if extent is None else telling))
    whole = Store(spark, str(tmp_path / "whole"))
    bring(whole, [row for rows in batches for row in rows])
    make(Derivation(whole, len(batches) - 1))
    brought, made = contents(store), contents(whole)
    wrong = {name: (brought[name] - made[name], made[name] - brought[name]) for name in made}
    assert {name: rows for name, rows in wrong.items() if any(rows)} == {}, f"seed {seed}"
    assert {PHASES.name, STALLS.name, FLAPS.name} <= {*told_of}, f"seed {seed}"


def test_storms_go_on_begin_and_become_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a group is cut: what came before the cut is a storm, the begin of one, or none."""
    monkeypatch.setattr(increment, "storms", partial(storms, threshold=3))
    draw = random.Random(9)
    told = [(f"g{place % 15}", f"r{place}", draw.randrange(40) * MINUTE_US, draw.choice("ab")) for place in range(240)]
    columns = "group_id string, rebalance_id string, began_us long, cause string"
    frame = store.spark.createDataFrame(told, columns).withColumn("date", f.lit(date(1970, 1, 1)))
    rows, cut_us = conform(REBALANCES, frame), f.pmod(f.hash("group_id"), f.lit(40)) * MINUTE_US
    before = rows.where(f.col("began_us") < cut_us)
    store.append(REBALANCES, before)
    store.append(STORMS, storms(before, 3))
    known = {file.path for file in store.log(REBALANCES).files()}
    store.append(REBALANCES, rows.where(f.col("began_us") >= cut_us))
    extent = Extent(after=0, groups=frozenset(), late=frozenset(), chunks=frozenset(), order=())
    Increment(store, 1, extent)._storms([one.path for one in store.log(REBALANCES).files() if one.path not in known])
    found, expected = (Counter(str(row) for row in made.collect()) for made in (store.read(STORMS), storms(rows, 3)))
    assert (found - expected, expected - found) == (Counter(), Counter())
    assert len(expected) > 15


def test_day_of_a_storm_that_joins_one_of_the_day_before_is_made_anew(store: Store) -> None:
    """Its own day has one less by then, though none of its files has anything new."""
    midnight_us = 24 * 60 * MINUTE_US
    before = [("g", f"r{at}", midnight_us + at * MINUTE_US, "a") for at in (*range(-25, -14), *range(1, 12))]
    columns = "group_id string, rebalance_id string, began_us long, cause string"

    def rebalances(rows: Sequence[tuple[str, str, int, str]]) -> DataFrame:
        dated = store.spark.createDataFrame(list(rows), columns).withColumn(
            "date", f.date_from_unix_date(f.floor(f.col("began_us") / midnight_us).cast("int"))
        )
        return conform(REBALANCES, dated)

    store.append(REBALANCES, rebalances(before))
    store.append(STORMS, storms(rebalances(before)))
    assert store.read(STORMS).select("date").distinct().count() == 2
    known = {file.path for file in store.log(REBALANCES).files()}
    store.append(REBALANCES, rebalances([("g", f"r{at}", midnight_us + at * MINUTE_US, "a") for at in range(-14, 0)]))
    bringing = Increment(store, 1, Extent(after=0, groups=frozenset(), late=frozenset(), chunks=frozenset(), order=()))
    bringing._storms([one.path for one in store.log(REBALANCES).files() if one.path not in known])
    assert store.read(STORMS).count() == 1
    assert bringing.days == {"1970-01-01", "1970-01-02"}
