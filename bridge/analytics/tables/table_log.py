"""One table as Delta Lake keeps it: Parquet files below a folder, and the log that says which of them are the table.

The door to delta-rs, which needs neither Arrow nor Spark. It writes no rows: files are made by others, and come in and
go by one commit, all or none.
"""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import ArrayType, PrimitiveType
from deltalake.transaction import AddAction, RemoveAction

from bridge.analytics.errors import AnalyticsError, first_line
from bridge.analytics.tables.definitions import (
    BATCH,
    DATE,
    EVENTS,
    GAPS,
    REJECTED,
    REPLAYS,
    ColumnType,
    Table,
)

DELTA_TYPES: Mapping[ColumnType, PrimitiveType | ArrayType] = {
    ColumnType.TEXT: PrimitiveType("string"),
    ColumnType.NUMBER: PrimitiveType("long"),
    ColumnType.FLAG: PrimitiveType("boolean"),
    ColumnType.TEXTS: ArrayType(PrimitiveType("string")),
    ColumnType.NUMBERS: ArrayType(PrimitiveType("long")),
    ColumnType.DATE: PrimitiveType("date"),
}
GROUP = "group_id"
STATISTICS = (GROUP, BATCH, "boot", "number", "wall_us", "began_us", "ended_us")
"""Columns of which the log knows the least and the greatest value of each file: by them files are passed over."""
INTAKE = "epochbridge-intake"
"""The application whose transactions are numbered by the micro-batches of a stream."""
NOTE, NOTED_BATCH = "epochbridge", "epochbridge-batch"
"""What a batch has to say, and which one: what gathers files says it again, and may come after a later batch."""
UPKEEP = "epochbridge-upkeep"
"""So a commit is marked that changes no rows, or lets old days go."""
VACUUM = "VACUUM"
"""So Delta calls the commits that say which files were removed."""
TENDED_AT_MOST = 1_000
"""More commits than that were not looked through: some of them are a writer's."""
NOTES_AT_MOST = 32
"""So many of the last commits are looked at for a note."""
STATISTICS_OF = "delta.dataSkippingStatsColumns"
"""Under this name a table has the columns of which its log gives statistics; of others those are dropped."""
CHECKPOINT_COMMITS = "100"
"""After so many commits Delta writes down all files of a table, so that nobody has to read the log from its begin."""
NOTHING_YET = -1
HOUR_S = 3_600
WHY_MAX = 200
"""Delta writes down all that it knows of the files beside."""
ATTEMPTS = 5
"""So often a commit is tried again that came at the same time as another one."""
Value = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of a table: its path below the folder of the table, the value of `date` of all its rows, and what its
    rows have, None for what nobody knows.
    """

    path: str
    size_bytes: int
    day: str | None
    rows: int | None = None
    least: Mapping[str, Value] = field(default_factory=dict)
    most: Mapping[str, Value] = field(default_factory=dict)

    def may_hold(self, column: str, values: Iterable[Value]) -> bool:
        """Whether one of the values may be in the column, by what the log knows."""
        if column not in self.least or column not in self.most:
            return True
        least, most = self.least[column], self.most[column]
        return any(_is_within(value, least, most) for value in values)

    def may_hold_batches(self, after: int, through: int) -> bool:
        """Whether rows of a batch later than `after` and not later than `through` may be in it."""
        return self.may_lie_in(BATCH, after + 1, through)

    def may_lie_in(self, column: str, first: int, last: int) -> bool:
        """Whether a column of numbers may have a value between these two."""
        least, most = self.least.get(column), self.most.get(column)
        if not isinstance(least, int) or not isinstance(most, int):
            return True
        return most >= first and least <= last

    def lies_in(self, column: str, first: int, last: int) -> bool:
        """Whether a column of numbers is known to have nothing but values between these two."""
        least, most = self.least.get(column), self.most.get(column)
        return isinstance(least, int) and isinstance(most, int) and first <= least and most <= last

    def is_before(self, column: str, value: int) -> bool:
        """Whether a row is known to have less than this in a column of numbers."""
        least = self.least.get(column)
        return isinstance(least, int) and least < value


def _is_within(value: Value, least: Value, most: Value) -> bool:
    if isinstance(value, int) and isinstance(least, int) and isinstance(most, int):
        return least <= value <= most
    return str(least) <= str(value) <= str(most)


class TableLog:
    """The log of a table in a folder, as it is now or was at a version; a table without one is empty.

    Raise AnalyticsError if the log is damaged, or is not there though somebody knows a version of it.
    """

    def __init__(self, folder: str, table: Table, version: int | None = None) -> None:
        self._folder, self._table = folder, table
        try:
            self._delta = DeltaTable(folder, version=version) if DeltaTable.is_deltatable(folder) else None
        except DeltaError as problem:
            raise _damaged(folder, table, first_line(problem)) from problem
        if self._delta is None and version is not None:
            raise _damaged(folder, table, f"version {version} of the table was known, and there is no log")
        if self._delta is not None and _is_empty(self._line(self._delta.version())):
            # Delta takes an empty commit for one that changes nothing.
            raise _damaged(folder, table, f"version {self._delta.version()} of it is an empty file")

    @property
    def version(self) -> int | None:
        """The version that is looked at, None where the table was never written."""
        return None if self._delta is None else self._delta.version()

    def files(self) -> list[DataFile]:
        """The files that are the table."""
        if self._delta is None:
            return []
        told = self._delta.get_add_actions(flatten=True)
        columns = {name: told.column(name).to_pylist() for name in told.schema.names}
        return [_data_file(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]

    def done(self) -> int:
        """The last batch that was committed, `NOTHING_YET` before the first."""
        found = None if self._delta is None else self._delta.transaction_version(INTAKE)
        return NOTHING_YET if found is None else found

    def note(self) -> str | None:
        """What the last batch has said with its commit; None if one before it was the last that said something."""
        return self._noted().get(NOTE)

    def expire(self, day: str) -> int:
        """Let the files of all days before this one leave the table; how many there were."""
        gone = [file for file in self.files() if file.day is not None and file.day < day]
        if gone:
            self._commit([], gone, self._tended(), None)
        return len(gone)

    def gather(self, day: str, size_bytes: int, *, by_group: bool) -> None:
        """Make few large files of the small ones of a day; by group, of all of them, so that its rows lie together."""
        assert self._delta is not None, "only a table that is there is tended"
        properties = CommitProperties(custom_metadata=self._tended())
        optimize, chosen = self._delta.optimize, [(DATE, "=", day)]
        if by_group and GROUP in self._table.column_names:
            optimize.z_order([GROUP], chosen, size_bytes, commit_properties=properties)
        else:
            optimize.compact(chosen, size_bytes, commit_properties=properties)
        self._delta.update_incremental()

    def restore(self, version: int) -> bool:
        """Let the table be as it was at a version, if it is another one by now; whether it is there at all.

        Raise DeltaError if files of that version are gone.
        """
        if self._delta is None or self._delta.version() < version:
            return False
        if self._delta.version() > version:
            self._delta.restore(version)
            self._delta.update_incremental()
        return True

    def vacuum(self, spared_hours: int, versions: Iterable[int]) -> int:
        """Remove files that are no part of the table, nor were in the last hours or at these versions; how many."""
        assert self._delta is not None, "only a table that is there is tended"
        removed = self._delta.vacuum(
            spared_hours, dry_run=False, enforce_retention_duration=False, full=True, keep_versions=[*versions]
        )
        self._delta.update_incremental()
        return len(removed)

    def forget(self, hours: int, kept: int | None) -> None:
        """Let versions go that the table was at before so many hours, and the files of the log that only those need.

        Delta keeps what it was at that time, and the checkpoint before it. Also says so to other writers. Nothing goes
        where the version that somebody reads (`kept`) is an earlier one, and as old.
        """
        assert self._delta is not None, "only a table that is there is tended"
        if kept is not None and kept < self._delta.version() and self._is_before(kept, hours):
            return
        wanted = {
            "delta.logRetentionDuration": f"interval {hours} hours",
            "delta.checkpointInterval": CHECKPOINT_COMMITS,
        }
        if wanted.items() - self._delta.metadata().configuration.items():
            self._delta.alter.set_table_properties(
                wanted, commit_properties=CommitProperties(custom_metadata=self._tended())
            )
            self._delta.update_incremental()
        self._delta.cleanup_metadata()

    def _is_before(self, version: int, hours: int) -> bool:
        """Whether a version was written so many hours ago, by the age of its line in the log, as Delta has it."""
        line = self._line(version)
        return not line.exists() or time.time() - line.stat().st_mtime >= hours * HOUR_S

    def _line(self, version: int) -> Path:
        """What the log says of a version, where it is of this machine."""
        return Path(self._folder, "_delta_log", f"{version:020}.json")

    def commit(
        self,
        added: Iterable[DataFile],
        removed: Iterable[DataFile] = (),
        *,
        done: int | None = None,
        note: str | None = None,
    ) -> None:
        """Let files become part of the table and others leave it, at once; `done` is the batch that this was.

        A stream takes batches while files are gathered: what another commit did meanwhile is no fault, unless it took
        one of the same files out.
        """
        batch = self.done() if done is None else done
        self._commit(added, removed, {} if note is None else {NOTE: note, NOTED_BATCH: str(batch)}, done)

    def _commit(
        self, added: Iterable[DataFile], removed: Iterable[DataFile], noted: dict[str, str], done: int | None
    ) -> None:
        delta, leaving = self.made(), list(removed)
        if not self._has(leaving):
            raise CommitFailedError(f"files of {self._table.name} have left it meanwhile by a concurrent commit")
        properties = CommitProperties(
            custom_metadata=noted,
            app_transactions=[] if done is None else [Transaction(INTAKE, done)],
        )
        now_ms = int(time.time() * 1_000)
        actions: list[AddAction | RemoveAction] = [
            *(_addition(file, now_ms) for file in added),
            *(RemoveAction(one.path, True, now_ms, one.size_bytes, {DATE: one.day}) for one in leaving),
        ]
        for left in reversed(range(ATTEMPTS)):
            try:
                delta.create_write_transaction(actions, "append", delta.schema(), [DATE], commit_properties=properties)
            except CommitFailedError:
                delta.update_incremental()
                if done is not None and self.done() >= done:
                    return
                if not left or not self._has(leaving):
                    raise
            else:
                break
        delta.update_incremental()

    def _noted(self) -> dict[str, str]:
        """The note of the last batch with its number, as a commit has it."""
        done = str(self.done())
        commits = [] if self._delta is None else self._delta.history(NOTES_AT_MOST)
        notes = (str(commit[NOTE]) for commit in commits if NOTE in commit and commit.get(NOTED_BATCH) == done)
        return next(({NOTE: note, NOTED_BATCH: done} for note in notes), {})

    def is_only_tended_since(self, version: int) -> bool:
        """Whether nothing but upkeep has changed the table since a version."""
        if self._delta is None or not 0 <= (commits := self._delta.version() - version) <= TENDED_AT_MOST:
            return False
        made = self._delta.history(commits) if commits else []
        return all(UPKEEP in one or str(one.get("operation")).startswith(VACUUM) for one in made)

    def _tended(self) -> dict[str, str]:
        """What a commit of the upkeep says: that it is one, and the note of the last batch."""
        return {**self._noted(), UPKEEP: "true"}

    def _has(self, files: Collection[DataFile]) -> bool:
        return not files or {one.path for one in files} <= {one.path for one in self.files()}

    def made(self) -> DeltaTable:
        """The table with all columns and statistics that it has by now; made where it is not there."""
        wanted = Schema([Field(column.name, DELTA_TYPES[column.type]) for column in self._table.columns])
        told = {STATISTICS_OF: ",".join(statistics(self._table))}
        if self._delta is None:
            self._delta = DeltaTable.create(
                self._folder,
                wanted,
                partition_by=[DATE],
                configuration=told,
            )
        known = {one.name for one in self._delta.schema().fields}
        missing = [one for one in wanted.fields if one.name not in known]
        if missing:
            self._delta.alter.add_columns(missing)
            self._delta.update_incremental()
        if told.items() - self._delta.metadata().configuration.items():
            self._delta.alter.set_table_properties(
                told, commit_properties=CommitProperties(custom_metadata=self._noted())
            )
            self._delta.update_incremental()
        return self._delta


def _is_empty(path: Path) -> bool:
    return path.is_file() and not path.stat().st_size


def _damaged(folder: str, table: Table, why: str) -> AnalyticsError:
    without = f"remove {folder}: the next run, or stream, makes that table anew"
    if table in {EVENTS, REPLAYS}:
        without = "make the tables anew from the event log, with another --out"
    elif table in {REJECTED, GAPS}:
        without = f"remove {folder}: what it listed is gone then, and no other table needs it"
    return AnalyticsError(
        f"EB-ANALYTICS-040: the log of the table {table.name} can't be read ({why:.{WHY_MAX}}): a file of "
        f"{folder}/_delta_log is gone or damaged, as of a disk that lost its end; put a copy of it back, or {without}"
    )


def statistics(table: Table) -> list[str]:
    """Those of `STATISTICS` that a table has."""
    return [name for name in STATISTICS if name in table.column_names]


def _data_file(row: Mapping[str, object]) -> DataFile:
    """A file as the log tells it: `min.…` and `max.…` beside path, size and rows."""
    day, size_bytes, rows = row[f"partition.{DATE}"], row["size_bytes"], row["num_records"]
    assert isinstance(size_bytes, int), "as Delta's log has it"
    assert rows is None or isinstance(rows, int), "as Delta's log has it"
    return DataFile(
        path=str(row["path"]),
        size_bytes=size_bytes,
        day=None if day is None else str(day),
        rows=rows,
        least=_values(row, "min"),
        most=_values(row, "max"),
    )


def _values(row: Mapping[str, object], prefix: str) -> dict[str, Value]:
    told = {name: row.get(f"{prefix}.{name}") for name in STATISTICS}
    return {name: value for name, value in told.items() if isinstance(value, str | int)}


def _addition(file: DataFile, now_ms: int) -> AddAction:
    told: dict[str, object] = {"minValues": dict(file.least), "maxValues": dict(file.most), "nullCount": {}}
    if file.rows is not None:
        told["numRecords"] = file.rows
    return AddAction(file.path, file.size_bytes, {DATE: file.day}, now_ms, True, json.dumps(told))
