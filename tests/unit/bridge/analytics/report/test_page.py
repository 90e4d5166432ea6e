"""The page and the Markdown: complete, self-contained, and safe."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from bridge.analytics.intake.columns import END_US
from bridge.analytics.report.facts import (
    CauseFacts,
    ChangeFacts,
    CulpritFacts,
    HeatFacts,
    MemberFacts,
    PhaseFacts,
    ReportFacts,
    Spread,
)
from bridge.analytics.report.page import hour_shown, markdown, page, shown, time_shown
from bridge.analytics.report.plots import LABEL_WIDTH, PLOT_WIDTH, TICK_WIDTH, VALUE_WIDTH
from bridge.analytics.report.questions import HOUR_US

SPREAD = Spread(count=3, p50_us=1_500, p95_us=2_000_000, max_us=3_000_000)
EVIL = "<img src=x>|`g`"


def facts(group: str = "orders") -> ReportFacts:
    """A little of everything."""
    member = MemberFacts(group_id=group, member_id="anna", library="lib 1", total_us=5, phase="revoking", spread=SPREAD)
    cause = CauseFacts(cause="join", rebalances=7, moved=3, forced_minimum=2, told=9, disturbed=4)
    slow = CulpritFacts(
        group_id=group,
        member_id="anna",
        client_id="client-1",
        library="lib 1",
        rebalances=2,
        waited_us=40_000,
        most_us=30_000,
        phase="revoking",
        departure="",
        stall_us=0,
    )
    frozen = CulpritFacts(
        group_id=group,
        member_id="ice",
        client_id="",
        library="lib 1",
        rebalances=0,
        waited_us=0,
        most_us=0,
        phase="",
        departure="session-expired",
        stall_us=6_000_000,
    )
    change = ChangeFacts(group_id=group, protocol="classic", rebalances=1, disturbed=0, duration=None, stall=SPREAD)
    return ReportFacts(
        group=None,
        rebalances=7,
        began_us=(1_764_000_000_000_000, 1_764_100_000_000_000),
        stall=SPREAD,
        phases=[PhaseFacts(protocol="classic", phase="joining", spread=SPREAD)],
        members=[member],
        culprits=[slow, frozen],
        causes=[cause],
        changes=[change],
        heat=HeatFacts(groups=[group], first_hour=490_000, column_hours=1, stall_us=[[0, 9_000_000]]),
    )


NOTHING = ReportFacts(
    group="orders",
    rebalances=0,
    began_us=None,
    stall=None,
    phases=[],
    members=[],
    culprits=[],
    causes=[],
    changes=[],
    heat=HeatFacts(groups=[], first_hour=0, column_hours=1, stall_us=[]),
)


class Tags(HTMLParser):
    """The tags of a page and what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.references: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one."""
        self.names.add(tag)
        self.references += [value for name, value in attrs if name in {"src", "href"}]


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (5, "5 µs"),
        (999, "999 µs"),
        (1_500, "1.5 ms"),
        (999_000, "999 ms"),
        (999_700, "1 s"),
        (2_340_000, "2.34 s"),
        (7_200_000_000, "120 min"),
        (360_000_000_000, "100 h"),
    ],
)
def test_duration_has_the_unit_that_fits(us: float, text: str) -> None:
    """Three figures."""
    assert shown(us) == text


def test_report_says_of_which_time_it_is() -> None:
    """Of no rebalance there is none."""
    assert "7 rebalances, 2025-11-24 16:00 to 2025-11-25 19:46 UTC; 3 times" in markdown(facts())
    assert "0 rebalances; no partition" in markdown(NOTHING)


def test_one_of_something_is_no_plural() -> None:
    """In the sentence at the top."""
    cause = CauseFacts(cause="join", rebalances=1, moved=1, forced_minimum=1, told=1, disturbed=1)
    spread = Spread(count=1, p50_us=1, p95_us=1, max_us=1)
    told = markdown(replace(NOTHING, rebalances=1, stall=spread, causes=[cause]))
    assert "1 rebalance; 1 time a partition stood still" in told
    assert "to revoke 1 time, 1 time without need." in told


def test_heat_map_of_a_long_time_says_what_a_column_is() -> None:
    """And its worst column is dated by its first hour."""
    heat = HeatFacts(groups=["g"], first_hour=490_000, column_hours=5, stall_us=[[0, 9_000_000]])
    for text in (page(replace(facts(), heat=heat)), markdown(replace(facts(), heat=heat))):
        assert "A column is 5 hours." in text
        assert "in those 5 hours" in text
        assert "11-24 21:00" in text


@pytest.mark.parametrize("columns", [1, 2, 14, 15, 16, 24, 168])
def test_times_below_the_heat_map_neither_overlap_nor_leave_it(columns: int) -> None:
    """However many columns there are."""
    heat = HeatFacts(groups=["g"], first_hour=0, column_hours=1, stall_us=[[1] * columns])
    text = page(replace(facts(), heat=heat))
    places = [float(x) for x in re.findall(r'class="tick" x="([0-9.]+)"', text)]
    assert places[0] == LABEL_WIDTH
    assert all(after - before >= TICK_WIDTH for before, after in pairwise(places))
    assert places[-1] + TICK_WIDTH <= LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH


def test_hour_is_utc() -> None:
    """Hours since 1970."""
    assert hour_shown(490_000) == "11-24 16:00"


def test_number_stays_on_one_line_with_its_unit() -> None:
    """A name does not."""
    text = page(facts())
    assert {"<td class=n>1.5 ms</td>", "<td class=n>3</td>", "<td>lib 1</td>"} <= {*re.findall("<td.*?</td>", text)}


def test_culprits_are_named_with_what_they_did() -> None:
    """What does not hold of one is a dash."""
    text = markdown(facts())
    assert "| orders | anna | client-1 | lib 1 | 2 | 40 ms | 30 ms | revoking | – | – |" in text
    assert "| orders | ice |  | lib 1 | – | – | – | – | session-expired | 6 s |" in text
    assert "ice: 6 s, session-expired" in page(facts())


def test_page_needs_nothing_else() -> None:
    """Self-contained: no script, no link, all five plots."""
    text = page(facts())
    tags = Tags(text)
    assert (tags.references, "script" in tags.names, text.count("<svg")) == ([], False, 6)


def test_page_and_markdown_say_the_same() -> None:
    """Every section, every figure."""
    for text in (page(facts()), markdown(facts())):
        for word in ("Latency by phase", "Slowest members", "Causes", "1.5 ms", "anna", "join", "9 s", "orders"):
            assert word in text


def test_page_of_nothing_says_so() -> None:
    """Six times, once for each section."""
    for text in (page(NOTHING), markdown(NOTHING)):
        assert text.count("Nothing of the kind is in the log.") == 6
        assert "Rebalances of orders" in text


def test_name_of_a_stranger_is_text() -> None:
    """In both."""
    assert "img" not in Tags(page(facts(EVIL))).names
    assert "\\<img src=x\\>\\|\\`g\\`" in markdown(facts(EVIL))


def test_last_moment_that_a_log_may_have_is_shown() -> None:
    """As a fraction of seconds it was one of the year 10000, which ended the report."""
    assert time_shown(END_US) == "9999-12-31 23:59"
    assert hour_shown(END_US // HOUR_US) == "12-31 23:00"
