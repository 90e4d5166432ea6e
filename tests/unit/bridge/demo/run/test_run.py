"""How a run ends for the user: report, JSON, status, sentences. It must not start processes."""

import io
import json
import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.demo import run
from bridge.demo.errors import DemoError, KafkaLaunchError
from bridge.demo.fleet import FleetError
from bridge.demo.judge import Verdict
from bridge.demo.run import Interrupted, explain, run_demo
from bridge.demo.story import DemoOptions

PROGRAMME = DemoOptions(members=2, partitions=2, seconds=0, tui=False)
GOOD = Verdict(
    records_produced=10,
    records_lost=0,
    records_duplicated=1,
    double_ownership=(),
    rebalances=4,
    rolls=(),
    disturbances=(),
    longest_stall=None,
    protocols_seen=("classic", "consumer"),
    commit_mismatches=(),
    silent_clients=(),
)
PROMISED = {
    "records_produced": 10,
    "records_lost": 0,
    "records_duplicated": 1,
    "double_ownership": 0,
    "rebalances": 4,
    "members_rolled": 0,
    "members_disturbed": 0,
    "max_stall_ms": 0.0,
    "protocols_seen": ["classic", "consumer"],
    "ok": True,
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs keep their files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def perform_as(monkeypatch: pytest.MonkeyPatch, outcome: Verdict | BaseException) -> None:
    """Let the run have this outcome."""

    def perform(*_: object) -> Verdict:
        if isinstance(outcome, Verdict):
            return outcome
        raise outcome

    monkeypatch.setattr(run, "perform", perform)


def test_good_run_writes_exactly_the_promised_keys(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """In their order, status 0, and no file left behind."""
    perform_as(monkeypatch, GOOD)
    out = io.StringIO()
    assert run_demo(PROGRAMME, out) == 0
    assert json.loads(out.getvalue()) == PROMISED
    assert list(json.loads(out.getvalue())) == list(PROMISED)
    assert list(place.iterdir()) == []


def test_bad_verdict_is_status_1_and_keeps_the_logs(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """The figures are written all the same."""
    perform_as(monkeypatch, replace(GOOD, records_lost=3))
    out = io.StringIO()
    assert run_demo(PROGRAMME, out) == 1
    assert json.loads(out.getvalue()) == {**PROMISED, "records_lost": 3, "ok": False}
    assert len(list(place.iterdir())) == 1


def test_failure_deep_in_groups_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, the cause before its consequences."""
    consequence, cause = FleetError("EB-FLEET-002: a died"), DemoError("EB-DEMO-004: the bridge ended")
    perform_as(monkeypatch, ExceptionGroup("g", [consequence, ExceptionGroup("h", [cause])]))
    assert run_demo(PROGRAMME, None) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "EB-DEMO-004: the bridge ended"
    assert second.startswith("What every process wrote is kept in ")


def test_signal_ends_with_its_number(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """128 + 15 after SIGTERM, as shells count; and the handler of before is back."""
    before = signal.getsignal(signal.SIGTERM)
    perform_as(monkeypatch, ExceptionGroup("g", [Interrupted(signal.SIGTERM)]))
    assert run_demo(PROGRAMME, None) == 143
    assert capsys.readouterr().err.startswith("EB-DEMO-010: ended as asked (SIGTERM received)")
    assert signal.getsignal(signal.SIGTERM) is before


def test_bug_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody expects is raised."""
    perform_as(monkeypatch, ZeroDivisionError("bug"))
    with pytest.raises(ZeroDivisionError):
        run_demo(PROGRAMME, None)


def test_every_expected_cause_has_a_sentence() -> None:
    """Sentence and status by cause."""
    assert explain(KafkaLaunchError("EB-KAFKA-008: x")) == ("EB-KAFKA-008: x", 1)
    assert explain(KeyboardInterrupt())[1] == 130
    assert explain(ValueError())[0] is None
