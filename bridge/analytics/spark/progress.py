"""A bar for long runs: which table is being made, and how many of Spark's tasks are done.

Where nobody watches, it says one line per step.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark import SparkContext
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from bridge.analytics.errors import tell

Say = Callable[[str], None]
"""Takes the name of the step that begins."""
Share = Callable[[int, int], None]
"""Takes how many parts of a step are done and how many it has, where Spark does not know."""


class Shown(NamedTuple):
    """What to call when a step begins, which ends the one before it, and when a part of it is done."""

    say: Say
    share: Share


def nobody_watches(_done: int, _total: int) -> None:
    """Takes a share and shows nothing."""


class SparkTasks(ProgressColumn):
    """Done and all tasks of the stages that Spark runs at this moment, or else parts of what is done beside Spark."""

    max_refresh = 0.5

    def __init__(self, context: SparkContext) -> None:
        super().__init__()
        self._context = context
        self.parts = (0, 0)

    def render(self, task: Task) -> Text:
        """The tasks or parts, nothing between two stages."""
        done, total = self.tasks()
        if not total:
            done, total = self.parts
        return Text(f"{done}/{total} tasks" if total else "")

    def share(self, done: int, total: int) -> None:
        """Note how far it is."""
        self.parts = (done, total)

    def tasks(self) -> tuple[int, int]:
        """How many tasks of the active stages are done, and how many they have."""
        tracker = self._context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


@contextmanager
def bar(context: SparkContext, total: int) -> Iterator[Shown]:
    """Yield what to call when a step begins and when a part of one is done."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield Shown(lambda name: tell(f"{name} …"), nobody_watches)
        return
    tasks = SparkTasks(context)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, tasks, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("reading", total=total)
        begun = 0

        def say(name: str) -> None:
            nonlocal begun
            tasks.share(0, 0)
            # Groups that are made of all their events take the steps once more.
            progress.update(task, description=name, completed=begun, total=max(total, begun + 1))
            begun += 1

        yield Shown(say, tasks.share)
        progress.update(task, description="done", total=total, completed=total)
