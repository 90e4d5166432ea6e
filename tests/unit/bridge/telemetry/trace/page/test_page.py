"""The page: whole, safe and alone. tests/endtoend/test_trace_page.py looks at it in a browser."""

import re
from html.parser import HTMLParser
from pathlib import Path

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.page import STYLE, draw_page
from tests.support.event_stories import Story, cooperative_handover, eager_meeting

VOID = {"meta"}


class Nesting(HTMLParser):
    """Checks that every element is closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_well_formed() -> None:
    """Everything that is opened is closed."""
    parser = Nesting()
    parser.feed(draw_page([*assemble(eager_meeting().events), *assemble(cooperative_handover().events)]))
    assert parser.open == []
    assert "section" in parser.seen


def test_page_needs_nothing_else() -> None:
    """No script, no address, and a policy that forbids both."""
    page = draw_page(assemble(cooperative_handover().events))
    assert "default-src 'none'" in page
    assert re.findall(r"https?://|<script|<link|<img|url\(|@import", page) == []


def test_page_escapes_what_strangers_named() -> None:
    """A group may be called like an element."""
    story = Story(group='<img src="x">').at(0)
    story.left("<b>&c1\"'")
    page = draw_page(assemble(story.began(2).target(1).ended().events))
    assert "<img" not in page
    assert "&lt;img src=&quot;x&quot;&gt;" in page
    assert "&lt;b&gt;&amp;c1" in page


def test_page_tells_sentence_moves_and_evidence() -> None:
    """What people ask first, and what shows it."""
    rebalances = assemble(cooperative_handover().events)
    page = draw_page(rebalances)
    sentence = re.sub("<[^>]*>", "", page.partition('<p class="sentence">')[2].partition("</p>")[0])
    assert sentence == rebalances[0].explained.sentence
    assert '<span class="name">orders-4</span>' in page
    assert "<td>orders-4</td><td>c1</td><td>c4</td>" in page
    assert f"<td>{rebalances[0].explained.evidence[0]}</td>" in page


def test_several_rebalances_get_contents() -> None:
    """Each line leads to its section."""
    page = draw_page([*assemble(eager_meeting().events), *assemble(cooperative_handover().events)])
    targets = re.findall(r'href="#(r\d)"', page)
    assert targets == re.findall(r'<section id="(r\d)"', page) == ["r1", "r2"]


def test_every_class_has_a_look() -> None:
    """A misspelt class would be drawn without one."""
    page = draw_page([*assemble(eager_meeting().events), *assemble(cooperative_handover().events)])
    body = page.partition("</style>")[2]
    used = {name for text in re.findall(r'class="([^"]+)"', body) for name in text.split()}
    assert used <= set(re.findall(r"\.([a-z-]+)", STYLE))


def test_style_is_part_of_the_package() -> None:
    """Installed from a wheel the page looks the same."""
    assert (Path(__file__).parents[6] / "bridge/telemetry/trace/page.css").read_text(encoding="utf-8") == STYLE
