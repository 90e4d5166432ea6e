"""The table `flaps`: partitions that left an owner and came back to it soon.

It must not know why they were moved.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.positions import SEQ, elapsed_us
from bridge.analytics.reading import utc_day
from bridge.analytics.spark_types import conform
from bridge.analytics.stalls import ASSIGNED, PARTITION, partition_rows
from bridge.analytics.tables import FLAPS

WINDOW_US = 600_000_000
"""Away for longer than ten minutes is no flap."""


def flaps(events: DataFrame) -> DataFrame:
    """A row per return to the owner before the last, `WINDOW_US` after it lost the partition at the latest.

    A static member is known by its instance id, so that its restart is no flap.
    """
    order = Window.partitionBy(*PARTITION).orderBy(SEQ)
    owner = f.coalesce("instance_id", "member_id")
    given = partition_rows(events, ASSIGNED).withColumn("owner", owner)
    before = f.lag("owner").over(order)
    changes = given.withColumn("before", before).where(~f.coalesce(f.col("before") == f.col("owner"), f.lit(False)))
    recent = changes.withColumns({"earlier": f.lag("owner", 2).over(order), "left": f.lag("at").over(order)})
    away = recent.withColumn("away_us", elapsed_us(f.col("left"), f.col("at")))
    back = away.where((f.col("earlier") == f.col("owner")) & (f.col("away_us") <= WINDOW_US))
    columns = {
        "via": f.col("before"),
        "left_us": f.col("left.wall_us"),
        "back_us": f.col("at.wall_us"),
        "back_event": f.col("event_id"),
        "date": utc_day(f.col("at.wall_us")),
    }
    return conform(FLAPS, back.withColumns(columns))
