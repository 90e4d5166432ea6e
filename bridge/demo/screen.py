"""Shows the demo: a live screen on a terminal, plain lines elsewhere, and the report, also as values for JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bridge.demo.events import now_ns
from bridge.demo.judge import Verdict
from bridge.demo.rows import SeatRow, Totals
from bridge.demo.story import SESSION_TIMEOUT_MS

Report = Mapping[str, object]


def verdict_report(verdict: Verdict) -> Report:
    """JSON-ready: the ten keys that `epochbridge demo --json` promises first (counts, ms, names), then the details."""
    return {
        "records_produced": verdict.records_produced,
        "records_lost": verdict.records_lost,
        "records_duplicated": verdict.records_duplicated,
        "double_ownership": len(verdict.double_ownership),
        "rebalances": verdict.rebalances,
        "members_rolled": verdict.members_rolled,
        "members_disturbed": len(verdict.members_disturbed),
        "max_stall_ms": round(verdict.max_stall_ms, 1),
        "protocols_seen": list(verdict.protocols_seen),
        "ok": verdict.ok,
        "committed_equals_processed": verdict.committed_equals_processed,
        "details": {
            "double_ownership": [asdict(overlap) for overlap in verdict.double_ownership],
            "rolls": [asdict(roll) for roll in verdict.rolls],
            "disturbances": [asdict(disturbance) for disturbance in verdict.disturbances],
            "longest_stall": None if verdict.longest_stall is None else asdict(verdict.longest_stall),
            "commit_mismatches": [asdict(mismatch) for mismatch in verdict.commit_mismatches],
            "silent_clients": list(verdict.silent_clients),
        },
    }


def verdict_lines(verdict: Verdict) -> tuple[str, ...]:
    """One line per figure, then one per thing that must not have happened."""
    return (
        f"records produced   {verdict.records_produced}",
        f"records lost       {verdict.records_lost}",
        f"records read twice {verdict.records_duplicated}",
        f"owned twice        {len(verdict.double_ownership)}",
        f"rebalances         {verdict.rebalances}",
        f"members rolled     {verdict.members_rolled}",
        f"members disturbed  {len(verdict.members_disturbed)}",
        *([f"noticed a move     {len(verdict.noticed)}"] if verdict.quiet_steps else []),
        f"longest stall      {verdict.max_stall_ms:.0f} ms",
        f"protocols seen     {', '.join(verdict.protocols_seen)}",
        f"commits match      {'yes' if verdict.committed_equals_processed else 'no'}",
        *_complaints(verdict),
        f"verdict            {'ok' if verdict.ok else 'FAILED'}",
    )


def _complaints(verdict: Verdict) -> tuple[str, ...]:
    return (
        *(
            f"! {overlap.partition.topic}-{overlap.partition.partition} owned by {overlap.first} and {overlap.second} "
            f"for {(overlap.until_ns - overlap.began_ns) / 1_000_000:.1f} ms"
            for overlap in verdict.double_ownership
        ),
        *(f"! {one.who} disturbed by {one.step!r} ({one.callbacks} callbacks)" for one in verdict.disturbances),
        *(f"! {one.who} noticed {one.step!r} ({one.callbacks} callbacks)" for one in verdict.noticed),
        *(
            f"! {one.partition.topic}-{one.partition.partition}: {one.who} committed {one.committed}, "
            f"processed up to {one.processed}"
            for one in verdict.commit_mismatches
        ),
        *(f"! {who} wrote no event log" for who in verdict.silent_clients),
    )


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

    rows: tuple[SeatRow, ...]
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


def draw_members(rows: Sequence[SeatRow], width: int) -> Table:
    """One line per seat where there is room for all columns, else two."""
    return _wide_table(rows, width) if width >= WIDE else _narrow_table(rows)


def _wide_table(rows: Sequence[SeatRow], width: int) -> Table:
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


def _narrow_table(rows: Sequence[SeatRow]) -> Table:
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
            "FAILED: the run must lose no record, give no partition to two members at once, let nobody notice a move, "
            "and every client must write an event log; the lines marked ! say what did not hold."
        )
    if verdict.quiet_steps:
        return (
            f"OK: the group was taken over while it worked, and no client heard of it; then {verdict.members_rolled} "
            f"members were restarted as KIP-848 consumers at the broker itself, and the bridge left. "
            f"{verdict.records_produced:,} records flowed; none was lost, no partition ever had two owners. "
            f"The longest time a partition had no reader was {verdict.max_stall_ms / 1000:.1f} s, at a restart."
        )
    disturbed = len(verdict.members_disturbed)
    others = "and nobody was made to stop for nothing" if not disturbed else f"though {disturbed} stopped for nothing"
    return (
        f"OK: {verdict.members_rolled} members changed protocol and back while {verdict.records_produced:,} records "
        f"flowed; none was lost, no partition ever had two owners, {others}. "
        f"The longest time a partition had no reader was {verdict.max_stall_ms / 1000:.1f} s; after the kill the "
        f"group had to wait for the session timeout ({SESSION_TIMEOUT_MS // 1000} s), as nobody can know earlier."
    )


def _protocol(row: SeatRow) -> Text:
    return Text(row.protocol, style="green" if row.protocol == "consumer" else "")


def _partitions(row: SeatRow) -> str:
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


PLAIN_WIDTH_MIN = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The fleet at one moment."""

    rows: tuple[SeatRow, ...]
    totals: Totals


class Screen:
    """Takes sentences and snapshots; `live` draws one screen over and over, otherwise each sentence is a line."""

    def __init__(self, console: Console, *, live: bool) -> None:
        self.console = console
        self._live = Live(console=console, auto_refresh=False, screen=False) if live else None
        self._sentences: list[str] = []
        self._chapter = 0
        self._chapters = 0
        self._began_ns = now_ns()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold the screen; it is given back whatever happens."""
        if self._live is None:
            yield
            return
        with self._live:
            yield

    def say(self, sentence: str) -> None:
        """Tell something that is no step."""
        self._sentences.append(sentence)
        if self._live is None:
            self._tell(sentence)

    def begin(self, chapter: int, chapters: int, sentence: str) -> None:
        """Tell what the next step is; chapters are numbered from 1."""
        self._chapter, self._chapters = chapter, chapters
        numbered = f"[{self._elapsed_s():3.0f} s] step {chapter} of {chapters}: {sentence}"
        self._sentences.append(numbered)
        if self._live is None:
            self._tell(numbered)

    def settle(self, snapshot: Snapshot) -> None:
        """Show the fleet at the end of a step."""
        if self._live is None:
            self.console.print(draw_members(snapshot.rows, self.console.width))
        else:
            self.show(lambda: snapshot)

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Draw the screen anew; without one the fleet is not even looked at."""
        if self._live is None:
            return
        snapshot = look()
        picture = Picture(
            rows=snapshot.rows,
            totals=snapshot.totals,
            sentences=tuple(self._sentences),
            chapter=self._chapter,
            chapters=self._chapters,
            elapsed_s=self._elapsed_s(),
        )
        self._live.update(draw(picture, self.console.size), refresh=True)

    def _tell(self, sentence: str) -> None:
        self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def _elapsed_s(self) -> float:
        return (now_ns() - self._began_ns) / 1_000_000_000


def make_screen(*, tui: bool) -> Screen:
    """A live screen if asked for and standard output is a terminal; wide enough for the table otherwise."""
    console = Console()
    if tui and console.is_terminal:
        return Screen(console, live=True)
    return Screen(Console(width=max(console.width, PLAIN_WIDTH_MIN)), live=False)
