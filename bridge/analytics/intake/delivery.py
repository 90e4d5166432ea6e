"""What one batch brings: lines, and the files that they are, where those lie on this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.intake.closed_files import files_in
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.reading import LINE, SOURCE


@dataclass(frozen=True, slots=True)
class Delivery:
    """Lines with what they came from (`LINE`, `SOURCE`); `files` are local and hold these lines and no others,
    none where lines come from elsewhere. `records` are the same as they come over the network, if they do.
    """

    lines: DataFrame
    files: tuple[LogFile, ...] = ()
    records: DataFrame | None = None


def delivery_of(spark: SparkSession, files: Iterable[str]) -> Delivery:
    """Local files as a batch."""
    paths = sorted(files)
    return Delivery(named(spark.read.text(paths)), tuple(map(_log_file, paths)))


def delivery_of_records(records: DataFrame) -> Delivery:
    """Records of a topic as a batch: most are a line, some may be several as in a file, one without value is none."""
    line = f.col(LINE)
    is_several = line.contains("\n") | line.contains("\r")
    lines = f.when(is_several, f.split(line, "\r\n|\r|\n")).otherwise(f.array(line))
    said = records.where(line.isNotNull())
    return Delivery(said.select(f.explode(lines).alias(LINE), SOURCE), records=records)


def log_files(path: str) -> tuple[LogFile, ...]:
    """The files of a log on this machine, in order, of which its bridge may delete some; none if the path is not of
    this machine.
    """
    if "://" in path:
        return ()
    found = Path(path)
    files = [found] if found.is_file() else files_in(found)
    return tuple(LogFile(str(file), file.name, may_go=True) for file in files)


def named(lines: DataFrame) -> DataFrame:
    """Lines of files with the names of the files."""
    return lines.select(LINE, f.col("_metadata.file_name").alias(SOURCE))


def _log_file(path: str) -> LogFile:
    return LogFile(path, Path(path).name)
