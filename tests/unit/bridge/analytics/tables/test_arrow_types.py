"""Arrow's types of our tables against Spark's and Delta's."""

import pyarrow as pa
from deltalake import Field, Schema
from pyspark.sql.pandas.types import from_arrow_schema

from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import ON_DEMAND, TABLES
from bridge.analytics.tables.table_log import DELTA_TYPES


def test_delta_has_the_same_types() -> None:
    """Every reader of Delta takes what is in the log for what is in the files."""
    for table in TABLES.values():
        schema = Schema([Field(column.name, DELTA_TYPES[column.type]) for column in table.columns])
        assert pa.schema(schema.to_arrow()) == arrow_schema(table)


def test_both_say_the_same_of_every_table() -> None:
    """Files that are written without Spark are read by it, and the other way round."""
    for table in (*TABLES.values(), *ON_DEMAND):
        assert from_arrow_schema(arrow_schema(table)) == table_schema(table)
