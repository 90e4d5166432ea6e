"""Spark's types, and frames of other schema versions."""

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from bridge.analytics.spark.column_types import conform, log_schema, table_schema
from bridge.analytics.tables.definitions import STORMS, TABLES
from bridge.telemetry.schema.fields import COLUMNS


def test_log_schema_has_every_field() -> None:
    """In the log's order."""
    assert log_schema().names == list(COLUMNS)


def test_table_schema_types_follow_the_definition() -> None:
    """One Spark type per column."""
    assert {name: table_schema(table).names for name, table in TABLES.items()} == {
        name: list(table.column_names) for name, table in TABLES.items()
    }


def test_frame_of_another_version_is_brought_to_the_table(spark: SparkSession) -> None:
    """A missing column is null, a further one is left out, a narrower type is widened."""
    frame = spark.createDataFrame([("g", 5, "new")], "group_id string, peak int, invented string")
    expected = spark.createDataFrame([("g", None, None, None, None, 5, None, None)], table_schema(STORMS))
    assertDataFrameEqual(conform(STORMS, frame), expected)
