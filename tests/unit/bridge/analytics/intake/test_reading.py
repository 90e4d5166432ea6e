"""Which lines are events, and why others are not."""

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import (
    DETAIL,
    LINE,
    REASON,
    SOURCE,
    accepted,
    as_rejected,
    judged,
    parsed,
    refused,
    unlike,
    utc_day,
)
from bridge.telemetry.schema.facts import BridgeStarted
from bridge.telemetry.schema.fields import SCHEMA_VERSION
from tests.support.spark import lines_of, python_nodes, stamped, text_of

GOOD = text_of(stamped([BridgeStarted(bridge_version="1", is_revived=False)]))[0]
DOCUMENT: dict[str, object] = json.loads(GOOD)
STRANGERS = {
    "truncated": GOOD[:-9],
    "followed by something": GOOD + " and more",
    "no JSON": "hello",
    "an array": "[1]",
    "no object of ours": '{"name":"x"}',
    "no type of ours": json.dumps({**DOCUMENT, "number": "seven"}),
    "no type of ours beside its stamp": json.dumps({**DOCUMENT, "group_epoch": "seven"}),
    "no kind of ours": json.dumps({**DOCUMENT, "kind": "cake-baked"}),
    "no stamp": json.dumps({name: value for name, value in DOCUMENT.items() if name != "mono_us"}),
    "no group": json.dumps({**DOCUMENT, "kind": "group-deleted"}),
    "a day of no calendar": json.dumps({**DOCUMENT, "wall_us": 9 * 10**18}),
    "a day before all bridges": json.dumps({**DOCUMENT, "wall_us": -1}),
    "a number of no run": json.dumps({**DOCUMENT, "number": 2**40}),
    "a number before the first": json.dumps({**DOCUMENT, "number": -1}),
    "a clock of no machine": json.dumps({**DOCUMENT, "mono_us": -(2**63)}),
    "a time that nobody waited": json.dumps({**DOCUMENT, "idle_us": 2**63 - 1}),
    "glued": GOOD + GOOD,
    "newer": json.dumps({**DOCUMENT, "schema_version": SCHEMA_VERSION + 1}),
}


def test_line_of_each_sort_is_told_apart(spark: SparkSession) -> None:
    """Issue: truncated, foreign or newer; a blank line is nothing."""
    rows = parsed(lines_of(spark, [GOOD, "", "  ", *STRANGERS.values()])).select(REASON).collect()
    assert [row[REASON] for row in rows] == [None, *["truncated"] * 2, *["foreign"] * 15, "newer-schema"]


def test_judged_lines_are_the_parsed_ones_without_a_reason(spark: SparkSession) -> None:
    """The short way, on which every line goes, and the long one, on which refused ones do, agree; GOOD is the first."""
    lines = lines_of(spark, [GOOD, "", *STRANGERS.values()])
    rows = judged(lines, 7)
    assert [row["date"] is not None for row in rows.collect()] == [True, *[False] * len(STRANGERS)]
    assert rows.where("date is not null").collect() == accepted(parsed(lines), 7).collect()


def test_events_parted_by_a_comma_are_all_taken(spark: SparkSession) -> None:
    """Both ways agree on that, too: what is between them is lost to nobody."""
    lines = lines_of(spark, [f"{GOOD},{GOOD}"])
    assert judged(lines, 7).collect() == accepted(parsed(lines), 7).collect() == [judged(lines, 7).first()] * 2


def test_lines_unlike_those_of_a_bridge_are_known_by_their_ends(spark: SparkSession) -> None:
    """So that a torn tail is found without parsing; a blank line is nothing."""
    lines = lines_of(spark, [GOOD, " ", STRANGERS["truncated"], STRANGERS["newer"], "hello"])
    assert [row["value"] for row in unlike(lines).collect()] == [STRANGERS["truncated"], "hello"]


def test_two_events_glued_together_are_no_event(spark: SparkSession) -> None:
    """Else the second would be lost without a word."""
    (row,) = parsed(lines_of(spark, [GOOD + GOOD])).select(REASON).collect()
    assert row[REASON] == "foreign"


def test_accepted_event_keeps_its_fields(spark: SparkSession) -> None:
    """What was written is what is read, and the day goes by the wall clock."""
    (row,) = accepted(parsed(lines_of(spark, [GOOD, "hello"])), 7).collect()
    found = row.asDict()
    assert {name: found[name] for name in DOCUMENT} == DOCUMENT
    assert (str(found["date"]), found["batch"], found["group_id"]) == ("2025-11-21", 7, None)


def test_field_of_a_later_version_is_passed_over(spark: SparkSession) -> None:
    """Evolution: additional fields are ignored, missing optional ones are null."""
    (row,) = accepted(parsed(lines_of(spark, [json.dumps({**DOCUMENT, "invented": 1})])), 0).collect()
    assert row["event_id"] == DOCUMENT["event_id"]


def test_refused_line_leaves_its_digest_not_its_text(spark: SparkSession) -> None:
    """A stranger's line may hold secrets."""
    (row,) = refused(parsed(lines_of(spark, ["my password"], "t-0")), 0).collect()
    assert (row["length_bytes"], len(row["digest"]), row["source"], row["count"]) == (11, 64, "t-0", 1)
    assert "password" not in str(row)


def test_rows_without_a_reason_of_their_own_become_rejected(spark: SparkSession) -> None:
    """The shape of the table, whatever the columns."""
    names = f"{LINE} string, {SOURCE} string, {REASON} string, {DETAIL} string"
    frame = spark.createDataFrame([("x", "s", "duplicate", None)], names)
    assert as_rejected(frame, 3).select("reason", "batch", "detail").collect()[0] == ("duplicate", 3, None)


@pytest.mark.parametrize(("wall_us", "day"), [(0, "1970-01-01"), (86_399_999_999, "1970-01-01"), (-1, "1969-12-31")])
def test_day_is_the_utc_day(spark: SparkSession, wall_us: int, day: str) -> None:
    """Whatever the zone of the machine."""
    assert str(spark.range(1).select(utc_day(f.lit(wall_us)).alias("d")).collect()[0]["d"]) == day


def test_reading_calls_no_python(spark: SparkSession) -> None:
    """A Python function per row would be up to a thousand times slower."""
    lines = spark.range(1).selectExpr("'x' value", "'y' source")
    assert python_nodes(accepted(parsed(lines), 0)) == []
    assert python_nodes(judged(lines, 0)) == []
