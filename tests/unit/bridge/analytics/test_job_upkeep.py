"""The job that keeps tables up: what it says, and when a stream does it."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake.exceptions import DeltaError

from bridge.analytics import job_upkeep
from bridge.analytics.command import analytics
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.job_upkeep import UpkeepSchedule, main, today, told, told_failures
from bridge.analytics.tables.definitions import FLAPS
from bridge.analytics.tables.table_log import DataFile, TableLog
from bridge.analytics.tables.upkeep import Tended, Upkeep


def test_what_was_done_is_told_by_table() -> None:
    """Tables for which nothing was due are left out."""
    done = [
        Tended(table="events", expired=2, gathered=("2025-11-20",), removed=9),
        Tended(table="daily", expired=0, gathered=(), removed=0),
    ]
    assert told(done) == ["events       2 files of old days left, 1 day gathered, 9 files removed"]
    assert told(done[1:]) == ["nothing was due"]
    left = Tended(table="events", expired=0, gathered=(), removed=0, is_crossed=True)
    assert told([left]) == ["events       is left until the next upkeep: its files were changed at the same time"]


def test_command_removes_old_days(tmp_path: Path) -> None:
    """Without Spark."""
    log = TableLog(f"{tmp_path}/flaps", FLAPS)
    days = [str(datetime.now(UTC).date() - timedelta(days=days)) for days in (1, 9)]
    log.commit([DataFile(path=f"date={day}/a", size_bytes=1, day=day) for day in days])
    answer = CliRunner().invoke(analytics, ["upkeep", "--out", str(tmp_path), "--keep", "flaps=2"])
    assert (answer.exit_code, answer.output.split()[:2]) == (0, ["flaps", "1"])
    assert [file.day for file in TableLog(f"{tmp_path}/flaps", FLAPS).files()] == days[:1]


def test_command_loads_no_spark(tmp_path: Path) -> None:
    """Nor what speaks to Java: `epochbridge[duckdb]` has neither. What can't be done is one sentence all the same."""
    (tmp_path / "flaps" / "_delta_log").mkdir(parents=True)
    (tmp_path / "flaps" / "_delta_log" / "00000000000000000000.json").write_text("{")
    program = f"""
import sys
from bridge.analytics.command import analytics
sys.modules.update(pyspark=None, py4j=None)
analytics(["upkeep", "--out", {str(tmp_path)!r}])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert ended.stderr.startswith("Error: EB-ANALYTICS-040: the log of the table flaps can't be read (")


@pytest.mark.parametrize("failure", [OSError(28, "full"), DeltaError("no")])
def test_what_breaks_it_off_is_one_sentence(failure: Exception) -> None:
    """Of the disk and of Delta; a reader that has left is none."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-036: .*run the same command again"), told_failures():
        raise failure
    with pytest.raises(BrokenPipeError), told_failures():
        raise BrokenPipeError


@pytest.mark.parametrize("out", ["hdfs://c/tables", "/nowhere"])
def test_tables_elsewhere_are_refused(out: str) -> None:
    """Their files would have to come here."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-035: .* is no folder of this machine"):
        main(out, {}, 168)


def test_day_is_that_of_the_file_system(tmp_path: Path) -> None:
    """Which also says how old files are."""
    assert abs(today(str(tmp_path)) - datetime.now(UTC).date()) <= timedelta(days=1)


def test_stream_does_it_once_in_so_many_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And when it ends; not for tables on other machines. It says what it had to leave."""
    asked: list[str] = []

    def tend(out: str, *_: object) -> list[Tended]:
        asked.append(out)
        return [Tended(table="events", expired=0, gathered=(), removed=0, is_crossed=True)]

    monkeypatch.setattr(job_upkeep, "tend", tend)
    schedule = UpkeepSchedule(str(tmp_path), Upkeep(), 3)
    for _ in range(7):
        schedule.turn()
    assert len(asked) == 2
    schedule.do()
    UpkeepSchedule("hdfs://c/tables", Upkeep(), 3).do()
    assert asked == [str(tmp_path)] * 3
    assert capsys.readouterr().err.count("events       is left until the next upkeep") == 3
