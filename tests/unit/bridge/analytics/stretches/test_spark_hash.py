"""Spark's hash without Spark."""

import random

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.stretches.spark_hash import HASH_OF_NULL, xxhash64


def test_hash_is_that_of_spark(spark: SparkSession) -> None:
    """Of texts of every length around its stripes and words, of any letters, and of null."""
    draw = random.Random(1)
    texts = ["".join(chr(draw.choice([draw.randrange(32, 127), 0xE9, 0x1F600])) for _ in range(n)) for n in range(70)]
    rows = spark.createDataFrame([(text,) for text in [*texts, None]], "text string")
    told = [row[0] for row in rows.select(f.xxhash64("text")).collect()]
    assert told == [*(xxhash64(text.encode()) for text in texts), HASH_OF_NULL]
