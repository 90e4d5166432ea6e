"""A verdict as JSON and as text. It must not know how the verdict came about."""

import json

from bridge.demo.judge import judge
from bridge.demo.judge_evidence import Evidence
from bridge.demo.screen import verdict_lines, verdict_report
from tests.support.fleet import assigned, committed, consumed, log, produced, revoked, step

BAD = judge(
    Evidence(
        producers=(log("producer", produced(0, 0, 9)),),
        members=(
            log("a", assigned(10, 0), consumed(20, 0, 0, 4), committed(21, [(0, 6)]), revoked(25, 0), assigned(26, 0)),
            log("b", assigned(12, 0), number=2, died_ms=14),
            log("mute", number=3),
        ),
        steps=(step("roll", 15, 40),),
    )
)


def test_report_has_the_promised_keys_first_and_is_json() -> None:
    """`epochbridge demo --json` promises these ten keys; counts are numbers, lists of names lists."""
    report = verdict_report(BAD)
    promised = {
        "records_produced": 10,
        "records_lost": 5,
        "records_duplicated": 0,
        "double_ownership": 1,
        "rebalances": 3,
        "members_rolled": 0,
        "members_disturbed": 1,
        "max_stall_ms": 1.0,
        "protocols_seen": ["classic"],
        "ok": False,
    }
    assert dict(list(report.items())[:10]) == promised
    assert json.loads(json.dumps(report))["details"]["silent_clients"] == ["mute#3"]


def test_lines_name_every_complaint_and_the_verdict() -> None:
    """A reader sees who, where and when without opening the JSON."""
    lines = verdict_lines(BAD)
    assert "! orders-0 owned by a#1 and b#2 for 2.0 ms" in lines
    assert "! a#1 disturbed by 'roll' (1 callbacks)" in lines
    assert "! orders-0: a#1 committed 6, processed up to 5" in lines
    assert "! mute#3 wrote no event log" in lines
    assert lines[-1].endswith("FAILED")
