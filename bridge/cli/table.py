"""A table drawn with rich."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

Frame = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Draw rows under their column names, as wide as the terminal allows; cells wrap."""
    (console or Console()).print(make_table(columns, rows))


def draw_live(frames: Iterable[Frame], console: Console | None = None) -> None:
    """Draw lines and a table again and again in the same place, until there are no more or the user interrupts."""
    with Live(console=console or Console(), auto_refresh=False, vertical_overflow="ellipsis") as live:
        for lines, columns, rows in frames:
            live.update(Group(*map(Text, lines), make_table(columns, rows)), refresh=True)


def make_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows under their column names."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
