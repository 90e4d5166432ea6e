"""Draws the demo: the table of members, a line of figures, the story so far, and the report.
It must not know where its rows come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import ConsoleDimensions, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bridge.demo.judge import Verdict
from bridge.demo.report import verdict_lines
from bridge.demo.story_plan import SESSION_TIMEOUT_MS
from bridge.demo.table_rows import Row, Totals

SENTENCES_SHOWN = 5
LINES_PER_SENTENCE = 2
WIDE, ROOMY = 110, 130
LINES_AROUND = 9
"""The frame of the story, the head of the table and the line of figures."""
LIBRARY_CHARS = 24
PARTITIONS_COUNTED = 5
"""Up to so many partitions are listed without their count; the terminal's width cuts longer lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything on the screen at one moment; `sentences` are the story so far, the last one is being told."""

    rows: tuple[Row, ...]
    totals: Totals
    sentences: tuple[str, ...]
    chapter: int
    chapters: int
    elapsed_s: float


def draw(picture: Picture, size: ConsoleDimensions) -> RenderableType:
    """The whole live screen for a terminal of this size: the story gives way to the members."""
    members = len(picture.rows) * (1 if size.width >= WIDE else 2)
    room = (size.height - members - LINES_AROUND) // (LINES_PER_SENTENCE if size.width >= WIDE else 3)
    shown = min(SENTENCES_SHOWN, max(1, room))
    return Group(_story(picture, shown), draw_members(picture.rows, size.width), _figures(picture))


def draw_members(rows: Sequence[Row], width: int) -> Table:
    """One line per seat where there is room for all columns, else two."""
    return _wide_table(rows, width) if width >= WIDE else _narrow_table(rows)


def _wide_table(rows: Sequence[Row], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
    for heading in ("member", "library", "protocol", "state"):
        table.add_column(heading, no_wrap=True, max_width=LIBRARY_CHARS if width < ROOMY else None)
    for heading in ("gen.", "epoch"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("partitions", no_wrap=True, ratio=2)
    table.add_column("what is going on", no_wrap=True, ratio=3)
    table.add_column("read", no_wrap=True, justify="right")
    for row in rows:
        table.add_row(
            *(row.seat, row.library, _protocol(row), row.state, row.generation, row.epoch),
            *(_partitions(row), row.doing, f"{row.read:,}"),
            style="" if row.alive else "dim",
        )
    return table


def _narrow_table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
    table.add_column("member\n  library", no_wrap=True, max_width=LIBRARY_CHARS)
    table.add_column("protocol\n  state", no_wrap=True)
    for heading in ("gen.", "epoch"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("partitions\n  what is going on", no_wrap=True, ratio=1)
    table.add_column("read", no_wrap=True, justify="right")
    for row in rows:
        table.add_row(
            *(f"{row.seat}\n  {row.library}", Text("\n  ").join([_protocol(row), Text(row.state)])),
            *(row.generation, row.epoch, f"{_partitions(row)}\n  {row.doing}", f"{row.read:,}"),
            style="" if row.alive else "dim",
        )
    return table


def draw_report(verdict: Verdict) -> RenderableType:
    """The judge's lines in a frame, green or red."""
    colour = "green" if verdict.ok else "red"
    return Panel(Text("\n".join(verdict_lines(verdict))), title="report", border_style=colour, expand=False)


def conclusion(verdict: Verdict) -> str:
    """What the verdict means, in a sentence for who has never seen one."""
    if not verdict.ok:
        return (
            "FAILED: the run must lose no record, give no partition to two members at once, and every client must "
            "write an event log; the lines marked ! say what did not hold."
        )
    disturbed = len(verdict.members_disturbed)
    others = "and nobody was made to stop for nothing" if not disturbed else f"though {disturbed} stopped for nothing"
    return (
        f"OK: {verdict.members_rolled} members changed protocol and back while {verdict.records_produced:,} records "
        f"flowed; none was lost, no partition ever had two owners, {others}. "
        f"The longest time a partition had no reader was {verdict.max_stall_ms / 1000:.1f} s; after the kill the "
        f"group had to wait for the session timeout ({SESSION_TIMEOUT_MS // 1000} s), as nobody can know earlier."
    )


def _protocol(row: Row) -> Text:
    return Text(row.protocol, style="green" if row.protocol == "consumer" else "")


def _partitions(row: Row) -> str:
    listed = [str(partition.partition) for partition in row.partitions]
    count = f"{len(listed)}: " if len(listed) > PARTITIONS_COUNTED else ""
    return (count + ", ".join(listed)) or "none"


def _story(picture: Picture, shown: int) -> Panel:
    *told, telling = picture.sentences[-shown:] or ("",)
    text = Text("\n").join([*(Text(sentence, style="dim") for sentence in told), Text(telling, style="bold")])
    title = f"epochbridge demo · step {picture.chapter} of {picture.chapters} · {picture.elapsed_s:.0f} s"
    return Panel(text, title=title, title_align="left")


def _figures(picture: Picture) -> Table:
    line = Table.grid(expand=True, padding=(0, 2))
    line.add_column(no_wrap=True)
    line.add_column(ratio=1)
    produced, read = picture.totals.produced, picture.totals.read
    line.add_row(
        f"{produced:,} records produced, {read:,} read, {max(0, produced - read):,} on the way",
        ProgressBar(total=max(1, picture.chapters), completed=picture.chapter),
    )
    return line
