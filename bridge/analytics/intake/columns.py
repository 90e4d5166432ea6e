"""Lines of log files as columns: whole files become Parquet of the table `events` by Arrow, many lines at a time.

A line that is not an event beyond doubt is left over for whoever can say why.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from hashlib import sha256
from io import BufferedReader
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet

from bridge.analytics.intake.numbers import SPAN_MAX, Numbers
from bridge.analytics.stretches.files import Account, ReadTogether, in_one_account, write_account
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import BATCH, DATE, DAY_US, EVENTS, is_often_new
from bridge.telemetry.schema.fields import COLUMNS as FIELDS
from bridge.telemetry.schema.fields import KINDS, LINE_BYTES_MAX, SCHEMA_VERSION, STAMP_FIELDS, FieldType

BLOCK_BYTES = 8 * 2**20
"""Read at once; what Arrow makes of it is twice that. No more than a line may be long."""
FILE_ROWS = 250_000
"""Rows that wait for one file: some 200 MB."""
LEFT_AT_ONCE = 16
"""So many lines are left over together where one of them is bad."""
BOOTS_MAX = 64
"""Of so many runs at once the numbers are told; a file holds one, a partition of a topic a few."""
KIND = b'"kind":"'
_BEGIN, _END, _ESCAPE = b'{"schema_version":', b"}", b"\\u"
_BETWEEN = _END + b"\n" + _BEGIN
"""How every line begins and ends that a bridge wrote whole."""
EPOCH = date(1970, 1, 1)
LAST_DAY = 2_932_896
"""31 December 9999, in days since 1970; what claims to be later, or from before 1970, is left over."""
END_US = (LAST_DAY + 1) * DAY_US - 1
NUMBER_BITS = 40
"""More events no run has: what stands above these bits is the run's, where events of several are put in order."""
ENDS: Mapping[str, tuple[int, int]] = {
    name: (0, 2**NUMBER_BITS - 1) if name == "number" else (-END_US, END_US)
    for name, field in FIELDS.items()
    if field.type is FieldType.NUMBER
}
"""Between which ends each number of an event lies. Two that are farther apart than an `int64` tells have no difference:
one such line ended the whole batch, at each new start.
"""
FILE_SCHEMA = pa.schema([field for field in arrow_schema(EVENTS) if field.name != DATE])
"""Of the files of a table: the day is in their paths."""
SCHEMA = pa.schema([field for field in FILE_SCHEMA if field.name != BATCH])
"""Of what is read from lines."""
LEFT_OVER = pa.schema([("value", pa.binary()), ("source", pa.string())])
WITH_DICTIONARY = [
    f"{name}.list.element" if pa.types.is_list(FILE_SCHEMA.field(name).type) else name
    for name in FILE_SCHEMA.names
    if not is_often_new(name)
]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Kinds with much in common, and the columns that any of them has."""

    kinds: frozenset[str]
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of lines, and what they came from: a line that is set aside names it. Whose bridge still keeps it may
    delete it meanwhile (`may_go`), for it is among its oldest.
    """

    path: str
    source: str
    may_go: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: lines that begin at `begin_byte` or later and before `end_byte`."""

    file: LogFile
    begin_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Errand:
    """Pieces to be read, how the names of the files begin that are made of them (a path that is nobody else's), and
    the batch that they are of; `told` is such a path for what these events tell of tables, if that is wanted.
    """

    pieces: tuple[Piece, ...]
    stem: str
    batch: int
    told: str | None = None


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is too long for an event: what it came from, its bytes without its end, and the SHA-256 of those."""

    source: str
    length_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Files with the events of a day each (`days`: day as year-month-day, path), files of what is left over, and what
    is too long to be.

    `numbers` are those of the events by run, None if one came twice or they are too many or too far apart to tell.
    `told` is what they tell of tables, None where that is not known for the same reasons. `gone` are the sources of
    files that had been deleted by then.
    """

    days: tuple[tuple[str, str], ...] = ()
    left_over: tuple[str, ...] = ()
    long_lines: tuple[LongLine, ...] = ()
    numbers: tuple[tuple[str, Numbers], ...] | None = ()
    told: Account | None = Account()
    gone: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that were written."""
        told = () if self.told is None else self.told.paths
        return (*(path for _, path in self.days), *self.left_over, *told)


def _family(begin: str) -> Family:
    kinds = {name: kind for name, kind in KINDS.items() if name.startswith(begin)}
    names = {*STAMP_FIELDS, *(name for kind in kinds.values() for name in kind.field_names)}
    return Family(frozenset(kinds), pa.schema([field for field in SCHEMA if field.name in names]))


BEGIN_BYTES = 6
_FAMILIES = {begin[:BEGIN_BYTES].encode(): _family(begin) for begin in ("phase-", "partitions-", "")}
_OF_PHASES, _OF_PARTITIONS, _OTHERS = _FAMILIES.values()
"""By how the names of their kinds begin in a line; the last one takes what is of no other. A column that is never there
costs nearly as much as one that is.
"""
_KINDS_OF_GROUPS = pa.array(sorted(kind.name for kind in KINDS.values() if "group_id" in kind.field_names))


def make_columns(errand: Errand) -> Columns:
    """Read the pieces and write what they say; raise OSError where a file can't be read or written."""
    days: list[tuple[str, str]] = []
    numbers: list[tuple[str, Numbers] | None] = []
    told: list[Account | None] = []
    tables: dict[Family, list[pa.Table]] = {}
    left_over: list[tuple[bytes, str]] = []
    long_lines: list[LongLine] = []
    gone: list[str] = []
    for source, lines in _blocks(errand.pieces, long_lines, gone):
        for family, part in _parted(lines):
            table, others = events_of(part, family)
            tables.setdefault(family, []).append(table)
            left_over += ((line, source) for line in others)
        if sum(len(table) for waiting in tables.values() for table in waiting) >= FILE_ROWS:
            numbers += _numbers(tables)
            told += _told(tables, errand.told, len(told))
            days += _write_days(tables, f"{errand.stem}-{len(days)}", errand.batch)
            tables = {}
    numbers += _numbers(tables)
    told += _told(tables, errand.told, len(told))
    days += _write_days(tables, f"{errand.stem}-{len(days)}", errand.batch)
    return Columns(
        days=tuple(days),
        left_over=_write_left_over(left_over, errand.stem),
        long_lines=tuple(long_lines),
        numbers=_all_known(numbers),
        told=in_one_account(told),
        gone=tuple(dict.fromkeys(gone)),
    )


def _all_known(numbers: Sequence[tuple[str, Numbers] | None]) -> tuple[tuple[str, Numbers], ...] | None:
    known = tuple(one for one in numbers if one is not None)
    return known if len(known) == len(numbers) else None


def events_of(lines: Sequence[bytes], family: Family) -> tuple[pa.Table, list[bytes]]:
    """The events among lines of a family, and the lines that are none beyond doubt.

    Arrow gives up a whole text for one bad line, so the halves are tried until little is left.
    """
    table = _read(lines, family)
    if table is not None:
        mask = _is_event(table, family)
        count = pc.sum(mask).as_py()
        if count == len(lines):
            return table, []
        return table.filter(mask), [
            line for line, is_event in zip(lines, mask.to_pylist(), strict=True) if not is_event
        ]
    if len(lines) <= LEFT_AT_ONCE:
        return family.schema.empty_table(), list(lines)
    middle = len(lines) // 2
    parts = [events_of(half, family) for half in (lines[:middle], lines[middle:])]
    return pa.concat_tables([events for events, _ in parts]), [line for _, others in parts for line in others]


def pieces_of(files: Iterable[LogFile], size_bytes: int) -> Iterator[Piece]:
    """Files in pieces of at most that size; one that may go and is gone is a piece, too: who reads it says so."""
    for file in files:
        length = file_bytes(file)
        for begin in range(0, length or int(file.may_go), size_bytes):
            yield Piece(file, begin, min(begin + size_bytes, length))


def file_bytes(file: LogFile) -> int:
    """How long a file is, nothing for one that may go and is gone; raise OSError."""
    try:
        return Path(file.path).stat().st_size
    except FileNotFoundError:
        if file.may_go:
            return 0
        raise


def _opened(file: LogFile, gone: list[str]) -> BufferedReader | None:
    """A file to be read; None where it may go, and is gone, which is noted."""
    try:
        return Path(file.path).open("rb")
    except FileNotFoundError:
        if not file.may_go:
            raise
        gone.append(file.source)
        return None


def _blocks(pieces: Iterable[Piece], long_lines: list[LongLine], gone: list[str]) -> Iterator[tuple[str, list[bytes]]]:
    """The lines of pieces, some MiB at a time, with what they came from; lines that are too long come to the others of
    those, and what a file is of that is gone to others that are.
    """
    for piece in pieces:
        opened = _opened(piece.file, gone)
        if opened is None:
            continue
        with opened as file:
            file.seek(max(piece.begin_byte - 1, 0))
            if piece.begin_byte:
                _pass_line(file, piece.end_byte)
            while (left_bytes := piece.end_byte - file.tell()) > 0:
                block = file.read(min(BLOCK_BYTES, left_bytes))
                if not block:
                    break  # The file became shorter: what is not there any more is no line.
                begun_bytes = len(block) - block.rfind(b"\n") - 1
                if begun_bytes:  # Behind a newline begins what may be the next piece's first line.
                    block += file.readline(LINE_BYTES_MAX + 1 - begun_bytes)
                whole = block.rfind(b"\n") + 1
                if len(block) - whole > LINE_BYTES_MAX:
                    long_lines.append(_long_line(piece.file.source, block[whole:], file))
                    block = block[:whole]
                yield piece.file.source, block.splitlines()


def _pass_line(file: BufferedReader, end_byte: int) -> None:
    """Go to where the next line begins, or some way behind the end of the piece if none does before that."""
    while file.tell() < end_byte and (read := file.readline(BLOCK_BYTES)) and not read.endswith(b"\n"):
        pass


def _long_line(source: str, begun: bytes, file: BufferedReader) -> LongLine:
    """A line of which this was read, to its end; never all of it is held."""
    length_bytes, digest = len(begun), sha256(begun)
    while not begun.endswith(b"\n") and (begun := file.readline(BLOCK_BYTES)):
        said = begun.removesuffix(b"\n")
        length_bytes += len(said)
        digest.update(said)
    return LongLine(source, length_bytes, digest.hexdigest())


def _parted(lines: Iterable[bytes]) -> Iterator[tuple[Family, list[bytes]]]:
    """Lines by the family that their first words name."""
    parts: dict[bytes, list[bytes]] = {begin: [] for begin in _FAMILIES}
    rest = parts[b""]
    for line in lines:
        at = line.find(KIND) + len(KIND)
        parts.get(line[at : at + BEGIN_BYTES], rest).append(line)
    return ((_FAMILIES[begin], part) for begin, part in parts.items() if part)


def _read(lines: Sequence[bytes], family: Family) -> pa.Table | None:
    """Lines as columns, a row for each; None if Arrow can't, if a line has a field that none of these kinds has, or if
    one may hold more than one event.
    """
    text = b"\n".join(lines)
    if not (text.startswith(_BEGIN) and text.endswith(_END) and text.count(_BETWEEN) == len(lines) - 1):
        return None
    options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parsing = pyarrow.json.ParseOptions(explicit_schema=family.schema, unexpected_field_behavior="error")
    try:
        table = pyarrow.json.read_json(pa.BufferReader(text), options, parsing)
        if not text.isascii() or _ESCAPE in text:
            table.validate(full=True)  # Arrow takes texts as they are, and half a pair of UTF-16, too.
    except pa.ArrowInvalid:
        return None
    return table if len(table) == len(lines) else None


def _is_event(table: pa.Table, family: Family) -> pa.ChunkedArray:
    """Which rows are events of the family."""
    day = pc.divide(table["wall_us"], DAY_US)
    needs_group = pc.is_in(table["kind"], value_set=_KINDS_OF_GROUPS)
    has_group = pc.is_valid(table["group_id"])
    tests = [
        *(pc.is_valid(table[name]) for name in STAMP_FIELDS),
        pc.less_equal(table["schema_version"], SCHEMA_VERSION),
        pc.is_in(table["kind"], value_set=pa.array(sorted(family.kinds))),
        pc.or_(pc.invert(needs_group), has_group),
        pc.and_(pc.greater_equal(table["wall_us"], 0), pc.less_equal(day, LAST_DAY)),
        *_far_numbers(table),
    ]
    return pc.fill_null(reduce(pc.and_, tests), False)


def _far_numbers(table: pa.Table) -> Iterator[pa.ChunkedArray]:
    """Of the columns with a number beyond its ends which rows have none; as a rule no column has one."""
    for name in ENDS.keys() & {*table.column_names}:
        (least, most), found = ENDS[name], pc.min_max(table[name]).as_py()
        if found["min"] is not None and (found["min"] < least or found["max"] > most):
            is_within = pc.and_(pc.greater_equal(table[name], least), pc.less_equal(table[name], most))
            yield pc.fill_null(is_within, True)


def _numbers(tables: Mapping[Family, Sequence[pa.Table]]) -> list[tuple[str, Numbers] | None]:
    """The numbers of each run; None for what can't be told."""
    parts = [part.select(["boot", "number"]) for waiting in tables.values() for part in waiting]
    if not parts:
        return []
    rows = pa.concat_tables(parts)
    boots = pc.unique(rows["boot"])
    if len(boots) > BOOTS_MAX:
        return [None]
    return [_numbers_of(boot.as_py(), rows.filter(pc.equal(rows["boot"], boot))["number"]) for boot in boots]


def _numbers_of(boot: str, column: pa.ChunkedArray) -> tuple[str, Numbers] | None:
    numbers = column.to_numpy()
    lowest, highest = int(numbers.min()), int(numbers.max())
    if highest - lowest >= SPAN_MAX:
        return None
    came = np.zeros(highest - lowest + 1, bool)
    came[numbers - lowest] = True
    if np.count_nonzero(came) != len(numbers):
        return None
    return boot, Numbers(lowest, int.from_bytes(np.packbits(came, bitorder="little").tobytes(), "little"))


def _told(tables: Mapping[Family, Sequence[pa.Table]], stem: str | None, place: int) -> list[Account | None]:
    """What events tell of tables, if that is wanted."""
    if stem is None or not tables:
        return []
    phases, partitions, others = (tables.get(family, ()) for family in (_OF_PHASES, _OF_PARTITIONS, _OTHERS))
    return [write_account(ReadTogether(phases=phases, partitions=partitions, others=others), f"{stem}-{place}")]


def _write_days(tables: Mapping[Family, Sequence[pa.Table]], stem: str, batch: int) -> list[tuple[str, str]]:
    """A file for each day, in it a row group for each family: who reads some kinds can pass over the others."""
    parts: dict[date, list[pa.Table]] = {}
    for waiting in tables.values():
        for day, part in _days(pa.concat_tables(waiting)):
            parts.setdefault(day, []).append(part)
    named = {day.isoformat(): f"{stem}-{day}.parquet" for day in parts}
    for day, groups in parts.items():
        _write(FILE_SCHEMA, (_widened(group, batch) for group in groups), named[day.isoformat()])
    return list(named.items())


def _days(table: pa.Table) -> Iterator[tuple[date, pa.Table]]:
    day_of_row = pc.divide(table["wall_us"], DAY_US)
    days = pc.unique(day_of_row).to_pylist()
    for day in days:
        yield EPOCH + timedelta(days=day), table if len(days) == 1 else table.filter(pc.equal(day_of_row, day))


def _widened(table: pa.Table, batch: int) -> pa.Table:
    """With all columns of the table."""
    names, count = frozenset(table.column_names), len(table)
    columns = [table[field.name] if field.name in names else pa.nulls(count, field.type) for field in SCHEMA]
    return pa.table([*columns, pa.repeat(batch, count)], schema=FILE_SCHEMA)


def _write_left_over(lines: Sequence[tuple[bytes, str]], stem: str) -> tuple[str, ...]:
    if not lines:
        return ()
    path = f"{stem}-left-over.parquet"
    values, sources = zip(*lines, strict=True)
    _write(LEFT_OVER, [pa.table([values, sources], schema=LEFT_OVER)], path)
    return (path,)


def _write(schema: pa.Schema, groups: Iterable[pa.Table], path: str) -> None:
    with_dictionary = WITH_DICTIONARY if schema is FILE_SCHEMA else True
    with pyarrow.parquet.ParquetWriter(path, schema, compression="snappy", use_dictionary=with_dictionary) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=len(group))
