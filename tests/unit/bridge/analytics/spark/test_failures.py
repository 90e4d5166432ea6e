"""What Spark, Java and the disk raise becomes one sentence with the cause that lies at the bottom."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.failures import cause_of, told_failures


def test_job_that_spark_gives_up_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """Spark wraps what it was four times, and says it on two pages."""
    (tmp_path / "x.parquet").write_text("garbage!")
    with (
        pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-012: .*is not a Parquet file.*run the same command again"),
        told_failures(),
    ):
        spark.read.schema("a int").parquet(str(tmp_path)).collect()


def test_full_disk_is_one_sentence() -> None:
    """Whoever writes."""
    with pytest.raises(AnalyticsError, match=r"\(\[Errno 28\] full: 'a'\)"), told_failures():
        raise OSError(errno.ENOSPC, "full", "a")


def test_plan_that_spark_refuses_is_a_bug(spark: SparkSession) -> None:
    """Told as what it is."""
    with pytest.raises(AnalysisException), told_failures():
        spark.range(1).select("nothing").collect()


def test_file_that_is_gone_is_no_bug() -> None:
    """A report reads the files of its snapshot, and an upkeep with few hours may remove them before they are opened."""
    gone = AnalysisException("[PATH_NOT_FOUND] Path does not exist: file:/x.\nat", "PATH_NOT_FOUND", {})
    with (
        pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-016: .*file:/x\.\); .*run the same command again"),
        told_failures(),
    ):
        raise gone


def test_reader_that_has_left_is_no_failure() -> None:
    """As of `… | head`: the command line ends without a word."""
    with pytest.raises(BrokenPipeError), told_failures():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_cause_is_a_line() -> None:
    """And never empty."""
    assert cause_of(ValueError("a\nb")) == "a"
    assert cause_of(ValueError()) == "ValueError"


def test_what_breaks_in_a_python_process_is_named_by_its_last_line(spark: SparkSession) -> None:
    """Its traceback has forty lines, of which the first says nothing."""

    def fail(_rows: object) -> Iterator[int]:
        raise ModuleNotFoundError("No module named 'bridge'")

    with pytest.raises(AnalyticsError, match=r"\(ModuleNotFoundError: No module named 'bridge'\)"), told_failures():
        spark.sparkContext.parallelize([1]).mapPartitions(fail).collect()


def test_causes_that_delta_names_are_told_in_one_line() -> None:
    """It paints them, one below the other; the last one says most."""
    said = "Generic LocalFileSystem error\n   \x1b[31m↳\x1b[0m Unable to walk dir\n   \x1b[31m↳\x1b[0m Not a directory"
    whole = r"\(Generic LocalFileSystem error: Unable to walk dir: Not a directory\)"
    with pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-012: the job broke off {whole}"), told_failures():
        raise OSError(said)
    with pytest.raises(AnalyticsError, match=r"\(it is not so\)"), told_failures():
        raise DeltaError("it is not so")
