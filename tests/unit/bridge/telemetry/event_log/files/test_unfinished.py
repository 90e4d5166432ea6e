"""A run finds what the run before left open."""

from pathlib import Path

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.files import LogFile, find_unfinished
from bridge.telemetry.schema.facts import BridgeStopped, Event, Fact, RebalanceBegan, RebalanceEnded, Stamp
from bridge.telemetry.schema.terms import Outcome, Road


def _began(name: str) -> RebalanceBegan:
    return RebalanceBegan(group_id="g", road=Road.EMBEDDED, rebalance_id=name)


def _ended(name: str) -> RebalanceEnded:
    return RebalanceEnded(group_id="g", road=Road.EMBEDDED, rebalance_id=name, outcome=Outcome.COMPLETED)


def _write(folder: Path, boot: str, index: int, *facts: Fact) -> None:
    lines = [encode_event(Event(Stamp(boot, number, 1, 2), fact)) for number, fact in enumerate(facts, 1)]
    (folder / LogFile(boot, index).name).write_bytes(b"".join(lines) + b'{"kind":"rebalance-began","torn')


def test_rebalance_without_an_end_is_found_over_files(tmp_path: Path) -> None:
    """Only of the last run, and only what has no end in it."""
    _write(tmp_path, "a", 1, _began("older"))
    _write(tmp_path, "b", 1, _began("r1"), BridgeStopped(reason="x"), _began("r2"))
    _write(tmp_path, "b", 2, _ended("r1"), _began("r3"), _ended("r3"))
    _write(tmp_path, "c", 1, _began("mine"))
    assert find_unfinished(tmp_path, "c") == [_began("r2")]


def test_first_run_finds_nothing(tmp_path: Path) -> None:
    """An empty folder is a beginning."""
    assert find_unfinished(tmp_path, "c") == []
