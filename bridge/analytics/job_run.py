"""The job `run`: files of an event log to all tables, once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError, tell
from bridge.analytics.intake.batches import FIRST_BATCH, Intake
from bridge.analytics.intake.closed_files import FILES, files_in
from bridge.analytics.intake.column_files import TOLD, Makers
from bridge.analytics.intake.delivery import Delivery, log_files, named
from bridge.analytics.intake.file_gaps import deleted_gaps, first_numbers
from bridge.analytics.intake.gaps import tell_gaps, write_gaps
from bridge.analytics.spark.progress import Say, Share, bar, nobody_watches
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.definitions import EVENTS, GAPS, REJECTED, TABLES
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.ownership import owned
from bridge.analytics.tables.publishing import pinned, publish
from bridge.analytics.tables.steps import FROM_EVENTS, FROM_TABLES
from bridge.analytics.tables.store import NEXT, Store
from bridge.analytics.tables.takeover import is_old, require_moved, take_over
from bridge.analytics.tables.telling import Telling

STEP_COUNT = len(FROM_EVENTS) + len(FROM_TABLES) + 2
"""Every derived table, the clocks, and the intake of a run, or what a stream carries."""
JOBS_AT_ONCE = 2
"""While the last tasks of one table run, those of the next keep the other cores busy."""
PATTERN_SIGNS = "[]{}*?\\"
"""What Hadoop takes in a path for a pattern: it then finds other files than those of that name, or none."""
NO_INPUT = "EB-ANALYTICS-001"
NO_INPUT_STEP = "name the folder that `epochbridge serve --events` or `demo --events` wrote"
PACKED_FILES = f"{FILES}.*"
"""So files of a log are called that somebody has packed."""
PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
}
"""How files begin that these programs have packed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many rows each table has, and how many inputs were set aside for each reason."""

    rows: dict[str, int]
    rejected: dict[str, int]


def run(events: str, out: str, settings: SessionSettings) -> Outcome:
    """Make all tables anew; raise AnalyticsError with one sentence if input or output can't be had."""
    require_input(events)
    require_unpacked(events)
    require_output(out)
    with owned(out):
        spark = open_session(settings)
        store = open_store(spark, out)
        if store.has_stream():
            raise AnalyticsError(
                f"EB-ANALYTICS-004: a stream writes the tables in {out}, and a run would begin them anew; "
                "name another --out, or remove that directory first"
            )
        bring_up(store)
        with bar(spark.sparkContext, STEP_COUNT) as shown:
            make_tables(store, event_lines(spark, events), shown.say, shown.share)
        return outcome(store)


def main(events: str, out: str, master: str | None, settings: Mapping[str, str]) -> None:
    """Run, and print what came of it."""
    for line in told(run(events, out, SessionSettings(master=master, settings=settings)), out):
        click.echo(line)


def told(found: Outcome, out: str) -> list[str]:
    """The outcome in lines: tables with their rows, then what was set aside and why."""
    lines = [f"{name:<12}{count:>12,}" for name, count in found.rows.items()]
    return [*lines, f"set aside: {_aside(found.rejected)}", f"tables are in {out}"]


def _aside(rejected: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in rejected.items()) or "nothing"


def make_tables(store: Store, log: Delivery, say: Say, share: Share = nobody_watches) -> None:
    """Every table from these lines; readers find what there was until all of them stand, and if no line is an event,
    which raises AnalyticsError.
    """
    say(EVENTS.name)
    first = first_numbers(log.files)
    taken = Intake(store, {}, Makers(share), is_anew=True).take(log, FIRST_BATCH)
    if taken.refused and not store.log(EVENTS).files():
        raise AnalyticsError(
            f"EB-ANALYTICS-019: not one line is an event of a bridge ({_aside(set_aside(store))}); the tables stay "
            f"what they were; {NO_INPUT_STEP}, and read what a newer epochbridge wrote with that one"
        )
    store.replace_by(GAPS, ())
    gaps = deleted_gaps(first, taken.gone)
    tell_gaps(gaps)
    write_gaps(store, gaps, FIRST_BATCH)
    telling = None if taken.told is None else Telling(taken.told, taken.untold)
    do_stages(Derivation(store, FIRST_BATCH, goes_on=False, telling=telling), say)
    store.clear_folder(NEXT, TOLD)
    publish(store)


def do_stages(derivation: Derivation, say: Say) -> None:
    """The steps of each stage, some at a time."""
    with ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
        for stage in derivation.stages():
            tuple(pool.map(partial(_do, say), stage.items()))


def _do(say: Say, named: tuple[str, Callable[[], None]]) -> None:
    name, step = named
    say(name)
    step()


def event_lines(spark: SparkSession, path: str) -> Delivery:
    """The lines of the files of a log with the names of their files; `path` is a folder, or one file."""
    try:
        lines = spark.read.option("pathGlobFilter", FILES if Path(path).suffix != ".jsonl" else "*").text(path)
    except AnalysisException as problem:
        why = problem.getCondition()
        raise AnalyticsError(f"{NO_INPUT}: {path} can't be read ({why}); {NO_INPUT_STEP}") from problem
    return Delivery(named(lines), log_files(path))


def require_input(path: str) -> None:
    """Raise AnalyticsError if a local path holds no event file, or can't be looked at."""
    if "://" in path:
        return
    found = Path(path)
    with _told_unreadable(found):
        if found.is_file() or files_in(found):
            return
        what = f"has no file {FILES}" if found.is_dir() else "does not exist"
    require_unpacked(path)
    raise AnalyticsError(f"{NO_INPUT}: {path} {what}; {NO_INPUT_STEP}")


def require_unpacked(path: str, taken: Collection[str] = ()) -> None:
    """Raise AnalyticsError if a local log has files that are compressed, for they would be left out, or be no events,
    or if it can't be read. Who packs a file behind `taken`, the names of those that count already, leaves nothing out.
    """
    if "://" in path:
        return
    found = Path(path)
    with _told_unreadable(found):
        others = [file for file in files_in(found, PACKED_FILES) if file.stem not in taken]
        files = [found] if found.is_file() else sorted({*files_in(found), *others})
    packed = [(file, how) for file in files if (how := _packed_by(file)) is not None]
    if packed:
        file, how = packed[0]
        raise AnalyticsError(
            f"EB-ANALYTICS-018: compressed files are in {path} ({len(packed):,} of {len(files):,}), such as "
            f"{file.name} ({how}), and would be left out; unpack them there, or move them away if they are not to count"
        )


def _packed_by(file: Path) -> str | None:
    """The program that packed a file, None for one that is not packed or gone by now."""
    with _told_unreadable(file):
        try:
            with file.open("rb") as opened:
                begin = opened.read(max(map(len, PACKED)))
        except FileNotFoundError:
            return None  # Bridges delete their oldest files, also between the look for them and this one.
    return next((how for magic, how in PACKED.items() if begin.startswith(magic)), None)


@contextmanager
def _told_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise AnalyticsError(
            f"{NO_INPUT}: {path} can't be read ({problem.strerror or problem}); make it readable for this user, or "
            "move it away if it is not to count"
        ) from problem


def require_output(path: str) -> None:
    """Raise AnalyticsError if a local directory can't be made or written to, or has a name that Spark reads as another
    one; before Spark starts, for that is slow.
    """
    _require_plain(path)
    if "://" in path:
        return
    probe = Path(path) / "_probe"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as problem:
        raise AnalyticsError(_unwritable(path, str(problem.strerror or problem))) from problem


def open_store(spark: SparkSession, out: str) -> Store:
    """The store below `out`, an absolute path if it is local; raise AnalyticsError if it can't be written or found."""
    _require_plain(out)
    store = Store(spark, _whole(out))
    try:
        store.make_root()
    except Py4JJavaError as problem:
        raise AnalyticsError(_unwritable(out, str(problem.java_exception))) from problem
    return store


def open_tables(spark: SparkSession, out: str) -> Store:
    """The store for who reads it, and may not be allowed to write: versions of its tables that belong together."""
    _require_plain(out)
    store = Store(spark, _whole(out))
    if is_old(store):
        with owned(out):
            bring_up(store)
    return pinned(store)


def bring_up(store: Store) -> None:
    """Take over tables of a version before Delta, remove what somebody who died left beside; only for who owns them.

    Raise AnalyticsError where that is the only copy of a table.
    """
    require_moved(store)
    store.clear_folder(NEXT)
    if is_old(store):
        tell("taking over tables of an earlier version")
        take_over(store)


def _require_plain(path: str) -> None:
    whole = _whole(path)
    if any(sign in whole for sign in PATTERN_SIGNS):
        raise AnalyticsError(
            f"EB-ANALYTICS-017: {whole} has one of the signs {PATTERN_SIGNS} in it, which Spark takes for a pattern, "
            "so that it would not find what is written there; name an --out without them"
        )


def _whole(path: str) -> str:
    """The absolute path of one on this machine; what is elsewhere as it is."""
    return path if "://" in path else str(Path(path).resolve())


def _unwritable(path: str, why: str) -> str:
    return f"EB-ANALYTICS-003: {path} can't be written to: {why}; name another --out, or make that one writable"


def outcome(store: Store) -> Outcome:
    """Count what is in the store."""
    rows = {name: store.count(table) for name, table in TABLES.items()}
    return Outcome(rows, set_aside(store))


def set_aside(store: Store) -> dict[str, int]:
    """How many inputs were set aside for each reason."""
    rejected = store.read(REJECTED).groupBy("reason").agg(f.sum("count").alias("n")).orderBy("reason").collect()
    return {row["reason"]: row["n"] for row in rejected}
