"""Rows that are made once, for several questions about them."""

from pyspark.sql import DataFrame


def kept_rows(rows: DataFrame) -> DataFrame:
    """The same rows, made now, and kept as long as somebody has them.

    Of what it keeps Spark does not know how it lies: rows of one partition would be moved for each order and each group
    that somebody asks for, with a job each time.
    """
    kept = rows.localCheckpoint()
    return kept.coalesce(1) if kept.rdd.getNumPartitions() == 1 else kept
