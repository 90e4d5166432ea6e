"""Draws the demo: the table of members, a line of figures, the story so far, and the report.
It must not know where its rows come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bridge.demo.judge import Verdict
from bridge.demo.report import verdict_lines
from bridge.demo.table_rows import Row, Totals

SENTENCES_SHOWN = 5
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


def draw(picture: Picture) -> RenderableType:
    """The whole live screen."""
    return Group(_story(picture), draw_members(picture.rows), _figures(picture))


def draw_members(rows: Sequence[Row]) -> Table:
    """One line per seat."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
    for heading in ("member", "library", "protocol", "state"):
        table.add_column(heading, no_wrap=True)
    table.add_column("gen.", justify="right", no_wrap=True)
    table.add_column("epoch", justify="right", no_wrap=True)
    table.add_column("partitions", ratio=2, no_wrap=True)
    table.add_column("what is going on", ratio=3, no_wrap=True)
    table.add_column("read", justify="right", no_wrap=True)
    for row in rows:
        protocol = Text(row.protocol, style="green" if row.protocol == "consumer" else "")
        table.add_row(
            *(row.seat, row.library, protocol, row.state, row.generation, row.epoch),
            *(_partitions(row), row.doing, f"{row.read:,}"),
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
        f"The longest time a partition had no reader was {verdict.max_stall_ms / 1000:.1f} s: a member was killed, and "
        f"a group can't know that before its session has run out."
    )


def _partitions(row: Row) -> str:
    listed = [str(partition.partition) for partition in row.partitions]
    count = f"{len(listed)}: " if len(listed) > PARTITIONS_COUNTED else ""
    return (count + ", ".join(listed)) or "none"


def _story(picture: Picture) -> Panel:
    *told, telling = picture.sentences[-SENTENCES_SHOWN:] or ("",)
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
