"""A table drawn with rich, or its rows one below the other where the terminal is too narrow for it."""

from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Frame = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]
BETWEEN = 3
"""What stands between two columns, and about the outer ones."""
INDENT = "  "
BETWEEN_PAIRS = "   "


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Draw rows under their column names where the terminal is wide enough for their words, else each by itself."""
    (console or Console()).print(FittingTable(columns, rows))


def draw_live(frames: Iterable[Frame], console: Console | None = None) -> None:
    """Draw lines and a table again and again in the same place, until there are no more or the user interrupts."""
    with Live(console=console or Console(), auto_refresh=False, vertical_overflow="ellipsis") as live:
        for lines, columns, rows in frames:
            live.update(Group(*map(Text, lines), FittingTable(columns, rows)), refresh=True)


class FittingTable:
    """Cells wrap between words; where even words would be cut to pieces, a row is a paragraph of names and values."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._columns, self._rows = columns, rows
        cells = [[column, *(row[place] for row in rows)] for place, column in enumerate(columns)]
        self._least = [max(_longest_word(cell) for cell in column) for column in cells]
        self._most = [max(cell_len(cell) for cell in column) for column in cells]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """As the width of the moment allows."""
        room = options.max_width - BETWEEN * len(self._columns)
        yield self._table(room) if sum(self._least) <= room else self._paragraphs(options.max_width - len(INDENT))

    def _table(self, room: int) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column, width in zip(self._columns, _shares(self._least, self._most, room), strict=True):
            table.add_column(column, overflow="fold", width=width)
        for row in self._rows:
            table.add_row(*map(Text, row))
        return table

    def _paragraphs(self, width: int) -> Group:
        """Of each row its first cell, and below it the others behind their names."""
        lines: list[Text | Padding] = []
        for first, *others in self._rows:
            pairs = [
                Text.assemble((f"{name} ", "dim"), cell) for name, cell in zip(self._columns[1:], others, strict=True)
            ]
            lines += [Text(), Text(first, style="bold", overflow="fold")]
            lines += [Padding(line, (0, 0, 0, len(INDENT))) for line in _filled(pairs, width)]
        return Group(*lines, Text())


def _filled(pairs: Iterable[Text], width: int) -> Iterator[Text]:
    """Lines of as many pairs as there is room for; one that is too long by itself wraps later."""
    line = Text()
    for pair in pairs:
        if line and line.cell_len + len(BETWEEN_PAIRS) + pair.cell_len > width:
            yield line
            line = Text()
        line = Text(BETWEEN_PAIRS).join([line, pair]) if line else pair
    yield line


def _shares(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """How wide each column is: the widest give way first, none of them below its longest word."""
    shares = [max(low, min(high, room)) for low, high in zip(least, most, strict=True)]
    while sum(shares) > room:
        widest = max((place for place, low in enumerate(least) if shares[place] > low), key=lambda one: shares[one])
        shares[widest] -= 1
    return shares


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)
