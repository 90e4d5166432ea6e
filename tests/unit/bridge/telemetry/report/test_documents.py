"""Evidence in its three forms."""

import json
from dataclasses import replace

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.report.documents import as_html, as_json, as_markdown
from bridge.telemetry.report.evidence import Chapter, Evidence, find_evidence
from tests.support.event_stories import cooperative_handover
from tests.support.moved_log import moved_log


def evidence() -> Evidence:
    """Of a group that was moved."""
    found = find_evidence(moved_log(), "orders")
    assert found is not None
    return found


def test_markdown_has_a_column_for_each_chapter() -> None:
    """And says who stood still, and what nobody can say."""
    lines = as_markdown(evidence()).splitlines()
    assert lines[0] == "# Group orders"
    assert "| | before the first move | after move 1 |" in lines
    assert "| rebalances | 1 (1 join) | 0 |" in lines
    assert "| commits that failed | 0 | 1 |" in lines
    assert "- after move 1: nobody" in lines
    assert "| seconds that partitions stood still | 2.2 | 0.0 |" in lines
    assert "- before the first move: orders-4 2.2 s" in lines
    assert "- after move 1: none" in lines
    assert any(line.startswith("Lag and records") for line in lines)


def test_partitions_that_nobody_counted_are_no_zero() -> None:
    """Of a consumer group only its broker knows the target."""
    known, unknown, mixed = (
        Chapter(title="a", began_us=0),
        Chapter(title="b", began_us=0),
        Chapter(title="c", began_us=0),
    )
    (rebalance,) = assemble(iter(cooperative_handover().events))
    untold = replace(rebalance, moved=-1, forced_minimum=-1)
    known.add(rebalance)
    unknown.add(untold)
    mixed.add(rebalance)
    mixed.add(untold)
    page = as_markdown(Evidence("g", (known, unknown, mixed), {}))
    assert "| partitions moved (had to) | 1 (1) | those of 1 not known | 1 (1); those of 1 not known |" in page


def test_page_needs_nothing_else_and_obeys_nobody() -> None:
    """What strangers named is escaped, and a line of Markdown stays one."""
    hostile = replace(evidence(), group_id="<script>x</script>|\n")
    page = as_html(hostile)
    assert page.startswith("<!doctype html>")
    assert ("<script" in page, "http" in page, page.count("<rect") == 2) == (False, False, True)
    assert as_markdown(hostile).splitlines()[0] == "# Group <script>x</script>\\|?"


def test_json_has_every_figure() -> None:
    """For programs."""
    document = json.loads(as_json(evidence()))
    assert document["group_id"] == "orders"
    before, after = document["chapters"]
    assert (before["rebalances"], before["partitions_moved"], before["partitions_forced"]) == ({"join": 1}, 1, 1)
    assert (before["partitions_stall_s"], after["partitions_stall_s"]) == ({"orders-4": 2.21}, {})
    assert (after["failed_commits"], after["members_lost"], after["stall_s"]) == (1, 1, {})
