"""Spark's types for our tables, generated from their definitions, and the cast that holds a result to them."""

from collections.abc import Mapping

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from bridge.analytics.tables.definitions import TYPE_OF_FIELD, ColumnType, Table
from bridge.telemetry.schema.fields import COLUMNS

SPARK_TYPES: Mapping[ColumnType, DataType] = {
    ColumnType.TEXT: StringType(),
    ColumnType.NUMBER: LongType(),
    ColumnType.FLAG: BooleanType(),
    ColumnType.TEXTS: ArrayType(StringType()),
    ColumnType.NUMBERS: ArrayType(LongType()),
    ColumnType.DATE: DateType(),
}


def log_schema() -> StructType:
    """The schema of one line of an event log; every field may be missing, so that older files stay readable."""
    return StructType([StructField(name, SPARK_TYPES[TYPE_OF_FIELD[field.type]]) for name, field in COLUMNS.items()])


def table_schema(table: Table) -> StructType:
    """The schema of one table."""
    return StructType([StructField(column.name, SPARK_TYPES[column.type]) for column in table.columns])


def conform(table: Table, frame: DataFrame) -> DataFrame:
    """Exactly the columns of the table, in its order and types; a column that the frame lacks is null.

    Columns that the table does not name are left out, so that files of a newer schema can be read.
    """
    present = set(frame.columns)
    return frame.select([_typed(column.name, column.type, present) for column in table.columns])


def _typed(name: str, column_type: ColumnType, present: set[str]) -> SparkColumn:
    value = f.col(name) if name in present else f.lit(None)
    return value.cast(SPARK_TYPES[column_type]).alias(name)
