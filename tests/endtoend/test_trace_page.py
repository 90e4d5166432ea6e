"""The page of `epochbridge trace --html` in a real browser: what a person sees, light and dark, wide and narrow."""

from collections import Counter
from pathlib import Path

import pytest

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.page import draw_page
from tests.support.browser import VARIABLE, Browser, find_browser
from tests.support.event_stories import cooperative_handover, eager_meeting
from tests.support.png import Colour, count_colours

LIGHT_PAPER, DARK_PAPER = (251, 250, 248), (21, 22, 26)
JOINING, REVOKING, FETCHING = (63, 115, 200), (217, 138, 18), (18, 144, 138)
DARK_REVOKING = (239, 169, 60)


@pytest.fixture(name="browser", scope="module")
def _browser() -> Browser:
    browser = find_browser()
    if browser is None:
        pytest.skip(f"no browser on the path, nor from apt-get: name one in {VARIABLE}")
    return browser


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "trace.html"
    rebalances = [*assemble(eager_meeting().events), *assemble(cooperative_handover().events)]
    page.write_text(draw_page(rebalances), encoding="utf-8")
    return page


def seen(browser: Browser, page: Path, width: int, *, is_dark: bool = False) -> Counter[Colour]:
    """The colours of a picture of the page."""
    picture = page.with_suffix(f".{width}.{is_dark}.png")
    browser.take_picture(page, picture, width, 1_300, is_dark=is_dark)
    return count_colours(picture)


def test_page_in_light_shows_phases(browser: Browser, page: Path) -> None:
    """Paper behind, and bars as long as the phases: c1 joins for 1.5 s, c1 gives up for 2.1 s."""
    colours = seen(browser, page, 1_200)
    assert colours[LIGHT_PAPER] > 100_000
    assert colours[JOINING] > 5_000
    assert colours[REVOKING] > 5_000
    assert colours[FETCHING] > 50


def test_page_in_dark_is_dark(browser: Browser, page: Path) -> None:
    """The same bars in the colours of the night."""
    colours = seen(browser, page, 1_200, is_dark=True)
    assert colours[DARK_PAPER] > 100_000
    assert colours[LIGHT_PAPER] == 0
    assert colours[DARK_REVOKING] > 5_000


def test_page_on_a_phone_keeps_bars_inside(browser: Browser, page: Path) -> None:
    """The track shrinks with the window; bars stay on it."""
    colours = seen(browser, page, 500)
    assert 500 < colours[REVOKING] < seen(browser, page, 1_200)[REVOKING]
