"""Where the story is shown: a live screen on a terminal, plain lines elsewhere.
It must not know what the story is or how a fleet is run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from bridge.demo.events_clock import now_ns
from bridge.demo.table import Picture, draw, draw_members
from bridge.demo.table_rows import Row, Totals

PLAIN_WIDTH_MIN = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The fleet at one moment."""

    rows: tuple[Row, ...]
    totals: Totals


class Stage:
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


def make_stage(*, tui: bool) -> Stage:
    """A live screen if asked for and standard output is a terminal; wide enough for the table otherwise."""
    console = Console()
    if tui and console.is_terminal:
        return Stage(console, live=True)
    return Stage(Console(width=max(console.width, PLAIN_WIDTH_MIN)), live=False)
