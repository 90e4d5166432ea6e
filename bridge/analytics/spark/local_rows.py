"""Rows that are at hand, as Spark has them without a task: it knows how many they are, and that there are none."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def local_rows(spark: SparkSession, types: Mapping[str, pa.DataType], rows: Sequence[Sequence[object]]) -> DataFrame:
    """Rows with columns of these types, in their order.

    By Arrow: tuples of Python would come to Spark as a job that reads them, of unknown size, and whatever is made of no
    rows would be made all the same.
    """
    columns = [[row[place] for row in rows] for place in range(len(types))]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types.values(), strict=True)]
    return spark.createDataFrame(pa.table(arrays, names=[*types]))
