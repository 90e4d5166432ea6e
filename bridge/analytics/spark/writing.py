"""Whether what Spark's executors wrote is here.

An executor with a disk of its own writes to that and says that all went well, and Spark calls the job done whose files
it does not find: a batch of a stream was taken then, with nothing in it.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError

_SIZE = "size"


def is_spread(spark: SparkSession) -> bool:
    """Whether executors may be on other machines than this one."""
    return not str(spark.sparkContext.master).startswith("local")


def watched(rows: DataFrame, size: Column) -> tuple[DataFrame, Callable[[], int]]:
    """Rows to be written once, and what their sizes came to by those who wrote them, who are to be asked afterwards.

    It is summed up as the rows go by, and counts each task once, however often one is tried.
    """
    witness = Observation()
    seen = rows.observe(witness, f.coalesce(f.sum(size), f.lit(0)).alias(_SIZE))
    # Where Spark finds that there are no rows at all, it leaves out what would look at them.
    return seen, lambda: int(witness.get.get(_SIZE, 0))


def require_here(written: int, here: int, unit: str, folder: str) -> None:
    """Raise AnalyticsError where less of something is in a folder than was written to it."""
    if here < written:
        raise AnalyticsError(
            f"EB-ANALYTICS-042: executors wrote {written:,} {unit} to {folder}, and {here:,} of them are there for the "
            "driver: some have a disk of their own under that path. Nothing of it was committed; let --out be a path "
            "that the driver and all executors share, or run with --master local[*]"
        )
