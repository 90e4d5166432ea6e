"""Tables for pipes and terminals."""

import sys

import pytest

from bridge.cli.screen import TerminalScreen, align

HOSTILE = "a\x1b[2Jb\nc\u202ed\ud800"
HARMLESS = "a\\x1b[2Jb\\nc\\u202ed\\ud800"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """No blanks at the end of a line."""
    assert align(["A", "LONG"], [["xyz", "1"], ["-", "22222"]]) == ["A    LONG", "xyz  1", "-    22222"]


def test_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """For grep and awk."""
    TerminalScreen().show_table(["A", "B"], [["1", HOSTILE]])
    TerminalScreen().show_line(HOSTILE)
    assert capsys.readouterr().out == f"A  B\n1  {HARMLESS}\n{HARMLESS}\n"


def test_terminal_gets_a_drawn_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule below the names."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    TerminalScreen().show_table(["A", "B"], [["1", HOSTILE]])
    shown = capsys.readouterr().out
    assert HARMLESS in shown
    assert "───" in shown


FRAMES = [(["now"], ["A"], [[HOSTILE]]), (["now"], ["A"], [[HOSTILE]]), (["then"], ["A"], [["2"]])]


def test_pipe_gets_frames_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """A log of what has changed, not of how often somebody looked."""
    TerminalScreen().show_live(FRAMES)
    assert capsys.readouterr().out == f"now\nA\n{HARMLESS}\n\nthen\nA\n2\n\n"


def test_terminal_gets_frames_in_place(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one stays."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    TerminalScreen().show_live(FRAMES)
    assert "then" in capsys.readouterr().out
