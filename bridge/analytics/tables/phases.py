"""The table `phases`: every begin of a phase with its end."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import EPISODE, PHASES
from bridge.analytics.tables.positions import MOMENT, SEQ, SORT_KEY, elapsed_us, keyed, moment
from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded

_IS_BEGIN = "is_begin"
_OF_BEGIN = (*EPISODE, "instance_id", "protocol", "road", "member_epoch", "boot")
_OF_BOTH = (_IS_BEGIN, "waits_on", "event_id", *MOMENT)


def phases(events: DataFrame) -> DataFrame:
    """Pair each begin with the event after it in its episode: if that is no end, the log does not show one."""
    return conform(PHASES, _followed(events).withColumns(_spell()))


def open_phases(events: DataFrame) -> DataFrame:
    """The begins that nothing follows in their episode: of all that was, only those tell what comes of later events."""
    last = _followed(events).where(f.col("next_event_id").isNull())
    return last.select(f.lit(PhaseBegan.kind).alias("kind"), *_OF_BEGIN, *_OF_BOTH[1:])


def _followed(events: DataFrame) -> DataFrame:
    """Each begin with the event after it in its episode."""
    order = Window.partitionBy(*SORT_KEY).orderBy(SEQ)
    rows = _slim_rows(events)
    return rows.withColumns({f"next_{name}": f.lead(name).over(order) for name in _OF_BOTH}).where(_IS_BEGIN)


def _slim_rows(events: DataFrame) -> DataFrame:
    """A row per begin and end, an end without what only begins are asked for: it is moved and sorted."""
    is_begin = f.col("kind") == PhaseBegan.kind
    rows = keyed(events.where(f.col("kind").isin(PhaseBegan.kind, PhaseEnded.kind)), *EPISODE)
    of_begin = (f.when(is_begin, f.col(name)).alias(name) for name in _OF_BEGIN)
    return rows.select(*SORT_KEY, is_begin.alias(_IS_BEGIN), *of_begin, *_OF_BOTH[1:])


def _spell() -> dict[str, Column]:
    begin, after = moment(), f.struct(*(f.col(f"next_{name}").alias(name) for name in MOMENT))
    is_closed = f.coalesce(~f.col(f"next_{_IS_BEGIN}"), f.lit(False))
    end = f.when(is_closed, after)
    waited_last = f.when(is_closed & (f.size("next_waits_on") > 0), f.col("next_waits_on"))
    return {
        "began_us": f.col("wall_us"),
        "ended_us": end["wall_us"],
        "duration_us": elapsed_us(begin, end),
        "is_closed": is_closed,
        "waits_on": f.coalesce(waited_last, f.col("waits_on")),
        "began_event": f.col("event_id"),
        "ended_event": f.when(is_closed, f.col("next_event_id")),
        "date": utc_day(f.col("wall_us")),
    }
