"""Groups played on the executors, and the rows that come back."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import parsed
from bridge.analytics.job_run import event_lines
from bridge.analytics.replay.job import gather
from bridge.analytics.replay.playing import (
    FIGURES,
    Played,
    in_order,
    moments,
    play_group,
    play_groups,
    replays,
)
from bridge.analytics.tables.definitions import REPLAYS
from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import CommitPassed, PhaseBegan, RebalanceBegan
from bridge.whatif.comparison import OF_GROUPS, OF_NO_GROUP
from bridge.whatif.configuration import configure
from bridge.whatif.measures import measure
from bridge.whatif.timed_events import on_one_timeline
from tests.support.spark import taken, text_of
from tests.support.whatif_log import of_group, one_run, write_whatif_log

SIDES = ("recorded", "predicted")
CONSUMER = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])


@pytest.fixture(name="plays", scope="module")
def _plays(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Two groups of a log, played by Spark."""
    folder = tmp_path_factory.mktemp("events")
    write_whatif_log(folder)
    return play_groups(moments(parsed(event_lines(spark, str(folder)).lines), None), CONSUMER)


def test_groups_are_played_where_spark_runs_them_as_they_are_here(plays: DataFrame) -> None:
    """Group by group, row by row."""
    found = {row["group_id"]: row["play"] for row in plays.collect()}
    expected = {group: play_group(group, of_group(one_run(2), group), CONSUMER) for group in ("orders0", "orders1")}
    assert found.keys() == expected.keys()
    for group, play in expected.items():
        assert found[group].asDict(recursive=True) == as_dict(play)


def as_dict(play: Played) -> dict[str, object]:
    """A play as Spark gives it back."""
    rows = [
        {**one._asdict(), **{side: dict(zip(FIGURES, getattr(one, side), strict=True)) for side in SIDES}}
        for one in play.rows
    ]
    return {**play._asdict(), "rows": rows}


def test_lines_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """For the groups, for what concerns all of them, and for what is set aside: three readings of a log were most of
    what Spark did for a replay.
    """
    write_whatif_log(tmp_path)
    known = moments(parsed(event_lines(spark, str(tmp_path)).lines), "orders1")
    assert known.count() == 2
    shutil.rmtree(tmp_path)
    (row,) = play_groups(known, CONSUMER).collect()
    assert row["group_id"] == "orders1"
    assert gather(play_groups(known, CONSUMER), known, "").lines == {}


def test_rows_say_what_became_of_a_disturbance(plays: DataFrame) -> None:
    """The stranger disturbs a and b on the classic protocol, and nobody on the new one."""
    table = replays(plays, "protocol=consumer")
    assert table.columns == [*REPLAYS.column_names]
    rows = table.where("cause != '' and group_id = 'orders0'").orderBy("began_us").collect()
    assert [(row["disturbed"], row["predicted_disturbed"]) for row in rows] == [
        (0, 0),
        (0, 0),
        (2, 0),
        (2, 0),
        (0, 0),
        (0, 0),
    ]
    assert rows[2]["became"].startswith("would have been one of ")
    assert {row["configuration"] for row in rows} == {"protocol=consumer"}


def test_measures_of_a_play_are_those_of_the_tables(store: Store) -> None:
    """The definitions are the tables'; both sides of a comparison go by them."""
    events = of_group(one_run(1), "orders0")
    rows = taken(store, events)
    stood = stalls(rows).groupBy("rebalance_id").agg(f.count("*").alias("n"), f.sum("stall_us").alias("us")).collect()
    by_id = {row["rebalance_id"]: (row["n"], row["us"]) for row in stood}
    found = [one for one in measure([one for one in on_one_timeline(events) if one.group_id]) if one.rebalance_id]
    ours = {
        one.rebalance_id: (one.duration_us, one.cause, one.told, one.disturbed, one.stalls, one.stall_us)
        for one in found
    }
    assert ours == {
        row["rebalance_id"]: (
            row["duration_us"],
            row["cause"],
            row["told"],
            row["disturbed"],
            *by_id.get(row["rebalance_id"], (0, 0)),
        )
        for row in rebalances(rows).collect()
    }


def test_events_of_all_runs_are_in_order_each_once() -> None:
    """By the wall clock of their runs, then by number; a copy counts once."""
    events = one_run(1)[:5]
    later = [
        replace(one, stamp=replace(one.stamp, boot="a-later-run", wall_us=one.stamp.wall_us + 10**9)) for one in events
    ]
    assert in_order(text_of((*reversed(later), *events, *events))) == [*events, *later]


def test_group_of_a_log_that_begins_in_the_middle_comes_back_with_the_reason() -> None:
    """And with the number of its rebalances."""
    events = of_group(one_run(1), "orders0")
    blind = [event for event in events if isinstance(event.fact, RebalanceBegan | PhaseBegan)]
    begun = sum(isinstance(event.fact, RebalanceBegan) for event in blind)
    assert play_group("orders0", blind, CONSUMER) == Played(begun, "history-begins-in-the-middle", [], [])


@pytest.mark.parametrize("kind", [CommitPassed.kind])
def test_what_is_not_needed_stays_where_it_is(kind: str) -> None:
    """What is not measured does not travel."""
    assert kind not in (*OF_GROUPS, *OF_NO_GROUP)
    assert {f"predicted_{name}" for name in FIGURES} < {*REPLAYS.column_names}
