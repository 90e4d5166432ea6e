"""What is shown while a job runs."""

import io
import os
import sys

import pytest
from pyspark.sql import SparkSession
from rich.progress import Progress

from bridge.analytics.spark.progress import SparkTasks, bar


class Terminal(io.StringIO):
    """Standard error on a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_step_is_a_line_where_nobody_watches(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """In a log file a bar would be noise."""
    with bar(spark.sparkContext, 2) as shown:
        shown.say("events")
        shown.say("phases")
    assert capsys.readouterr().err == "events …\nphases …\n"


def test_step_is_taken_though_nobody_reads_its_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has read enough wants the tables all the same."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone, bar(spark.sparkContext, 2) as shown:
        monkeypatch.setattr(sys, "stderr", gone)
        shown.say("events")
        shown.say("phases")


def test_step_moves_the_bar_on_a_terminal(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that begins ends the one before it, and the end ends all."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with bar(spark.sparkContext, 2) as shown:
        shown.say("events")
        shown.say("phases")
    assert "2/2" in screen.getvalue()


def test_tasks_of_idle_spark_are_none(spark: SparkSession) -> None:
    """Nothing is shown between two stages."""
    column = SparkTasks(spark.sparkContext)
    progress = Progress()
    progress.add_task("x")
    assert (column.tasks(), column.render(progress.tasks[0]).plain) == ((0, 0), "")


def test_parts_of_what_is_done_beside_spark_are_shown(spark: SparkSession) -> None:
    """Files that become columns are a third of a run."""
    column = SparkTasks(spark.sparkContext)
    progress = Progress()
    progress.add_task("x")
    column.share(3, 58)
    assert column.render(progress.tasks[0]).plain == "3/58 tasks"
