"""Rows that are at hand, and rows that are kept."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

from bridge.analytics.spark.rows import kept_rows, local_rows

TYPES = {"name": pa.string(), "number": pa.int64()}


def test_rows_come_with_their_types_and_no_task(spark: SparkSession) -> None:
    """In any order of any length; what is made of no rows is nothing that Spark would have to run."""
    rows = local_rows(spark, TYPES, [("a", 2**40), (None, None)])
    assert rows.dtypes == [("name", "string"), ("number", "bigint")]
    assert {tuple(row) for row in rows.collect()} == {("a", 2**40), (None, None)}
    joined = local_rows(spark, TYPES, []).join(rows, "name")
    plan = str(joined._jdf.queryExecution().executedPlan().toString())
    assert ("Join" in plan, joined.collect()) == (False, [])


@pytest.mark.parametrize("partitions", [1, 2])
def test_rows_in_one_partition_are_not_moved_to_be_put_in_order(spark: SparkSession, partitions: int) -> None:
    """Nor to be put together; where there are several, they have to be."""
    kept = kept_rows(spark.range(10, numPartitions=partitions).withColumn("group", f.col("id") % 3))
    placed = kept.withColumn("place", f.row_number().over(Window.partitionBy("group").orderBy("id")))
    plan = placed.groupBy("group").agg(f.max("place"))._jdf.queryExecution().executedPlan().toString()
    assert ("Exchange" in str(plan)) == (partitions > 1)
    assert (kept.count(), kept.rdd.getNumPartitions()) == (10, partitions)
