"""Executors of a cluster that make columns of a log: whether they can, and how they are asked.

They can where they have our code and Arrow, and where log and tables lie for them as they do for the driver. Who can't
is at no fault: Spark reads the lines then. What columns are made of is no matter of theirs.

What runs on executors is a function within a function, which travels as it is: where our code is not, it says so.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import mkstemp

from py4j.protocol import Py4JError
from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkException

from bridge.analytics.intake.columns import FILE_SCHEMA, Columns, Errand, LogFile, make_columns
from bridge.analytics.spark.failures import cause_of

PROBES_A_CORE = 2
"""So many questions a core, so that each executor gets one unless another is quicker by a whole question."""
WHAT_ENDS_A_JOB = (OSError, Py4JError, PySparkException)
Answer = tuple[str, str, str]
"""What an executor says: where it is, why it can't make columns ("" if it can), and the file that it wrote."""


def why_not(context: SparkContext, files: Sequence[LogFile], folder: Path) -> str:
    """Why executors can't make columns of these files into a folder, "" if all that were asked can.

    Whoever is asked reads a word in the folder, looks at files of the log, and writes beside the word.
    """
    count = context.defaultParallelism * PROBES_A_CORE
    try:
        opened, word = mkstemp(prefix="word-", dir=folder)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(word)
        Path(word).chmod(0o644)  # Executors may be another user.
        sizes = {file.path: Path(file.path).stat().st_size for file in (*files[:1], *files[-1:])}
        ask = prober(word, word, sizes, ",".join(FILE_SCHEMA.names))
        answers = context.parallelize(range(count), count).map(ask).collect()
    except WHAT_ENDS_A_JOB as problem:
        return cause_of(problem)
    faults = (f"{host}: {fault}" for host, fault, _ in answers if fault)
    unseen = (f"{host}: what it writes to {folder} does not come here" for host, _, path in answers if _is_away(path))
    return next(chain(faults, unseen), "")


def make_on_executors(context: SparkContext, errands: Sequence[Errand]) -> list[Columns] | str:
    """The columns of every errand, or why there are none: what went wrong on executors may go well with Spark."""
    if not errands:
        return []
    try:
        made: list[Columns] = context.parallelize(errands, len(errands)).map(_maker()).collect()
    except WHAT_ENDS_A_JOB as problem:
        return cause_of(problem)
    away = next((path for columns in made for path in columns.paths if _is_away(path)), "")
    return f"{away} is not here though an executor wrote it" if away else made


def prober(word: str, name: str, sizes: Mapping[str, int], columns: str) -> Callable[[int], Answer]:
    """What asks an executor: whether it has our code with these columns, this word, and files that are no shorter."""

    def ask(place: int) -> tuple[str, str, str]:
        host = socket.gethostname()
        try:
            from bridge.analytics.intake.columns import FILE_SCHEMA as OURS  # noqa: PLC0415  if it is there

            if ",".join(OURS.names) != columns:
                return host, "its code has other columns than that of the driver", ""
            short = [path for path, size in sizes.items() if Path(path).stat().st_size < size]
            if Path(word).read_text(encoding="utf-8") != name or short:
                return host, f"{short[0] if short else word} is another file there", ""
            mine = f"{word}-{place}"
            Path(mine).write_bytes(b"")
        except (ImportError, OSError) as problem:
            return host, str(problem), ""
        return host, "", mine

    return ask


def _maker() -> Callable[[Errand], Columns]:
    def make(errand: Errand) -> Columns:
        # Spark may run a task twice at once (speculation): each has files of its own, and one of them counts.
        context = TaskContext.get()
        attempt = context.taskAttemptId() if context else 0
        told = None if errand.told is None else f"{errand.told}-{attempt}"
        return make_columns(replace(errand, stem=f"{errand.stem}-{attempt}", told=told))

    return make


def _is_away(path: str) -> bool:
    return bool(path) and not Path(path).is_file()
