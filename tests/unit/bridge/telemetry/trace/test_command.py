"""The command `trace`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.trace.command import trace
from tests.support.event_stories import cooperative_handover


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    lines = b"".join(map(encode_event, cooperative_handover().events))
    (tmp_path / "events-b1-000001.jsonl").write_bytes(lines + b'{"torn')
    return tmp_path


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(trace, list(arguments))


def test_trace_draws_the_last_rebalance(log: Path) -> None:
    """In a pipe: plain text."""
    result = run("orders", "--events", str(log))
    assert result.exit_code == 0
    assert "c4 waited 3 s for c1 to give up orders-4" in result.output
    assert "\x1b" not in result.output


def test_trace_writes_files(log: Path, tmp_path: Path) -> None:
    """Page and Perfetto's trace in one go."""
    page, perfetto = tmp_path / "page.html", tmp_path / "trace.json"
    result = run("orders", "--events", str(log), "--html", str(page), "--perfetto", str(perfetto))
    assert result.exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(perfetto.read_bytes())["traceEvents"]


def test_trace_prints_json(log: Path) -> None:
    """And nothing else."""
    result = run("orders", "--events", str(log), "--since", "1h", "--json")
    assert json.loads(result.stdout)["rebalances"][0]["epoch"] == 7


def test_trace_refuses_what_excludes_each_other(log: Path) -> None:
    """One way to choose."""
    assert run("orders", "--events", str(log), "--last", "--since", "1h").exit_code == 2
    assert "no duration" in run("orders", "--events", str(log), "--since", "soon").output


def test_trace_of_unknown_group_fails_in_one_sentence(log: Path) -> None:
    """With the groups that there are."""
    result = run("payments", "--events", str(log))
    assert result.exit_code == 1
    assert "EB-TRACE-002" in result.output


def test_trace_to_unwritable_file_fails_in_one_sentence(log: Path, tmp_path: Path) -> None:
    """The folder is not there."""
    result = run("orders", "--events", str(log), "--html", str(tmp_path / "no" / "page.html"))
    assert result.exit_code == 1
    assert "EB-TRACE-004" in result.output


def test_trace_says_what_it_left_out(log: Path) -> None:
    """Beside the picture, on standard error."""
    (log / "events-b1-000002.jsonl").write_bytes(b"no event\n")
    result = run("orders", "--events", str(log))
    assert (result.exit_code, "EB-TRACE-007" in result.stderr) == (0, True)
    assert "1 line is no event (foreign: " in result.stderr
