"""Tables on the terminal: drawn where there is one, aligned text where the output goes to a file or a pipe.

Control characters of strangers are shown instead of obeyed.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

import click

from translators.dialects.printable import printable

GAP = "  "

Columns = Sequence[str]
Rows = Sequence[Sequence[str]]
Frame = tuple[Sequence[str], Columns, Rows]


class TerminalScreen:
    """Prints on standard output."""

    def show_line(self, line: str) -> None:
        """Print one line."""
        click.echo(printable(line))

    def show_table(self, columns: Columns, rows: Rows) -> None:
        """Print rows under their column names."""
        safe = [[printable(cell) for cell in row] for row in rows]
        if sys.stdout.isatty():
            # rich takes longer to load than most commands to run.
            draw: Callable[[Columns, Rows], None] = import_module("bridge.cli.table").draw_table
            draw(columns, safe)
        else:
            for line in align(columns, safe):
                click.echo(line)

    def show_live(self, frames: Iterable[Frame]) -> None:
        """Show frames in one place of a terminal; elsewhere print each that differs from the one before."""
        safe = (_printable_frame(frame) for frame in frames)
        if sys.stdout.isatty():
            draw: Callable[[Iterable[Frame]], None] = import_module("bridge.cli.table").draw_live
            draw(safe)
            return
        last: Frame | None = None
        for frame in safe:
            if frame != last:
                lines, columns, rows = last = frame
                click.echo("\n".join((*lines, *align(columns, rows), "")))


def _printable_frame(frame: Frame) -> Frame:
    lines, columns, rows = frame
    return [printable(line) for line in lines], columns, [[printable(cell) for cell in row] for row in rows]


def align(columns: Columns, rows: Rows) -> list[str]:
    """The lines of a plain table, each column as wide as its widest cell."""
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
