"""A table drawn into a string."""

import io
from collections import Counter

import pytest
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


COLUMNS = ["GROUP", "KIND", "LIBRARIES", "MOVES TO"]
ROWS = [["orders", "classic", "confluent-kafka-python 2.16.1", "embedded, upstream"], ["[b]", "consumer", "-", "-"]]


def shown(width: int) -> list[str]:
    """The lines of a table on a terminal of this width."""
    stream = io.StringIO()
    draw_table(COLUMNS, ROWS, Console(file=stream, width=width))
    return [line.rstrip() for line in stream.getvalue().splitlines() if line.strip()]


def test_table_wraps_between_words() -> None:
    """As long as each column has room for its longest word."""
    assert [line.split() for line in shown(60)][2:4] == [
        ["orders", "classic", "confluent-kafka-python", "embedded,"],
        ["2.16.1", "upstream"],
    ]


def test_row_is_a_paragraph_where_words_have_no_room() -> None:
    """A table of fourteen columns is three letters wide each on a terminal of 80."""
    assert shown(45) == [
        "orders",
        "  KIND classic",
        "  LIBRARIES confluent-kafka-python 2.16.1",
        "  MOVES TO embedded, upstream",
        "[b]",
        "  KIND consumer   LIBRARIES -   MOVES TO -",
    ]


@pytest.mark.parametrize("width", range(10, 90))
def test_nothing_is_lost_at_any_width(width: int) -> None:
    """Every letter of every cell is there, and no line is longer than the terminal."""
    lines = shown(width)
    said = "".join("".join(line.split()) for line in lines)
    letters = Counter("".join(char for row in ROWS for cell in row for char in cell if char.isalnum()))
    assert not letters - Counter(said)
    assert max(map(len, lines)) <= width
