"""What a batch brings: lines, and the files on this machine that they are."""

from pathlib import Path

from pyspark.sql import SparkSession

from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.delivery import Delivery, delivery_of, delivery_of_records, log_files
from tests.support.spark import lines_of, python_nodes, records_of


def test_files_are_taken_in_order_and_lines_come_with_their_names(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the order in which they were found."""
    paths = [str(tmp_path / f"events-b1-00000{number}.jsonl") for number in (2, 1)]
    for path in paths:
        Path(path).write_text(f"{path[-7]}\n")
    delivery = delivery_of(spark, paths)
    assert delivery.files == tuple(LogFile(path, Path(path).name) for path in reversed(paths))
    assert sorted(map(tuple, delivery.lines.collect())) == [("1", Path(paths[1]).name), ("2", Path(paths[0]).name)]


def test_record_of_several_lines_is_several_lines(spark: SparkSession) -> None:
    """As in a file, however they end; what has no value says nothing."""
    records = records_of(spark, [("one", "t-0"), ("two\nthree\r\nfour\rfive\n", "t-1"), (None, "t-1")])
    delivery = delivery_of_records(records)
    said = [tuple(row) for row in delivery.lines.where("value != ''").collect()]
    assert said == [("one", "t-0"), *((word, "t-1") for word in ("two", "three", "four", "five"))]
    assert (delivery.files, delivery.records) == ((), records)
    assert python_nodes(delivery.lines) == []


def test_lines_from_elsewhere_have_no_files(spark: SparkSession) -> None:
    """As those of a topic."""
    assert Delivery(lines_of(spark, ["hello"])).files == ()


def test_files_of_a_log_are_those_that_a_bridge_names(tmp_path: Path) -> None:
    """Of a folder; a file that is named counts whatever its name, and a path of elsewhere has none here. Their bridge
    may delete any of them meanwhile.
    """
    for name in ("events-b1-000002.jsonl", "events-b1-000001.jsonl", "other.jsonl"):
        (tmp_path / name).write_text("")
    names = [f"events-b1-00000{number}.jsonl" for number in (1, 2)]
    assert log_files(str(tmp_path)) == tuple(LogFile(str(tmp_path / name), name, may_go=True) for name in names)
    assert log_files(str(tmp_path / "other.jsonl")) == (
        LogFile(str(tmp_path / "other.jsonl"), "other.jsonl", may_go=True),
    )
    assert log_files(f"file://{tmp_path}") == ()
