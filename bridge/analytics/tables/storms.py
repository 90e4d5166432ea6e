"""The table `storms`: times in which a group rebalanced too often."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import STORMS

SPAN_US = 600_000_000
THRESHOLD = 10
"""Ten rebalances in ten minutes are a storm."""


def storms(rebalances: DataFrame, threshold: int = THRESHOLD) -> DataFrame:
    """Unbroken times in which at least `threshold` rebalances of a group began within `SPAN_US`.

    Every rebalance that is the last of so many makes the ten minutes up to it part of a storm; such times that touch
    are one storm.
    """
    order = Window.partitionBy("group_id").orderBy("began_us", "rebalance_id")
    span = Window.partitionBy("group_id").orderBy("began_us").rangeBetween(-SPAN_US, 0)
    counted = rebalances.select("group_id", "rebalance_id", "began_us").withColumns(
        {
            "place": f.row_number().over(order),
            "peak": f.count("*").over(span),
            "first_us": f.min("began_us").over(span),
        }
    )
    hot = counted.where(f.col("peak") >= threshold)
    is_new = ~f.coalesce(f.col("first_us") <= f.lag("began_us").over(order), f.lit(False))
    of_storm = hot.withColumn("storm", f.sum(is_new.cast("int")).over(order))
    found = of_storm.groupBy("group_id", "storm").agg(
        f.min("first_us").alias("began_us"), f.max("began_us").alias("ended_us"), f.max("peak").alias("peak")
    )
    return conform(STORMS, found.transform(_with_members, rebalances))


def _with_members(found: DataFrame, rebalances: DataFrame) -> DataFrame:
    each = rebalances.select("group_id", f.col("began_us").alias("at_us"), "cause")
    inside = found.join(each, "group_id").where(f.col("at_us").between(f.col("began_us"), f.col("ended_us")))
    named = inside.groupBy("group_id", "began_us", "ended_us", "peak").agg(
        f.count("*").alias("rebalances"), f.mode("cause", deterministic=True).alias("chief_cause")
    )
    return named.withColumns({"duration_us": f.col("ended_us") - f.col("began_us"), "date": utc_day(f.col("began_us"))})
