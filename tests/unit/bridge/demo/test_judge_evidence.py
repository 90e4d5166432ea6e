"""What the judge is shown. It must not know how evidence is gathered."""

from bridge.demo.judge_evidence import ClientLog, Evidence
from tests.support.fleet import MS, assigned, log, produced, started, step


def test_log_without_introduction_has_no_start() -> None:
    """A client that wrote nothing can be told from one that did."""
    assert ClientLog(seat="a", number=1, events=(), died_ns=None).started is None
    assert log("a", started("a", 5)).started == started("a", 5)


def test_log_alive_throughout_needs_start_before_and_death_after() -> None:
    """A member that joined or died within a step did not live through it."""
    lived = log("a", started("a", 5), died_ms=50)
    assert lived.alive_throughout(5 * MS, 50 * MS)
    assert not lived.alive_throughout(4 * MS, 50 * MS)
    assert not lived.alive_throughout(5 * MS, 51 * MS)
    assert not ClientLog(seat="a", number=1, events=(), died_ns=None).alive_throughout(5, 6)


def test_evidence_measured_until_the_last_step_or_event() -> None:
    """What happens while the fleet is shut down after the last step is not measured."""
    member = log("a", assigned(70, 0))
    assert Evidence(producers=(), members=(member,), steps=(step("s", 0, 60),)).measured_until_ns == 60 * MS
    assert Evidence(producers=(), members=(member,), steps=()).measured_until_ns == 70 * MS


def test_evidence_produced_lists_producers_only() -> None:
    """Spans come from producers' logs in order."""
    evidence = Evidence(producers=(log("p", produced(0, 0, 4), produced(1, 0, 1)),), members=(), steps=())
    assert list(evidence.produced()) == [produced(0, 0, 4), produced(1, 0, 1)]
