"""Where the tables lie: one directory of Parquet files for each, below one root.

A path may be local or of any file system that Spark knows.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from errno import EPERM

from py4j.java_gateway import JavaObject
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.tables.definitions import BATCH, DATE, Table, is_often_new

NEXT = "_next"
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

    def clear(self, table: Table) -> None:
        """Remove a table."""
        self._delete(self.path(table.name))

    def clear_batch(self, table: Table, batch: int) -> None:
        """Remove what a batch has written to a table, if an attempt before this one did."""
        for found in self._find(self.path(table.name, f"{DATE}=*", f"{BATCH}={batch}")):
            self._delete(found)

    def take_out_undated(self, table: Table, batch: int) -> int:
        """Remove the rows of a batch that have no date; how many there were."""
        path = self.path(table.name, f"{DATE}={NO_DATE}", f"{BATCH}={batch}")
        if not self._files().exists(self._path(path)):
            return 0
        count = self.read(table).where(f.col(DATE).isNull() & (f.col(BATCH) == batch)).count()
        self._delete(path)
        return count

    def adopt(self, table: Table, batch: int, days: Iterable[tuple[str, str]]) -> None:
        """Take files that were written beside the store, each with rows of one day (day, path), into a batch.

        Raise OSError if one can't be moved.
        """
        for day, path in days:
            folder = self.path(table.name, f"{DATE}={day}", f"{BATCH}={batch}")
            self._files().mkdirs(self._path(folder))
            self._move(path, folder)

    def clear_folder(self, *names: str) -> None:
        """Remove a folder that is no table."""
        self._delete(self.path(*names))

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows of one batch, in directories of their own."""
        rows.write.mode("append").options(**plain(table)).partitionBy(DATE, BATCH).parquet(self.path(table.name))

    def replace(self, table: Table, rows: DataFrame) -> None:
        """Put new rows in the place of the old ones; whoever reads finds the old until all the new are there."""
        fresh, final = self.path(NEXT, table.name), self.path(table.name)
        rows.write.mode("overwrite").options(**plain(table)).partitionBy(DATE).parquet(fresh)
        self._delete(final)
        self._move(fresh, final)

    def amend(self, table: Table, rows: DataFrame, groups: Collection[str]) -> None:
        """Put new rows of some groups in the place of their old ones; days in which that changes nothing are left as
        they are.

        The rows of the other groups are copied where they share a day with what changed.
        """
        fresh, final = self.path(NEXT, table.name), self.path(table.name)
        rows.write.mode("overwrite").options(**plain(table)).partitionBy(DATE).parquet(fresh)
        made = self.spark.read.schema(table_schema(table)).parquet(fresh)
        before, is_named = self.read(table), f.col("group_id").isin(sorted(groups))
        days = changed_days(before.where(is_named), made)
        others = before.where(f.col(DATE).isin(days) & ~is_named)
        others.write.mode("append").options(**plain(table)).partitionBy(DATE).parquet(fresh)
        self._files().mkdirs(self._path(final))
        for day in days:
            self._delete(f"{final}/{DATE}={day}")
            if self._files().exists(self._path(f"{fresh}/{DATE}={day}")):
                self._move(f"{fresh}/{DATE}={day}", f"{final}/{DATE}={day}")
        self._delete(fresh)

    def has_stream(self) -> bool:
        """Whether a stream writes here."""
        return bool(self._files().exists(self._path(self.path(CHECKPOINT))))

    def make_root(self) -> None:
        """Create the root, and prove that files can be made there; raise what Java raises if not."""
        probe = self._path(self.path("_probe"))
        self._files().mkdirs(self._path(self.root))
        self._files().create(probe, True).close()
        self._files().delete(probe, False)

    def _find(self, pattern: str) -> list[str]:
        found = self._files().globStatus(self._path(pattern)) or []
        return [str(status.getPath().toString()) for status in found]

    def _move(self, path: str, to: str) -> None:
        """Raise OSError where the file system says no, which Hadoop tells by `false` and no word."""
        if not self._files().rename(self._path(path), self._path(to)):
            raise OSError(EPERM, "can't be moved there", path, None, to)

    def _delete(self, path: str) -> None:
        self._files().delete(self._path(path), True)

    def _path(self, text: str) -> JavaObject:
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None
        return jvm.org.apache.hadoop.fs.Path(text)

    def _files(self) -> JavaObject:
        context = self.spark.sparkContext._jsc
        assert context is not None
        return self._path(self.root).getFileSystem(context.hadoopConfiguration())
