"""A bar for long runs: which table is being made, and how many of Spark's tasks are done.

It must not know what a step does; where nobody watches it says one line per step.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

Say = Callable[[str], None]
"""Takes the name of the step that begins."""


class SparkTasks(ProgressColumn):
    """Done and all tasks of the stages that Spark runs at this moment."""

    max_refresh = 0.5

    def __init__(self, context: SparkContext) -> None:
        super().__init__()
        self._context = context

    def render(self, task: Task) -> Text:
        """The tasks, or nothing between two stages."""
        done, total = self.tasks()
        return Text(f"{done}/{total} tasks" if total else "")

    def tasks(self) -> tuple[int, int]:
        """How many tasks of the active stages are done, and how many they have."""
        tracker = self._context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


@contextmanager
def bar(context: SparkContext, total: int) -> Iterator[Say]:
    """Yield what to call when a step begins; the step before it is then done."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield lambda name: print(f"{name} …", file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, SparkTasks(context), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("reading", total=total)
        begun = 0

        def say(name: str) -> None:
            nonlocal begun
            progress.update(task, description=name, completed=begun)
            begun += 1

        yield say
        progress.update(task, description="done", completed=total)
