"""A table drawn into a string."""

import io

from rich.console import Console

from bridge.cli.table import draw_live, draw_table


def test_table_shows_cells_as_they_are() -> None:
    """What looks like markup is text."""
    stream = io.StringIO()
    draw_table(["GROUP", "STATE"], [["[red]orders[/red]", "Stable"]], Console(file=stream, width=60))
    assert [line.split() for line in stream.getvalue().splitlines() if line.strip()][::2] == [
        ["GROUP", "STATE"],
        ["[red]orders[/red]", "Stable"],
    ]


def test_long_cell_is_folded_not_cut() -> None:
    """Every character of a member id is there."""
    stream = io.StringIO()
    draw_table(["MEMBER"], [["m" * 50]], Console(file=stream, width=20))
    assert stream.getvalue().count("m") == 50


def test_live_frames_end_with_the_last() -> None:
    """What looks like markup is text here too."""
    stream = io.StringIO()
    console = Console(file=stream, width=60, force_terminal=True, color_system=None)
    draw_live([(["first"], ["A"], [["1"]]), (["[red]last"], ["A"], [["2"]])], console)
    assert "[red]last" in stream.getvalue()
