"""Rows that are at hand."""

import pyarrow as pa
from pyspark.sql import SparkSession

from bridge.analytics.spark.local_rows import local_rows

TYPES = {"name": pa.string(), "number": pa.int64()}


def test_rows_come_with_their_types_and_no_task(spark: SparkSession) -> None:
    """In any order of any length; what is made of no rows is nothing that Spark would have to run."""
    rows = local_rows(spark, TYPES, [("a", 2**40), (None, None)])
    assert rows.dtypes == [("name", "string"), ("number", "bigint")]
    assert {tuple(row) for row in rows.collect()} == {("a", 2**40), (None, None)}
    joined = local_rows(spark, TYPES, []).join(rows, "name")
    plan = str(joined._jdf.queryExecution().executedPlan().toString())
    assert ("Join" in plan, joined.collect()) == (False, [])
