"""The command `report`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.report import command
from bridge.telemetry.report.command import report
from bridge.telemetry.trace.selection import find_folder as trace_find_folder
from tests.support.moved_log import moved_log


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    lines = b"".join(map(encode_event, moved_log()))
    (tmp_path / "events-b1-000001.jsonl").write_bytes(lines + b'{"torn')
    return tmp_path


NOW_US = moved_log()[-1].stamp.wall_us + 90_000_000


@pytest.fixture(autouse=True, name="writes")
def _bridge(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders to which the bridge at the admin address writes: nobody is there without one."""
    writes: list[Path] = []

    def find_folder(admin: str) -> Path:
        return writes[0] if writes else trace_find_folder(admin)

    monkeypatch.setattr(command, "now_us", lambda: NOW_US)
    monkeypatch.setattr(command, "find_folder", find_folder)
    return writes


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(report, list(arguments))


def test_report_is_printed_in_each_form(log: Path) -> None:
    """Markdown if nothing else is asked for."""
    printed = {form: run("orders", "--events", str(log), "--format", form) for form in ("md", "html", "json")}
    assert {one.exit_code for one in printed.values()} == {0}
    assert run("orders", "--events", str(log)).output == printed["md"].output
    assert printed["html"].output.startswith("<!doctype html>")
    assert len(json.loads(printed["json"].output)["chapters"]) == 2
    since = run("orders", "--events", str(log), "--since", "15s", "--format", "json")
    assert len(json.loads(since.output)["chapters"]) == 1


def test_last_chapter_lasts_until_now_only_where_a_bridge_writes_on(
    log: Path, tmp_path: Path, writes: list[Path]
) -> None:
    """A bridge that was killed does not say that it stopped: what its groups did since then nobody has seen."""

    def lasts_s(*arguments: str) -> float:
        chapters = json.loads(run("orders", *arguments, "--format", "json").output)["chapters"]
        return float(chapters[-1]["duration_s"])

    assert lasts_s("--events", str(log), "--admin", "127.0.0.1:1") < 90
    writes.append(tmp_path / "elsewhere")
    assert lasts_s("--events", str(log)) < 90
    writes[:] = [log]
    assert lasts_s("--events", str(log)) > 90
    assert lasts_s() > 90


def test_log_that_says_nothing_is_a_failure(log: Path, tmp_path: Path) -> None:
    """No such group, no log, no bridge that says where one is."""
    (tmp_path / "none").mkdir()
    assert "EB-TRACE-002" in run("nobody", "--events", str(log)).output
    assert "EB-TRACE-001" in run("orders", "--events", str(tmp_path / "none")).output
    assert "EB-TRACE-005" in run("orders", "--admin", "127.0.0.1:1").output
    assert run("orders", "--events", str(log), "--since", "soon").exit_code == 2
