"""Keeps tables small: old days go, many small files become few large ones by group, files that nobody needs go.

It needs no Spark, and works on tables of this machine, whose writer it has to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import groupby

from deltalake.exceptions import CommitFailedError

from bridge.analytics.tables.definitions import CARRIED, DERIVED, EVENTS, ON_DEMAND, REFRESHED, TABLES, Table
from bridge.analytics.tables.snapshot import VERSIONS, read_snapshot, versions_of, write_snapshot
from bridge.analytics.tables.table_log import DataFile, TableLog

SPARED_HOURS = 168
"""So long files remain readable that have left a table: reports that run, and Delta's time travel."""
LOG_HOURS_MIN = 48
"""So long versions stay known, whatever is spared: the snapshot names some that batches have left behind."""
FILE_BYTES = 128 * 2**20
"""What a file of many is to be; one of less than half of it is small."""
ORDERED_BYTES = 256 * 2**20
"""A larger day is not ordered by group: delta-rs holds all of it in memory, unpacked."""
SMALL_FILES_MIN = 8
"""So many small files of a day are made few; of a day that is over two are enough."""
SINCE = "since"
"""Under this name the snapshot has the first day whose derived rows still change: days before it lack events by now."""
TENDED = (*TABLES.values(), *ON_DEMAND, CARRIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How many days each table keeps, all if it is not named, and how long files are spared that have left one."""

    keep_days: Mapping[str, int] = field(default_factory=dict)
    spared_hours: int = SPARED_HOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What was done for a table: files of old days that have left it, days whose files were gathered, files removed.

    One is crossed where another commit took out the same files meanwhile: the rest is left until the next time.
    """

    table: str
    expired: int
    gathered: tuple[str, ...]
    removed: int
    is_crossed: bool = False


def tend(root: str, wanted: Upkeep, today: date) -> list[Tended]:
    """Do what is due for every table below a root; whoever reads has the same rows, but for those of old days.

    A table that is at the version of the snapshot is so afterwards; a table that is being changed stays another one.
    """
    return [_tended(root, table, wanted, today) for table in TENDED if TableLog(f"{root}/{table.name}", table).version]


def _tended(root: str, table: Table, wanted: Upkeep, today: date) -> Tended:
    log, told = TableLog(f"{root}/{table.name}", table), read_snapshot(root)
    versions = versions_of(told)
    # An upkeep that died before it wrote the snapshot has changed no rows: else its version was nobody's for ever.
    is_pinned = table.name in versions and log.is_only_tended_since(versions[table.name])
    if table in {EVENTS, *DERIVED} and _is_due(log, table, wanted, today):
        # First: who dies after the events have gone must not make tables of the rest.
        told[SINCE] = max(str(told.get(SINCE, "")), _first_day(wanted.keep_days[table.name] - 1, today))
        write_snapshot(root, told)
    expired, gathered, is_crossed = 0, list[str](), False
    try:
        expired = _expire(log, table, wanted, today)
        for day in [*days_to_gather(log.files(), str(today))]:
            log.gather(day, FILE_BYTES, by_group=_is_by_group(log.files(), day, today))
            gathered.append(day)
    except CommitFailedError:
        is_crossed = True
    if not is_crossed or expired or gathered:
        _pin(root, log, table, is_pinned)
    if is_crossed:
        return Tended(table=table.name, expired=expired, gathered=tuple(gathered), removed=0, is_crossed=True)
    pinned = versions_of(read_snapshot(root)).get(table.name)
    if is_pinned or table not in REFRESHED:  # Else a refresh died, and the next one goes back to an old version.
        log.forget(max(wanted.spared_hours, LOG_HOURS_MIN), pinned)
    removed = log.vacuum(wanted.spared_hours, [] if pinned is None else [pinned])
    _pin(root, log, table, is_pinned)  # Both write lines of their own into the log.
    return Tended(table=table.name, expired=expired, gathered=tuple(gathered), removed=removed)


def _expire(log: TableLog, table: Table, wanted: Upkeep, today: date) -> int:
    days = wanted.keep_days.get(table.name)
    return 0 if days is None else log.expire(_first_day(days, today))


def _is_due(log: TableLog, table: Table, wanted: Upkeep, today: date) -> bool:
    days = wanted.keep_days.get(table.name)
    return days is not None and any(file.day is not None and file.day < _first_day(days, today) for file in log.files())


def _is_by_group(files: list[DataFile], day: str, today: date) -> bool:
    """A day that still grows would be written anew as a whole each time, and of a large one all is held in memory."""
    return day < str(today) and sum(file.size_bytes for file in files if file.day == day) <= ORDERED_BYTES


def _pin(root: str, log: TableLog, table: Table, is_pinned: bool) -> None:
    told = read_snapshot(root)
    if is_pinned and log.version is not None:
        write_snapshot(root, {**told, VERSIONS: {**versions_of(told), table.name: log.version}})


def _first_day(days: int, today: date) -> str:
    return str(today - timedelta(days=days))


def days_to_gather(files: list[DataFile], today: str) -> Iterator[str]:
    """The days that have too many small files."""
    dated = sorted(((file.day, file.size_bytes) for file in files if file.day is not None), key=lambda one: one[0])
    for day, group in groupby(dated, key=lambda one: one[0]):
        small = sum(size_bytes < FILE_BYTES // 2 for _, size_bytes in group)
        if small >= (SMALL_FILES_MIN if day >= today else 2):
            yield day


def first_live_day(told: Mapping[str, object]) -> str:
    """The first day whose derived rows still change, by a snapshot."""
    return str(told.get(SINCE, ""))
