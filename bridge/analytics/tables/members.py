"""The table `members`: with which library, protocol and road a member was there, and how long."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import MEMBERS
from bridge.analytics.tables.positions import SEQ, elapsed_us, moment
from bridge.telemetry.schema.facts import MemberJoined, MemberLeft, MemberRejoined, MemberRevived, MemberSubscribed

INPUTS = (MemberJoined.kind, MemberRevived.kind, MemberRejoined.kind, MemberSubscribed.kind)
STATE = ("instance_id", "client_id", "client_host", "library", "library_version", "protocol", "road")


def members(events: DataFrame) -> DataFrame:
    """Spans of the same state; a span ends with another state, or when the member goes."""
    return conform(MEMBERS, _spans(events).withColumns(_spell()))


def living(events: DataFrame) -> DataFrame:
    """The begin of each span that has no end: of all that was, only those tell what comes of later events."""
    last = _spans(events).where(f.col("next").isNull())
    kind = f.lit(MemberJoined.kind).alias("kind")
    return last.select(kind, "group_id", "member_id", *STATE, "event_id", "at.wall_us", "at.mono_us", SEQ)


def _spans(events: DataFrame) -> DataFrame:
    order = Window.partitionBy("group_id", "member_id").orderBy(SEQ)
    rows = events.where(f.col("kind").isin(*INPUTS, MemberLeft.kind))
    slim = rows.select("group_id", "member_id", "departure", *STATE, "event_id", moment().alias("at"), SEQ)
    stated = slim.withColumns({"state": f.struct(*STATE), "is_going": f.col("departure").isNotNull()})
    previous = f.lag(f.struct("state", "is_going")).over(order)
    is_same = ~previous["is_going"] & (previous["state"] == f.col("state"))
    turns = stated.withColumn("is_same", f.coalesce(is_same, f.lit(False))).where(f.col("is_going") | ~f.col("is_same"))
    after = f.lead(f.struct("at", "departure")).over(order)
    return turns.withColumn("next", after).where(~f.col("is_going"))


def _spell() -> dict[str, Column]:
    begin, end = f.col("at"), f.col("next.at")
    return {
        "began_us": begin["wall_us"],
        "ended_us": end["wall_us"],
        "duration_us": elapsed_us(begin, end),
        "departure": f.col("next.departure"),
        "began_event": f.col("event_id"),
        "date": utc_day(begin["wall_us"]),
    }
