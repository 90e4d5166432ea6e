"""Who turns files of a log into files of `events`, and what comes back of it: as many processes as Spark has cores
where that runs on this machine, the executors of a cluster if they can. Else Spark itself reads the lines.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from bridge.analytics.errors import AnalyticsError, tell
from bridge.analytics.intake.columns import (
    Columns,
    Errand,
    LogFile,
    LongLine,
    Piece,
    file_bytes,
    make_columns,
    pieces_of,
)
from bridge.analytics.intake.executors import make_on_executors, why_not
from bridge.analytics.intake.numbers import Came, Numbers
from bridge.analytics.intake.reading import LINE, SOURCE
from bridge.analytics.spark.progress import Share, nobody_watches
from bridge.analytics.spark.writing import is_spread
from bridge.analytics.stretches.files import Account, in_one_account
from bridge.analytics.tables.store import NEXT, Staged, Store

ERRAND_BYTES, ERRAND_BYTES_MAX = 32 * 2**20, 96 * 2**20
"""What one process reads before it takes something else, at least and at most: a file of `events` for each."""
ERRANDS_A_PROCESS = 8
"""So many there are of a large log at least: at its end nobody waits long for another one."""
ALONE_BYTES = 16 * 2**20
"""So much is read before other processes have started."""
UNTOLD_BYTES = 16 * 2**20
"""Of so much of a stream nobody is asked what it tells: Spark looks at some 40,000 events as quickly."""
PROCESSES_MAX = 8
"""Each takes some 400 MB."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Names of settings of glibc's `mallopt`: from how many bytes on memory is given back, and taken apart."""
KEPT_BYTES, APART_BYTES = 2**31 - 1, 32 * 2**20
"""The most that glibc takes for each."""
FOLDER, TOLD = "columns", "told"


class Makers:
    """Processes that make columns: started when they are needed, kept for what comes after, gone with this object or
    when it is closed.
    """

    def __init__(self, share: Share = nobody_watches) -> None:
        self._share = share
        self._pool: ProcessPoolExecutor | None = None
        self._can_executors: bool | None = None

    def make(self, errands: Sequence[Errand], processes: int) -> list[Columns]:
        """The columns of every errand; raise OSError where one fails, BrokenProcessPool where a process dies."""
        pieces = [piece for errand in errands for piece in errand.pieces]
        if sum(map(_length_bytes, pieces)) <= ALONE_BYTES:
            return list(map(make_columns, errands))
        if self._pool is None:
            self._pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin_process)
        made: list[Columns] = []
        try:
            for columns in self._pool.map(make_columns, errands):
                made.append(columns)
                self._share(len(made), len(errands))
        except BrokenProcessPool:
            self._pool = None
            raise
        return made

    def can_executors(self, store: Store, files: Sequence[LogFile]) -> bool:
        """Whether those of a cluster make columns of these files, or of some that are yet to be written beside the
        tables; they are asked once, and what they say is told.
        """
        if not store.is_here or is_at_hand(store):
            return False
        if self._can_executors is None:
            self._judge(why_not(store.spark.sparkContext, files, made_folder(store)))
        return bool(self._can_executors)

    def make_afar(self, store: Store, errands: Sequence[Errand]) -> list[Columns]:
        """The same columns by executors; none where those could not, who are not asked any more."""
        made = make_on_executors(store.spark.sparkContext, errands)
        if isinstance(made, str):
            self._judge(made)
            return []
        return made

    def _judge(self, why: str) -> None:
        self._can_executors = not why
        tell(f"Spark reads the lines itself, which is slower: {why}" if why else "executors read the lines by Arrow")

    def close(self) -> None:
        """Let the processes go; others are started if there is more to make."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def is_at_hand(store: Store) -> bool:
    """Whether Spark and its tables are on this machine."""
    return store.is_here and not is_spread(store.spark)


def can_take(store: Store, files: Sequence[LogFile]) -> bool:
    """Whether the files lie where the store and Spark are: on this machine."""
    return is_at_hand(store) and bool(files)


def is_large(files: Sequence[LogFile]) -> bool:
    """Whether files have so many lines that it pays to ask what they tell."""
    try:
        return sum(Path(file.path).stat().st_size for file in files) > UNTOLD_BYTES
    except OSError:
        return False  # Who reads them says which one is gone.


@dataclass(frozen=True, slots=True)
class Adopted:
    """What came of files: the lines that are `left` for Spark to judge, None if none are, readable until they are
    forgotten; the numbers of the events, None where they can't be told; the files of `events` that were made; the
    lines that are too long to be handed on; what the events tell of tables, None where that is not known; and the
    sources of files that were deleted before they were read, or all of them was.
    """

    left: DataFrame | None
    numbers: Came | None
    staged: tuple[Staged, ...] = ()
    long_lines: tuple[LongLine, ...] = ()
    told: Account | None = None
    gone: tuple[str, ...] = ()


def take_columns(
    store: Store, files: Sequence[LogFile], batch: int, makers: Makers, *, is_told: bool = False
) -> Adopted:
    """Make files of the events of a batch, and of what they tell of tables, if that is wanted; raise AnalyticsError if
    files can't be read or written.
    """
    try:
        made = makers.make(_errands(store, files, batch, is_told=is_told), min(_cores(store), PROCESSES_MAX))
    except (OSError, BrokenProcessPool) as problem:
        raise AnalyticsError(
            f"EB-ANALYTICS-011: the files of the log can't be taken ({problem}); they, or room and memory for what is "
            "made of them, may be gone: look, and run the same command again"
        ) from problem
    return _adopted(store, made, is_told=is_told)


def take_afar(
    store: Store, files: Sequence[LogFile], batch: int, makers: Makers, *, is_told: bool = False
) -> Adopted | None:
    """The same by the executors of a cluster; None where they could not, and Spark is to read the lines."""
    made = makers.make_afar(store, _errands(store, files, batch, is_told=is_told))
    return _adopted(store, made, is_told=is_told) if made else None


def made_folder(store: Store) -> Path:
    """Where columns are made, on this machine or on a disk that is shared."""
    folder = Path(store.path(NEXT, FOLDER))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _adopted(store: Store, made: Sequence[Columns], *, is_told: bool) -> Adopted:
    left = [path for columns in made for path in columns.left_over]
    return Adopted(
        left=store.spark.read.schema(f"{LINE} string, {SOURCE} string").parquet(*left) if left else None,
        numbers=_together(columns.numbers for columns in made),
        staged=tuple(Staged(path, day) for columns in made for day, path in columns.days),
        long_lines=tuple(line for columns in made for line in columns.long_lines),
        told=in_one_account(columns.told for columns in made) if is_told else None,
        gone=tuple(dict.fromkeys(source for columns in made for source in columns.gone)),
    )


def _together(parts: Iterable[Sequence[tuple[str, Numbers]] | None]) -> Came | None:
    known = list(parts)
    return None if None in known else [one for part in known if part is not None for one in part]


def _errands(store: Store, files: Sequence[LogFile], batch: int, *, is_told: bool) -> list[Errand]:
    """What a batch tells lies apart from what others do: tables may be made of those at the same time."""
    folder, told = made_folder(store), Path(store.path(NEXT, TOLD, str(batch)))
    if is_told:
        told.mkdir(parents=True, exist_ok=True)
    bundles = _bundles(files, _errand_bytes(store, files))
    names = ((f"part-{place:05}", bundle) for place, bundle in enumerate(bundles))
    return [Errand(bundle, str(folder / name), batch, str(told / name) if is_told else None) for name, bundle in names]


def _errand_bytes(store: Store, files: Iterable[LogFile]) -> int:
    """Larger errands of a larger log: each makes files of its own, and Spark opens all of them for each table."""
    whole = sum(map(file_bytes, files))
    share = whole // (ERRANDS_A_PROCESS * min(_cores(store), PROCESSES_MAX))
    return min(max(share, ERRAND_BYTES), ERRAND_BYTES_MAX)


def _bundles(files: Iterable[LogFile], size_bytes: int) -> Iterator[tuple[Piece, ...]]:
    waiting: list[Piece] = []
    for piece in pieces_of(files, size_bytes):
        if waiting and sum(map(_length_bytes, (*waiting, piece))) > size_bytes:
            yield tuple(waiting)
            waiting = []
        waiting.append(piece)
    if waiting:
        yield tuple(waiting)


def _begin_process() -> None:
    """Whoever interrupts means the job: what is begun is ended first. With the job it ends, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_job, daemon=True).start()
    keep_memory()


def keep_memory() -> None:
    """Let what Arrow lets go of stay with the process, for the next block needs as much: given back to the kernel and
    taken again, page by page, that was a fifth of the CPU of reading. Only glibc can be told so.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, APART_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


def _end_with_job() -> None:
    """A job that is killed says nothing: who waits for the next errand would wait for ever, with all its memory."""
    job = parent_process()
    if job is not None:
        job.join()
        os._exit(1)


def _length_bytes(piece: Piece) -> int:
    return piece.end_byte - piece.begin_byte


def _cores(store: Store) -> int:
    return int(store.spark.sparkContext.defaultParallelism)
