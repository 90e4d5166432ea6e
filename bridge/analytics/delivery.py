"""What one batch brings: lines, and the files that they are, where those lie on this machine.

It must not know what is done with either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.closed_files import FILES
from bridge.analytics.reading import LINE, SOURCE


@dataclass(frozen=True, slots=True)
class Delivery:
    """Lines with what they came from (`LINE`, `SOURCE`); `files` are local paths that hold these lines and no others,
    none where lines come from elsewhere.
    """

    lines: DataFrame
    files: tuple[str, ...] = ()


def delivery_of(spark: SparkSession, files: Iterable[str]) -> Delivery:
    """Local files as a batch."""
    paths = tuple(sorted(files))
    return Delivery(named(spark.read.text(list(paths))), paths)


def log_files(path: str) -> tuple[str, ...]:
    """The files of a log on this machine, in order; none if the path is not of this machine."""
    if "://" in path:
        return ()
    found = Path(path)
    return (str(found),) if found.is_file() else tuple(sorted(map(str, found.glob(FILES))))


def named(lines: DataFrame) -> DataFrame:
    """Lines of files with the names of the files."""
    return lines.select(LINE, f.col("_metadata.file_name").alias(SOURCE))
