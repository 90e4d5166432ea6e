"""The screen as a terminal and as plain lines. It must not know a story."""

import io

from rich.console import Console

from bridge.demo.rows import Totals
from bridge.demo.screen import PLAIN_WIDTH_MIN, Screen, Snapshot, make_screen

NOTHING = Snapshot(rows=(), totals=Totals(produced=70, read=30))


def test_plain_stage_prints_each_sentence_once_as_one_line() -> None:
    """Long sentences are not broken, so that a log can be searched; brackets are no markup."""
    out = io.StringIO()
    screen = Screen(Console(file=out, width=40), live=False)
    with screen.open():
        screen.say("long " * 30)
        screen.begin(1, 10, "member-1 [red] rolls")
        screen.show(lambda: NOTHING)
    first, second = out.getvalue().splitlines()
    assert first.startswith("long " * 30)
    assert second.endswith("step 1 of 10: member-1 [red] rolls")


def test_plain_stage_shows_the_members_when_a_step_ends() -> None:
    """The table's head is there."""
    out = io.StringIO()
    Screen(Console(file=out, width=130), live=False).settle(NOTHING)
    assert "what is going on" in out.getvalue()


def test_live_stage_draws_sentences_and_figures() -> None:
    """On a terminal the whole picture is drawn anew, and the screen is given back."""
    out = io.StringIO()
    screen = Screen(Console(file=out, width=100, force_terminal=True), live=True)
    with screen.open():
        screen.say("the bridge runs")
        screen.begin(2, 10, "a roll")
        screen.settle(NOTHING)
    assert "the bridge runs" in out.getvalue()
    assert "70 records produced, 30 read, 40 on the way" in out.getvalue()
    assert out.getvalue().rstrip().endswith("\x1b[?25h")


def test_stage_without_a_terminal_is_plain_and_wide() -> None:
    """Output into a file is never a live screen."""
    screen = make_screen(tui=True)
    with screen.open():
        screen.show(lambda: NOTHING)
    assert screen.console.width >= PLAIN_WIDTH_MIN
