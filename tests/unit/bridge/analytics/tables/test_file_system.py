"""Files and folders by Hadoop's file systems."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from bridge.analytics.tables.file_system import FileSystem


def test_text_is_read_as_it_was_written(spark: SparkSession, tmp_path: Path) -> None:
    """Also over what was there, and where somebody else wrote it."""
    files, path = FileSystem(spark, str(tmp_path)), tmp_path / "a"
    for text in ("one", "zwölf\n"):
        files.write(str(path), text)
        assert (files.read(str(path)), path.read_text()) == (text, text)
    (tmp_path / "b").write_text("\0v1\n{}")
    assert files.read(str(tmp_path / "b")) == "\0v1\n{}"


def test_names_are_found_in_order_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    """Files and folders; what is not there may be looked for and removed as well."""
    files = FileSystem(spark, str(tmp_path))
    for name in ("b", "a", "other"):
        files.make_folder(str(tmp_path / "x" / name))
    pattern = str(tmp_path / "x" / "?")
    assert [path.rpartition("/")[2] for path in files.find(pattern)] == ["a", "b"]
    files.move(str(tmp_path / "x" / "a"), str(tmp_path / "x" / "c"))
    files.delete(str(tmp_path / "x" / "b"))
    files.delete(str(tmp_path / "x" / "b"))
    assert [path.rpartition("/")[2] for path in files.find(pattern)] == ["c"]
    assert files.find(str(tmp_path / "nowhere" / "*")) == []
    assert [files.exists(str(tmp_path / "x" / name)) for name in "bc"] == [False, True]


def test_move_of_nothing_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """Java raises it, or Hadoop says no."""
    with pytest.raises((OSError, Py4JJavaError)):
        FileSystem(spark, str(tmp_path)).move(str(tmp_path / "a"), str(tmp_path / "b"))
