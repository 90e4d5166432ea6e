"""The chart of one rebalance."""

import re
from dataclasses import replace

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.page import ROWS_MAX, choose_rows, draw_chart
from tests.support.event_stories import cooperative_handover


def test_bars_stand_where_phases_were() -> None:
    """c1 gives up from 0.9 s to 3 s of 3.1 s."""
    chart = draw_chart(assemble(cooperative_handover().events)[0])
    found = re.search(r'class="bar revoking"[^>]*left:([\d.]+)%;width:([\d.]+)%', chart)
    assert found is not None
    assert (float(found[1]), float(found[2])) == (28.916, 67.546)


def test_wait_says_for_whom() -> None:
    """In the bar and in its hint; the holder's row is marked."""
    chart = draw_chart(assemble(cooperative_handover().events)[0])
    assert "<span>waits for c1</span>" in chart
    assert 'title="waiting for release for c1: 3 s"' in chart
    assert re.findall(r'row critical">.*?<b>(.*?)</b>', chart, re.DOTALL) == ["c1"]
    assert "2 more members were untouched." in chart


def test_phase_without_end_is_torn() -> None:
    """The log ends in its middle."""
    chart = draw_chart(assemble(cooperative_handover().events[:8])[0])
    assert 'class="bar revoking torn"' in chart


def test_thousand_members_leave_room_for_those_that_matter() -> None:
    """The one that was waited for, and those that stood still longest."""
    (rebalance,) = assemble(cooperative_handover().events)
    c4, c1 = rebalance.members
    crowd = tuple(replace(c4, member_id=f"m{number}") for number in range(1_000))
    rows = choose_rows(replace(rebalance, members=(*crowd, replace(c1, stretches=()))))
    assert len(rows) == ROWS_MAX
    assert rows[-1].member_id == "c1"
    chart = draw_chart(replace(rebalance, members=(*crowd, c1)))
    assert "801 more members stood still for less and are not drawn." in chart
