"""The command `shadow`."""

import json
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bridge.analytics.shadow import command
from bridge.analytics.shadow.command import shadow
from bridge.telemetry.event_log.codec import encode_event
from tests.support.event_stories import Story
from tests.support.whatif_log import write_whatif_log


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    write_whatif_log(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(shadow, list(arguments))


def test_what_the_log_has_is_told_at_once(log: Path) -> None:
    """A line for each rebalance, then the sums."""
    told = run("orders1", "--events", str(log), "--once")
    assert told.exit_code == 0
    printed = [line for line in told.output.splitlines() if line]
    lines, sums = printed[: -len(command.MEASURES) - 1], printed[-len(command.MEASURES) :]
    assert [line.rsplit(maxsplit=3)[0].strip() for line in sums] == [*command.MEASURES.values()]
    assert all(": would " in line for line in lines)
    assert "orders1" in told.output
    assert "2 members disturbed" in told.output
    assert told.output.count("would have been") >= 4


def test_lines_of_json_are_for_programs(log: Path) -> None:
    """The last has the sums."""
    lines = [json.loads(line) for line in run("orders1", "--events", str(log), "--once", "--json").output.splitlines()]
    assert sum(one["recorded"]["disturbed"] for one in lines[:-1]) == lines[-1]["recorded"]["disturbed"] == 4
    assert lines[-1]["predicted"]["disturbed"] == 0


def test_reader_that_is_gone_is_no_fault_of_the_log(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `head` goes: it was said that the event log can't be read."""

    def gone(*_words: object, **_how: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(click, "echo", gone)
    ran = run("orders1", "--events", str(log), "--once")
    assert isinstance(ran.exception, BrokenPipeError)


def test_live_group_is_followed_until_it_is_enough(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C gives the sums; what is too young is told by a later look."""
    looks = list[float]()

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        monkeypatch.setattr(command, "SETTLED_US", 0)
        if len(looks) > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "SETTLED_US", 2**62)
    monkeypatch.setattr(time, "sleep", sleep)
    told = run("orders1", "--events", str(log), "--every", "0.5")
    assert (told.exit_code, looks) == (0, [0.5, 0.5])
    assert told.output.count("instead of") >= 4
    assert "seconds that partitions stood still" in told.output


def test_group_that_is_not_there_yet_is_waited_for(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once; with --once it is a failure."""
    looks = list[float]()

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    told = run("nobody", "--events", str(log))
    assert (told.exit_code, told.output.count("EB-SHADOW-003")) == (0, 1)
    refused = run("nobody", "--events", str(log), "--once")
    assert (refused.exit_code, "EB-SHADOW-003" in refused.output) == (1, True)


def test_what_can_t_be_had_is_said(log: Path, tmp_path: Path) -> None:
    """No log, no bridge, no such assignor, a group of which too little is known."""
    (tmp_path / "none").mkdir()
    story = Story()
    story.at(1).began(2)
    story.at(2).left("c1")
    blind = tmp_path / "blind"
    blind.mkdir()
    (blind / "events-b1-000001.jsonl").write_bytes(b"".join(map(encode_event, story.events)))
    assert "EB-SHADOW-001" in run("orders1", "--events", str(tmp_path / "none")).output
    assert "EB-SHADOW-002" in run("orders1", "--events", str(tmp_path / "nowhere")).output
    assert "EB-SHADOW-004" in run("orders", "--events", str(blind), "--once").output
    assert "EB-TRACE-005" in run("orders1", "--admin", "127.0.0.1:1").output
    assert "EB-WHATIF-001" in run("orders1", "--events", str(log), "--assignor", "best").output
