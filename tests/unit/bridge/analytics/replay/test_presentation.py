"""A replay for the terminal, as Markdown and as JSON."""

import json
from dataclasses import replace

from bridge.analytics.replay.presentation import (
    ROWS_SHOWN_MAX,
    Figures,
    GroupReplay,
    ReplayRow,
    Report,
    SetAside,
    document,
    markdown,
    summed,
    terminal,
)

BEFORE = Figures(rebalances=2, rebalance_s=4.25, told=3, disturbed=1, stalls=6, stall_s=9.5, busy_s=5.0)
AFTER = Figures(rebalances=1, rebalance_s=0.5, told=1, stalls=1, stall_s=0.5)


def row(number: int) -> ReplayRow:
    """A rebalance that would not have happened."""
    return ReplayRow(
        rebalance_id=f"orders@b1-{number}",
        predicted_ids=[],
        began_us=number,
        cause="join",
        became="would not have happened",
        recorded=Figures(rebalances=1),
        predicted=Figures(),
    )


NEW = ReplayRow(
    rebalance_id=None,
    predicted_ids=["orders@replay-3.1"],
    began_us=9,
    cause="",
    became="would have happened besides",
    recorded=Figures(),
    predicted=Figures(rebalances=1),
)


def report(*rows: ReplayRow, groups: int = 1) -> Report:
    """A report of groups alike."""
    one = [
        GroupReplay(group_id=f"orders{number}", recorded=BEFORE, predicted=AFTER, rows=rows) for number in range(groups)
    ]
    aside = [SetAside(group_id="bills", reason="history-begins-in-the-middle", rebalances=4)]
    return Report(configuration="protocol=consumer", groups=one, set_aside=aside, lines={"foreign": 2})


def test_terminal_tells_both_sides_and_what_is_saved() -> None:
    """Then each rebalance, then what was set aside."""
    lines = list(terminal(report(row(1), NEW)))
    assert lines[0] == "replayed under protocol=consumer"
    assert lines[2].split() == ["orders0", "recorded", "replayed", "saved"]
    assert [line.split()[-3:] for line in lines[3:5]] == [["2", "1", "1"], ["4.2", "0.5", "3.8"]]
    assert lines[-6:] == [
        "orders0: what became of each rebalance",
        "  orders@b1-1 (join): would not have happened",
        "  new orders@replay-3.1: would have happened besides",
        "",
        "lines set aside: 2 foreign",
        "rebalances set aside: 4 of bills (history-begins-in-the-middle)",
    ]


def test_every_form_says_what_is_not_answered() -> None:
    """A figure that is worth nothing is not read as one."""
    one = replace(report(row(1)).groups[0], unanswered=["orders@b1-1"])
    told = replace(report(), groups=[one])
    assert [line for line in terminal(told) if line.startswith("  not answered: a member's session was over ")]
    assert "\nNot answered: a member's session was over " in markdown(told)
    assert json.loads(json.dumps(document(told)))["groups"][0]["unanswered"] == ["orders@b1-1"]
    assert "not answered" not in markdown(report(row(1))).lower()


def test_terminal_shows_the_first_rebalances_of_many_and_where_all_are() -> None:
    """Nobody reads thousands."""
    lines = list(terminal(report(*map(row, range(ROWS_SHOWN_MAX + 3)))))
    assert sum("would not have happened" in line for line in lines) == ROWS_SHOWN_MAX
    assert "  … and 3 more: --json and --out have them all" in lines


def test_several_groups_are_summed_up_first() -> None:
    """Seconds and counts."""
    assert next(line for line in terminal(report(groups=3)) if "recorded" in line).startswith("all 3 groups")
    assert summed([BEFORE, BEFORE]) == Figures(
        rebalances=4, rebalance_s=8.5, told=6, disturbed=2, stalls=12, stall_s=19.0, busy_s=10.0
    )


def test_markdown_has_every_rebalance() -> None:
    """As tables."""
    page = markdown(report(*map(row, range(ROWS_SHOWN_MAX + 3)), NEW))
    assert page.startswith("# What if: protocol=consumer\n")
    assert page.count("| would not have happened |") == ROWS_SHOWN_MAX + 3
    assert "| new orders@replay-3.1 | - | would have happened besides |" in page


def test_json_is_everything() -> None:
    """Groups, the sum, what was set aside."""
    found = json.loads(json.dumps(document(report(row(1), groups=2))))
    assert found["configuration"] == "protocol=consumer"
    assert [one["group_id"] for one in found["groups"]] == ["orders0", "orders1"]
    assert found["groups"][0]["rebalances"][0]["became"] == "would not have happened"
    assert (found["sum"]["recorded"]["rebalances"], found["sum"]["predicted"]["rebalances"]) == (4, 2)
    assert found["set_aside"] == {
        "groups": [{"group_id": "bills", "reason": "history-begins-in-the-middle", "rebalances": 4}],
        "lines": {"foreign": 2},
    }


def test_nothing_set_aside_is_said() -> None:
    """So that its absence is no doubt."""
    whole = Report(configuration="c", groups=[], set_aside=[], lines={})
    assert list(terminal(whole))[-1] == "lines set aside: nothing"
