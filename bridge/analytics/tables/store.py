"""Where the tables lie: one Delta table for each, below one root. Spark reads and makes the files, the log says which
of them count.

A path may be local, or of any file system that both Spark and delta-rs know.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyarrow.parquet import FileMetaData, read_metadata
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.spark.rows import local_rows
from bridge.analytics.spark.writing import is_spread, require_here, watched
from bridge.analytics.tables.arrow_types import ARROW_TYPES
from bridge.analytics.tables.definitions import BATCH, DATE, Table, is_often_new
from bridge.analytics.tables.file_system import FileSystem
from bridge.analytics.tables.table_log import GROUP, NOTHING_YET, DataFile, TableLog, Value, statistics

NEXT, MADE = "_next", "made"
"""Folder for files that are of no table yet, and the area in it of tables that are being made."""
CHECKPOINT = "_checkpoint"
EVER = ""
"""A day before all others."""
GREATEST = 2**63 - 1
GROUPS_A_FILE = 500
"""So many groups that change lie in a file of a table without days: each refresh writes the files of all that do."""
FIRST_DAY = "0001-01-01"
FILES_SPARED, SMALL_ROWS = 64, 1_000
"""More files of a table without days, with so few rows on average, are made few."""
ONE_PIECE_BYTES = 4 * 2**20
"""Files of so many bytes together are read by one task: some 100,000 events."""
WRITTEN_ANEW_BYTES = 2**20
"""Files of so many bytes, some 20,000 rows, are written anew as a whole: to find what changes would cost more."""
FILES_A_DAY = 8
"""So many files that refreshes have added to a day lie there, if they are small, before they become one."""
WALL = "wall_us"
_DIGEST, _FILE, _BEGAN = "digest", "file", "began_us"
NO_DATE = "__HIVE_DEFAULT_PARTITION__"
"""The name that Spark gives to the directory of rows without a date."""


def plain(table: Table) -> dict[str, str]:
    """The setting by which Parquet makes no dictionary for columns whose values hardly come twice, which costs time."""
    return {f"parquet.enable.dictionary#{name}": "false" for name in table.column_names if is_often_new(name)}


def no_rows(spark: SparkSession, table: Table) -> DataFrame:
    """A table without rows."""
    return local_rows(spark, {column.name: ARROW_TYPES[column.type] for column in table.columns}, [])


def changed_days(before: DataFrame, after: DataFrame) -> list[date | None]:
    """The values of `date` whose rows differ, whatever their order."""
    row = f.xxhash64(*before.columns).cast("decimal(38,0)")
    found: list[set[tuple[date, int, Decimal]]] = [
        {tuple(one) for one in side.groupBy(DATE).agg(f.count("*"), f.sum(row)).collect()} for side in (before, after)
    ]
    return [*{day for day, _, _ in found[0] ^ found[1]}]


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that is of no table yet, where it lies, and the day of all its rows; not of one that is none."""

    path: str
    day: str | None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """The tables below a root, as they are now; those that `versions` names as they were at that version."""

    spark: SparkSession
    root: str
    versions: Mapping[str, int] = field(default_factory=dict)

    @property
    def files(self) -> FileSystem:
        """The files and folders of the tables."""
        return FileSystem(self.spark, self.root.rstrip("/"))

    @property
    def is_here(self) -> bool:
        """Whether the root is on this machine."""
        return "://" not in self.root

    @property
    def has_far_disks(self) -> bool:
        """Whether executors may have another disk under the path of the root."""
        return is_spread(self.spark) and (self.is_here or self.root.startswith("file:"))

    def path(self, *names: str) -> str:
        """A path below the root."""
        return "/".join((self.root.rstrip("/"), *names))

    def log(self, table: Table) -> TableLog:
        """What the table consists of."""
        return TableLog(self.path(table.name), table, self.versions.get(table.name))

    def read(self, table: Table) -> DataFrame:
        """The table by its own schema: columns that older files lack are null, further ones are left out.

        A table that was never written is empty.
        """
        return self.read_files(table, self.log(table).files())

    def count(self, table: Table) -> int:
        """How many rows a table has: by its log where that says so, without a look at its files."""
        files = self.log(table).files()
        told = [file.rows for file in files if file.rows is not None]
        return sum(told) if len(told) == len(files) else self.read_files(table, files).count()

    def read_batches(self, table: Table, after: int, through: int) -> DataFrame:
        """The rows that batches later than `after` have brought, and not later than `through`."""
        return self._read_of_batches(table, self.log(table).files(), after, through)

    def is_small(self, table: Table, after: int, through: int) -> bool:
        """Whether what these batches have brought is read in one piece."""
        files = (file for file in self.log(table).files() if file.may_hold_batches(after, through))
        return sum(file.size_bytes for file in files) <= ONE_PIECE_BYTES

    def read_chunks(self, table: Table, spans: Mapping[str, Collection[tuple[int, int]]], through: int) -> DataFrame:
        """At least all rows of which boot and number lie within one of the spans (first, last number) of a boot; of
        batches not later than `through`.
        """
        files = [
            file
            for file in self.log(table).files()
            if any(
                file.may_hold("boot", [boot]) and any(file.may_lie_in("number", *span) for span in spans[boot])
                for boot in spans
            )
        ]
        return self._read_of_batches(table, files, NOTHING_YET, through)

    def read_groups(self, table: Table, groups: Collection[str], through: int) -> DataFrame:
        """At least all rows of these groups, of batches not later than `through`."""
        files = [file for file in self.log(table).files() if file.may_hold(GROUP, groups)]
        return self._read_of_batches(table, files, NOTHING_YET, through)

    def _read_of_batches(self, table: Table, files: Iterable[DataFile], after: int, through: int) -> DataFrame:
        """What is in files of a table of batches later than `after`, and not later than `through`.

        A file of nothing else is read without a look at each row: that has numbers in it which are others at each
        refresh, so that Spark would compile all anew that is made of these rows.
        """
        held = [file for file in files if file.may_hold_batches(after, through)]
        whole = self.read_files(table, (file for file in held if file.lies_in(BATCH, after + 1, through)))
        others = [file for file in held if not file.lies_in(BATCH, after + 1, through)]
        if not others:
            return whole
        return self.read_files(table, others).where(f.col(BATCH).between(after + 1, through)).unionByName(whole)

    def read_since(self, table: Table, column: str, least: int) -> DataFrame:
        """At least all rows of which a column of numbers has this value or a greater one."""
        files = [file for file in self.log(table).files() if file.may_lie_in(column, least, GREATEST)]
        return self.read_files(table, files)

    def read_days(self, table: Table, days: Collection[str]) -> DataFrame:
        """The rows of these days."""
        return self.read_files(table, [file for file in self.log(table).files() if file.day in days])

    def read_files(self, table: Table, files: Iterable[DataFile]) -> DataFrame:
        """What is in files of a table."""
        schema = table_schema(table)
        held = list(files)
        if not held:
            return no_rows(self.spark, table)
        paths = [self.path(table.name, file.path) for file in held]
        read = self.spark.read.schema(schema).option("basePath", self.path(table.name)).parquet(*paths)
        return _in_one_piece(read, sum(file.size_bytes for file in held))

    def read_staged(self, schema: StructType, staged: Iterable[Staged]) -> DataFrame:
        """Columns of files that are of no table yet."""
        paths = [one.path for one in staged]
        if not paths:
            return self.spark.createDataFrame([], schema)
        return self.spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(*paths)

    def stage(self, table: Table, rows: DataFrame, area: str = MADE) -> list[Staged]:
        """Write rows of a table beside it, in a folder of an area that whoever stages clears.

        Raise AnalyticsError where not all of them are here then.
        """
        folder = self.path(NEXT, area, uuid4().hex)
        if not self.has_far_disks:
            return self._written(table, rows, folder)
        seen, count = watched(rows, f.lit(1))
        staged = self._written(table, seen, folder)
        require_here(count(), self.count_staged(staged), "rows", folder)
        return staged

    def _written(self, table: Table, rows: DataFrame, folder: str) -> list[Staged]:
        rows.write.options(**plain(table)).partitionBy(DATE).parquet(folder)
        return [_staged(path, size_bytes) for path, size_bytes in self.files.sizes(f"{folder}/{DATE}=*/part-*").items()]

    def clear_folder(self, *names: str) -> None:
        """Remove a folder that is no table."""
        self.files.delete(self.path(*names))

    def count_staged(self, staged: Collection[Staged]) -> int:
        """How many rows are in them."""
        if self.is_here:
            return sum(read_metadata(_local(one.path)).num_rows for one in staged)
        return self.read_staged(StructType(), staged).count()

    def commit(
        self,
        table: Table,
        staged: Iterable[Staged],
        removed: Iterable[DataFile] = (),
        *,
        done: int | None = None,
        note: str | None = None,
    ) -> list[str]:
        """Let files become part of a table in the place of others; whoever reads has all of that or nothing. Gives the
        paths of the new ones, in their order.

        Raise OSError if a file can't be moved.
        """
        log = self.log(table)
        # First: files by day without a log are taken for a table of a version before Delta.
        log.made()
        added = [self._moved(table, one) for one in staged]
        log.commit(added, removed, done=done, note=note)
        return [file.path for file in added]

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows."""
        with self._staged(table, rows) as staged:
            self.commit(table, staged)

    def replace(self, table: Table, rows: DataFrame, since: str = EVER, beside: Iterable[Staged] = ()) -> None:
        """Put new rows, and files that are `beside` them, in the place of the old ones; those of days before `since`
        stay as they are.
        """
        with self._staged(table, rows) as staged:
            self.replace_by(table, [*staged, *beside], since)

    def replace_by(self, table: Table, staged: Iterable[Staged], since: str = EVER) -> None:
        """Put files in the place of all rows, those of days before `since` left out."""
        fresh = [one for one in staged if is_since(one.day, since)]
        self.commit(table, fresh, [file for file in self.log(table).files() if is_since(file.day, since)])

    def put_batch(self, table: Table, rows: DataFrame, batch: int) -> None:
        """Put rows of a batch in the place of those that it had."""
        held = [file for file in self.log(table).files() if file.may_hold_batches(batch - 1, batch)]
        others = self.read_files(table, held).where(f.col(BATCH) != batch)
        with self._staged(table, rows.unionByName(others)) as staged:
            self.commit(table, staged, held)

    def amend(self, table: Table, rows: DataFrame, groups: Collection[str], since: str = EVER) -> None:
        """Put new rows of some groups in the place of their old ones; days in which that changes nothing are left as
        they are, and so are those before `since`.

        The rows of other groups are copied where they share a file with what changed.
        """
        held = [file for file in self.log(table).files() if file.may_hold(GROUP, groups)]
        before, is_named = self.read_files(table, held), f.col(GROUP).isin(sorted(groups))
        with self._staged(table, rows) as staged:
            made = self._read_partitioned(table, staged)
            changed = (None if day is None else str(day) for day in changed_days(before.where(is_named), made))
            days = {day for day in changed if is_since(day, since)}
            touched = [file for file in held if file.day in days]
            fresh = [one for one in staged if one.day in days]
            if touched:
                with self._staged(table, self.read_files(table, touched).where(~is_named)) as others:
                    self.commit(table, [*fresh, *others], touched)
            elif fresh:
                self.commit(table, fresh)

    def put_groups(self, table: Table, rows: DataFrame, groups: Collection[str], since: str = EVER) -> None:
        """Put rows of some groups in the place of all that those had, and let go what is of days before `since`; the
        table has no days.

        Groups that are never heard of again, such as those with a name for one run, keep what is not older; many small
        files of such groups become few.
        """
        files, live_us = self.log(table).files(), _begin_us(since)
        is_scattered = len(files) > FILES_SPARED and sum(file.rows or 0 for file in files) < len(files) * SMALL_ROWS
        held = [one for one in files if is_scattered or one.may_hold(GROUP, groups) or one.is_before(WALL, live_us)]
        named = local_rows(self.spark, {GROUP: pa.string()}, [(name,) for name in sorted(groups)])
        live = self.read_files(table, held).where(f.col(WALL) >= live_us)
        others = live.join(f.broadcast(named), GROUP, "left_anti")
        is_small = is_scattered or sum(file.size_bytes for file in held) <= ONE_PIECE_BYTES
        count = max(1 if is_small else len(held), 1 + len(groups) // GROUPS_A_FILE)
        new = rows.unionByName(others)
        with self._staged(table, new.coalesce(1) if count == 1 else new.repartitionByRange(count, GROUP)) as staged:
            self.commit(table, staged, held)

    def merge(
        self, table: Table, rows: DataFrame, known: DataFrame | None, since: str = EVER, *, is_all: bool = False
    ) -> list[str]:
        """Put rows in the place of those of the same key, among those that are `known` (the columns of the key and
        `date`), and add the others; give the paths of the files of what is new or otherwise.

        Rows that come out the same are left where they are; those of days before `since` are, too. Where `is_all`,
        what is known and not among the rows goes. Only files are written anew that have a row which changes; where all
        files of the days are small, all of them.
        """
        with self._staged(table, rows) as made:
            fresh = [one for one in made if is_since(one.day, since)]
            self._gather(table, {one.day for one in fresh})
            if known is None and (scattered := self._scattered(table, {one.day for one in fresh})):
                return self._written_anew(table, fresh, scattered, None)
            if known is None or not (fresh or is_all):
                return self._added(table, fresh)
            key, days = [*dict.fromkeys((*table.key, DATE))], {one.day for one in fresh}
            if is_all:
                gone = {str(day) for (day,) in known.select(DATE).distinct().collect()}
                days.update(day for day in gone if is_since(day, since))
            held = [file for file in self.log(table).files() if file.day in days]
            if not held:
                return self._added(table, fresh)
            if sum(file.size_bytes for file in held) <= WRITTEN_ANEW_BYTES:
                return self._written_anew(table, fresh, held, known.select(*key) if is_all else None)
            live = self._read_partitioned(table, fresh).where(f.col(DATE) >= (since or FIRST_DAY))
            marked = live.withColumn(_DIGEST, f.xxhash64(*table.column_names))
            named = marked if is_all else marked.join(f.broadcast(known), [*table.key], "left_semi")
            new = named.select(*key, *_beside(table, key), _DIGEST).localCheckpoint()
            before = self._marked(table, known if is_all else new, key, since)
            if before is None:
                return self._added(table, fresh)
            same = before.join(f.broadcast(new), [*key, _DIGEST], "left_semi").localCheckpoint()
            if same.isEmpty():
                return self._exchanged(table, fresh, before, key)
            same = f.broadcast(same)
            with self._staged(table, marked.join(same, [*key, _DIGEST], "left_anti").drop(_DIGEST)) as changed:
                return self._exchanged(table, changed, before.join(same, [*key, _DIGEST], "left_anti"), key)

    def _written_anew(
        self, table: Table, fresh: Sequence[Staged], held: Sequence[DataFile], known: DataFrame | None
    ) -> list[str]:
        """Write new rows and all others of these files, without those of known keys, or else of the same ones."""
        key, made = [*dict.fromkeys((*table.key, DATE))], self._read_partitioned(table, fresh)
        gone = made.select(*key) if known is None else known
        others = self.read_files(table, held).join(f.broadcast(gone), key, "left_anti")
        live = made.where(f.col(DATE).isin(sorted({one.day for one in fresh if one.day is not None})))
        with self._staged(table, live.unionByName(others)) as staged:
            return self.commit(table, staged, held)

    def _scattered(self, table: Table, days: Collection[str | None]) -> list[DataFile]:
        """The files of days, if they are many and small: each refresh adds one, and reads those of its days."""
        held = [file for file in self.log(table).files() if file.day in days]
        is_small = sum(file.size_bytes for file in held) <= WRITTEN_ANEW_BYTES
        return held if is_small and len(held) > FILES_A_DAY * len(days) else []

    def _gather(self, table: Table, days: Collection[str | None]) -> None:
        """Make one file of the small ones of a large day, if they are many: each refresh adds some to its day."""
        held = [file for file in self.log(table).files() if file.day in days]
        for day in days:
            files = [file for file in held if file.day == day]
            small = [file for file in files if file.size_bytes <= WRITTEN_ANEW_BYTES]
            if len(small) > FILES_A_DAY and sum(file.size_bytes for file in files) > WRITTEN_ANEW_BYTES:
                with self._staged(table, self.read_files(table, small).coalesce(1)) as staged:
                    self.commit(table, staged, small)

    def _added(self, table: Table, fresh: Sequence[Staged]) -> list[str]:
        return self.commit(table, fresh) if fresh else []

    def _marked(self, table: Table, old: DataFrame, key: list[str], since: str) -> DataFrame | None:
        """The key of each of these rows that the table has, its digest, and the file that it is in; of rows that are
        known by their key and by when they began.
        """
        ends = old.groupBy(DATE).agg(f.min(_BEGAN), f.max(_BEGAN)).collect()
        spans = {str(day): (first, last) for day, first, last in ends if is_since(str(day), since)}
        files = [file for file in self.log(table).files() if file.day in spans]
        held = [file for file in files if file.may_lie_in(_BEGAN, *spans[str(file.day)])]
        if not held:
            return None
        read = self.read_files(table, held).withColumn(_FILE, f.col("_metadata.file_path"))
        found = read.join(f.broadcast(old.select(*key)), key, "left_semi")
        return found.select(*key, f.xxhash64(*table.column_names).alias(_DIGEST), _FILE).localCheckpoint()

    def _exchanged(self, table: Table, changed: Sequence[Staged], gone: DataFrame, key: list[str]) -> list[str]:
        """Write anew the files that have one of the rows that go, without those, and let others come in."""
        names = {"/".join(str(path).split("/")[-2:]) for (path,) in gone.select(_FILE).distinct().collect()}
        touched = [file for file in self.log(table).files() if file.path in names]
        if not touched:
            return self._added(table, changed)
        rest = self.read_files(table, touched).join(f.broadcast(gone.select(*key)), key, "left_anti")
        with self._staged(table, rest) as others:
            return self.commit(table, [*changed, *others], touched)[: len(changed)]

    def has_stream(self) -> bool:
        """Whether a stream writes here."""
        return self.files.exists(self.path(CHECKPOINT))

    def make_root(self) -> None:
        """Create the root, and prove that files can be made there; raise what Java raises if not."""
        probe = self.path("_probe")
        self.files.make_folder(self.root)
        self.files.write(probe, "")
        self.files.delete(probe)

    @contextmanager
    def _staged(self, table: Table, rows: DataFrame) -> Iterator[list[Staged]]:
        """Files of rows in a folder that is gone after the block."""
        area = f"{MADE}/{uuid4().hex}"
        try:
            yield self.stage(table, rows, area)
        finally:
            self.clear_folder(NEXT, area)

    def _read_partitioned(self, table: Table, staged: Collection[Staged]) -> DataFrame:
        schema = table_schema(table)
        if not staged:
            return no_rows(self.spark, table)
        folder = next(iter(staged)).path.rpartition(f"/{DATE}=")[0]
        return _in_one_piece(self.spark.read.schema(schema).parquet(folder), sum(one.size_bytes or 0 for one in staged))

    def _moved(self, table: Table, one: Staged) -> DataFile:
        """The file in its place; its name is nobody else's."""
        folder = f"{DATE}={one.day or NO_DATE}"
        path = f"{folder}/part-{uuid4().hex}.parquet"
        if self.is_here:
            return _moved_here(_local(one.path), Path(self.path(table.name, path)), path, one.day, table)
        size_bytes = self.files.size_bytes(one.path) if one.size_bytes is None else one.size_bytes
        self.files.make_folder(self.path(table.name, folder))
        self.files.move(one.path, self.path(table.name, path))
        return DataFile(path=path, size_bytes=size_bytes, day=one.day)


def _beside(table: Table, key: Collection[str]) -> list[Column]:
    """When a row began, if its key does not tell: by that its file is found."""
    if _BEGAN in key:
        return []
    return [f.col(_BEGAN) if _BEGAN in table.column_names else f.lit(0).alias(_BEGAN)]


def _begin_us(day: str) -> int:
    """When a UTC day began, by the wall clock."""
    began = datetime.fromisoformat(f"{day or FIRST_DAY}T00:00:00+00:00")
    return (began - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def is_since(day: str | None, since: str) -> bool:
    """Whether rows of a day are of that one or a later one, or of none."""
    return day is None or day >= since


def _staged(path: str, size_bytes: int) -> Staged:
    day = path.rpartition(f"/{DATE}=")[2].partition("/")[0]
    return Staged(path, None if day == NO_DATE else day, size_bytes)


def _in_one_piece(rows: DataFrame, size_bytes: int) -> DataFrame:
    """Rows of small files in one partition: what is made of those is sorted and put together where they are.

    Else Spark moves them for each order and each group in which they are needed, every time with files, tasks and a
    job or two of their own, which cost more than the few rows.
    """
    return rows.coalesce(1) if size_bytes <= ONE_PIECE_BYTES else rows


def _moved_here(path: str, to: Path, name: str, day: str | None, table: Table) -> DataFile:
    """The file in its place on this machine, without Spark: that asks Java some sixty things for each file."""
    told = read_metadata(path)
    to.parent.mkdir(parents=True, exist_ok=True)
    size_bytes = Path(path).rename(to).stat().st_size
    least, most = _extremes(told, statistics(table))
    return DataFile(path=name, size_bytes=size_bytes, day=day, rows=int(told.num_rows), least=least, most=most)


def _local(path: str) -> str:
    """A path on this machine as it is without Hadoop's scheme."""
    return path.removeprefix("file:")


def _extremes(told: FileMetaData, names: Iterable[str]) -> tuple[dict[str, Value], dict[str, Value]]:
    """The least and the greatest value of columns in a file, for those of which every row group tells them.

    A column that a file of an older schema lacks has none.
    """
    least: dict[str, Value] = {}
    most: dict[str, Value] = {}
    for name in set(told.schema.names).intersection(names):
        known = [*_known(told, name)]
        if known and None not in known:
            pairs = [pair for pair in known if pair is not None]
            least[name], most[name] = min(low for low, _ in pairs), max(high for _, high in pairs)
    return least, most


def _known(told: FileMetaData, name: str) -> Iterator[tuple[Value, Value] | None]:
    at = told.schema.names.index(name)
    for place in range(told.num_row_groups):
        found = told.row_group(place).column(at).statistics
        if found is None or not found.has_min_max:
            yield None
        else:
            yield found.min, found.max
