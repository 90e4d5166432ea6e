"""A table drawn with rich. It must not know what the rows mean, and takes no markup from them."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Draw rows under their column names, as wide as the terminal allows; cells wrap."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    (console or Console()).print(table)
