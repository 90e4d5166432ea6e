"""Rows that Spark starts no job for: those that are at hand, and those that are made once for several questions."""

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


def kept_rows(rows: DataFrame) -> DataFrame:
    """The same rows, made now, and kept as long as somebody has them.

    Of what it keeps Spark does not know how it lies: rows of one partition would be moved for each order and each group
    that somebody asks for, with a job each time.
    """
    kept = rows.localCheckpoint()
    return kept.coalesce(1) if kept.rdd.getNumPartitions() == 1 else kept
