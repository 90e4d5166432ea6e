"""Where the tables lie: one directory of Parquet files for each, below one root.

A path may be local or of any file system that Spark knows.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.tables.definitions import BATCH, DATE, Table, is_often_new
from bridge.analytics.tables.file_system import FileSystem
from bridge.analytics.tables.placing import NOTE, Move, finish, put_in_place

NEXT = "_next"
ANEW, AMENDED = "anew", "amended"
"""Folders for tables that are not in their place yet: all that a run makes, and what changes of one."""
CHECKPOINT = "_checkpoint"
NO_DATE = "__HIVE_DEFAULT_PARTITION__"
"""The name that Spark gives to the directory of rows without a date."""


def plain(table: Table) -> dict[str, str]:
    """The setting by which Parquet makes no dictionary for columns whose values hardly come twice, which costs time."""
    return {f"parquet.enable.dictionary#{name}": "false" for name in table.column_names if is_often_new(name)}


def changed_days(before: DataFrame, after: DataFrame) -> list[date]:
    """The values of `date` whose rows differ, whatever their order."""
    row = f.xxhash64(*before.columns).cast("decimal(38,0)")
    found: list[set[tuple[date, int, Decimal]]] = [
        {tuple(one) for one in side.groupBy(DATE).agg(f.count("*"), f.sum(row)).collect()} for side in (before, after)
    ]
    return sorted({day for day, _, _ in found[0] ^ found[1]})


@dataclass(frozen=True, slots=True)
class Store:
    """The tables below a root."""

    spark: SparkSession
    root: str

    @property
    def files(self) -> FileSystem:
        """The files and folders of the tables."""
        return FileSystem(self.spark, self.root.rstrip("/"))

    def path(self, *names: str) -> str:
        """A path below the root."""
        return "/".join((self.root.rstrip("/"), *names))

    def read(self, table: Table) -> DataFrame:
        """The table by its own schema: columns that older files lack are null, further ones are left out.

        A table that was never written is empty.
        """
        schema = table_schema(table)
        try:
            return self.spark.read.schema(schema).parquet(self.path(table.name))
        except AnalysisException as problem:
            if problem.getCondition() != "PATH_NOT_FOUND":
                raise
            return self.spark.createDataFrame([], schema)

    def clear_batch(self, table: Table, batch: int) -> None:
        """Remove what a batch has written to a table, if an attempt before this one did."""
        for found in self.files.find(self.path(table.name, f"{DATE}=*", f"{BATCH}={batch}")):
            self.files.delete(found)

    def last_batch(self, table: Table) -> int:
        """The last batch that has brought rows to a table, -1 if none has."""
        found = self.files.find(self.path(table.name, f"{DATE}=*", f"{BATCH}=*"))
        return max((int(path.rpartition("=")[2]) for path in found), default=-1)

    def last_done(self) -> int:
        """The last batch that a stream has noted as done, -1 if none: one that was begun may be there in part."""
        found = self.files.find(self.path(CHECKPOINT, "commits", "[0-9]*"))
        return max((int(path.rpartition("/")[2]) for path in found), default=-1)

    def take_out_undated(self, table: Table, batch: int) -> int:
        """Remove the rows of a batch that have no date; how many there were."""
        path = self.path(table.name, f"{DATE}={NO_DATE}", f"{BATCH}={batch}")
        if not self.files.exists(path):
            return 0
        count = self.read(table).where(f.col(DATE).isNull() & (f.col(BATCH) == batch)).count()
        self.files.delete(path)
        return count

    def adopt(self, table: Table, batch: int, days: Iterable[tuple[str, str]]) -> None:
        """Take files that were written beside the store, each with rows of one day (day, path), into a batch.

        Raise OSError if one can't be moved.
        """
        for day, path in days:
            folder = self.path(table.name, f"{DATE}={day}", f"{BATCH}={batch}")
            self.files.make_folder(folder)
            self.files.move(path, folder)

    def clear_folder(self, *names: str) -> None:
        """Remove a folder that is no table."""
        self.files.delete(self.path(*names))

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows of one batch, in directories of their own."""
        rows.write.mode("append").options(**plain(table)).partitionBy(DATE, BATCH).parquet(self.path(table.name))

    def replace(self, table: Table, rows: DataFrame) -> None:
        """Put new rows in the place of the old ones; whoever reads finds the old until all the new are there."""
        fresh = f"{NEXT}/{table.name}"
        self.settle(table.name)
        rows.write.mode("overwrite").options(**plain(table)).partitionBy(DATE).parquet(self.path(fresh))
        self._place(table.name, [Move(fresh, table.name)])

    def amend(self, table: Table, rows: DataFrame, groups: Collection[str]) -> None:
        """Put new rows of some groups in the place of their old ones; days in which that changes nothing are left as
        they are.

        The rows of the other groups are copied where they share a day with what changed.
        """
        beside = f"{NEXT}/{AMENDED}/{table.name}"
        fresh = self.path(beside)
        self.settle(table.name)
        rows.write.mode("overwrite").options(**plain(table)).partitionBy(DATE).parquet(fresh)
        made = self.spark.read.schema(table_schema(table)).parquet(fresh)
        before, is_named = self.read(table), f.col("group_id").isin(sorted(groups))
        days = changed_days(before.where(is_named), made)
        others = before.where(f.col(DATE).isin(days) & ~is_named)
        others.write.mode("append").options(**plain(table)).partitionBy(DATE).parquet(fresh)
        self.files.make_folder(self.path(table.name))
        self._place(table.name, [self._move_of(table, beside, f"{DATE}={day}") for day in days])
        self.files.delete(fresh)

    def beside(self) -> "Store":
        """An empty store for all tables anew, until they take the place of those of this one."""
        self.settle(ANEW)
        self.files.delete(self.path(NEXT, ANEW))
        return Store(self.spark, self.path(NEXT, ANEW))

    def take_over(self, tables: Iterable[Table]) -> None:
        """Put these tables of the store beside in the place of the old ones, all or none; what it lacks is empty."""
        names = [table.name for table in tables]
        for name in names:
            self.files.make_folder(self.path(NEXT, ANEW, name))
        self._place(ANEW, [Move(f"{NEXT}/{ANEW}/{name}", name) for name in names])
        self.files.delete(self.path(NEXT, ANEW))

    def settle(self, name: str = "*") -> None:
        """Put in place what somebody who died was putting in place; only for who knows that nobody else does."""
        finish(self.files, self.path(NEXT), name)

    def is_unsettled(self) -> bool:
        """Whether somebody is putting tables in place, or has died meanwhile."""
        return bool(self.files.find(self.path(NEXT, f"{NOTE}*")))

    def has_stream(self) -> bool:
        """Whether a stream writes here."""
        return self.files.exists(self.path(CHECKPOINT))

    def make_root(self) -> None:
        """Create the root, and prove that files can be made there; raise what Java raises if not."""
        probe = self.path("_probe")
        self.files.make_folder(self.root)
        self.files.write(probe, "")
        self.files.delete(probe)

    def _place(self, name: str, moves: list[Move]) -> None:
        put_in_place(self.files, self.path(NEXT), name, moves)

    def _move_of(self, table: Table, beside: str, day: str) -> Move:
        """A day that has lost its last row has no folder beside."""
        fresh = f"{beside}/{day}"
        return Move(fresh if self.files.exists(self.path(fresh)) else None, f"{table.name}/{day}")
