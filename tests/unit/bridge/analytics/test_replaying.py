"""Groups played on the executors, and the rows that come back."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from bridge.analytics.job_run import event_lines
from bridge.analytics.reading import LINE, parsed
from bridge.analytics.replaying import FIGURES, OF_GROUPS, OF_NO_GROUP, in_order, play_group, play_groups, replays
from bridge.analytics.tables import REPLAYS
from bridge.telemetry.schema.facts import CommitPassed, MemberFact, RebalanceBegan
from bridge.whatif.configuration import configure
from bridge.whatif.rows import write_event
from tests.support.spark import lines_of, text_of
from tests.support.whatif_log import group_events, write_whatif_log

CONSUMER = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])


def test_groups_are_played_where_spark_runs_them_as_they_are_here(spark: SparkSession, tmp_path: Path) -> None:
    """Group by group, row by row."""
    logged = write_whatif_log(tmp_path)
    plays = play_groups(parsed(event_lines(spark, str(tmp_path))), CONSUMER)
    found = {row["group_id"]: row["play"] for row in plays.collect()}
    expected = {
        f"orders{number}": play_group(f"orders{number}", events, CONSUMER) for number, events in enumerate(logged)
    }
    assert {group: (play["set_aside"], play["reason"]) for group, play in found.items()} == dict.fromkeys(
        expected, (0, "")
    )
    for group, play in expected.items():
        assert [tuple(row) for row in found[group]["rows"]] == [
            (*row[:5], Row(*row.recorded), Row(*row.predicted)) for row in play.rows
        ]


def test_rows_say_what_became_of_a_disturbance(spark: SparkSession, tmp_path: Path) -> None:
    """The stranger disturbs a and b on the classic protocol, and nobody on the new one."""
    write_whatif_log(tmp_path, groups=1)
    plays = play_groups(parsed(event_lines(spark, str(tmp_path))), CONSUMER)
    table = replays(plays, "protocol=consumer")
    assert table.columns == [*REPLAYS.column_names]
    rows = table.where("cause != ''").orderBy("began_us").collect()
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


def test_events_of_all_runs_are_in_order_each_once() -> None:
    """By the wall clock of their runs, then by number; a copy counts once."""
    events = group_events("orders")[:5]
    later = [
        replace(one, stamp=replace(one.stamp, boot="a-later-run", wall_us=one.stamp.wall_us + 10**9)) for one in events
    ]
    rows = [
        Row(boot=one.stamp.boot, number=one.stamp.number, wall_us=one.stamp.wall_us, **{LINE: write_event(one)})
        for one in (*reversed(later), *events, *events)
    ]
    assert in_order(rows) == [*events, *later]


def test_group_of_a_log_that_begins_in_the_middle_comes_back_with_the_reason(spark: SparkSession) -> None:
    """And with the number of its rebalances; the others are played."""
    whole = group_events("whole")
    blind = [
        event
        for event in group_events("blind")
        if isinstance(event.fact, RebalanceBegan)
        or (isinstance(event.fact, MemberFact) and event.fact.kind.startswith("phase"))
    ]
    plays = play_groups(parsed(lines_of(spark, text_of([*whole, *blind]))), CONSUMER)
    found = {row["group_id"]: row["play"] for row in plays.collect()}
    begun = sum(isinstance(event.fact, RebalanceBegan) for event in blind)
    assert (found["blind"]["reason"], found["blind"]["set_aside"], found["blind"]["rows"]) == (
        "history-begins-in-the-middle",
        begun,
        [],
    )
    assert found["whole"]["rows"]


@pytest.mark.parametrize("kind", [CommitPassed.kind])
def test_what_is_not_needed_stays_where_it_is(kind: str) -> None:
    """What is not measured does not travel."""
    assert kind not in (*OF_GROUPS, *OF_NO_GROUP)
    assert {f"predicted_{name}" for name in FIGURES} < {*REPLAYS.column_names}
