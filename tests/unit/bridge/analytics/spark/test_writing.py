"""Whether what was written is here: those who write say how much it was."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.writing import is_spread, require_here, watched


def test_session_of_one_machine_has_no_executors_elsewhere(spark: SparkSession) -> None:
    """Its threads have the disk of this process."""
    assert not is_spread(spark)


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("condition", ["true", "id = 3", "id > 99", "false"])
def test_sizes_are_those_of_the_rows_that_were_written(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, condition: str, adaptive: str
) -> None:
    """Also of none, which Spark finds out before it runs anything, or while it does."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    try:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        rows = spark.range(10).repartition(3).where(condition).groupBy("id").count()
        seen, count = watched(rows, f.col("id"))
        seen.write.parquet(str(tmp_path_factory.mktemp("rows") / "written"))
        assert count() == sum(row["id"] for row in rows.collect())
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", str(before))


def test_what_is_missing_is_told() -> None:
    """What is there is no fault."""
    require_here(3, 3, "rows", "/tables")
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-042: .* 1,200 rows to /tables, and 3 of them .* share"):
        require_here(1_200, 3, "rows", "/tables")
