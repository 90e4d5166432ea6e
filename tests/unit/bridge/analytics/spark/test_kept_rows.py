"""Rows that are kept."""

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

from bridge.analytics.spark.kept_rows import kept_rows


@pytest.mark.parametrize("partitions", [1, 2])
def test_rows_in_one_partition_are_not_moved_to_be_put_in_order(spark: SparkSession, partitions: int) -> None:
    """Nor to be put together; where there are several, they have to be."""
    kept = kept_rows(spark.range(10, numPartitions=partitions).withColumn("group", f.col("id") % 3))
    placed = kept.withColumn("place", f.row_number().over(Window.partitionBy("group").orderBy("id")))
    plan = placed.groupBy("group").agg(f.max("place"))._jdf.queryExecution().executedPlan().toString()
    assert ("Exchange" in str(plan)) == (partitions > 1)
    assert (kept.count(), kept.rdd.getNumPartitions()) == (10, partitions)
