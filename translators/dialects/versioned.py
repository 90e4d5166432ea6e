"""Tables of records that are written down: a tag and a version for each kind, and how older versions are lifted."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder, JSONEncoder

from translators.dialects.plain import Form, MalformedPlain

_ENCODE = JSONEncoder(separators=(",", ":")).encode
_DECODE = JSONDecoder().decode

Lift = Callable[[Sequence[object]], Sequence[object]]
"""The fields of one version made into those of the next."""


class UnreadableRecord(Exception):
    """Bytes that are no record of this table; the text says what was seen and what to do about it."""

    code = "EB-RECORD-001"


class NewerRecord(UnreadableRecord):
    """A record that a newer release wrote: this one must not guess what it means."""

    code = "EB-RECORD-002"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of record: its tag for ever, its fields in the order written, the version they make.

    The version is one more than there are `lifts`; the first of them makes version 2 from version 1. A tag is never
    given to another kind, and what a field means is never changed without a new version.
    """

    tag: str
    record: type
    form: Form
    lifts: tuple[Lift, ...] = ()

    @property
    def version(self) -> int:
        """The version that is written."""
        return len(self.lifts) + 1

    def write(self, record: object) -> bytes:
        """A record of this kind as JSON text: tag, version, fields."""
        return _ENCODE([self.tag, self.version, self.form.to_plain(record)]).encode()


@dataclass(slots=True)
class Table:
    """Encodes and decodes the kinds of its rows."""

    rows: Iterable[Row]
    _by_type: dict[type, Row] = field(init=False)
    _by_tag: dict[str, Row] = field(init=False)

    def __post_init__(self) -> None:
        """Index the rows; a tag that two rows claim is a mistake of the table."""
        rows = tuple(self.rows)
        self._by_type = {row.record: row for row in rows}
        self._by_tag = {row.tag: row for row in rows}
        if not len(rows) == len(self._by_type) == len(self._by_tag):
            raise ValueError(f"a tag or a type has two rows: {sorted(row.tag for row in rows)}")

    def knows(self, record: type) -> bool:
        """Whether there is a row for this type."""
        return record in self._by_type

    def encode(self, record: object) -> bytes:
        """One record as JSON text: tag, version, fields; KeyError for a kind that has no row."""
        return self._by_type[type(record)].write(record)

    def decode(self, data: bytes) -> object:
        """The record that was encoded, by this release or an older one; raises UnreadableRecord."""
        tag, version, fields = _open(data)
        row = self._by_tag.get(tag)
        if row is None:
            raise NewerRecord(f"{_seen(data)}: no kind of record has the tag {tag!r}; {_NEWER}")
        if version > row.version:
            raise NewerRecord(f"{_seen(data)}: version {version} of {tag!r} is newer than {row.version}; {_NEWER}")
        try:
            for lift in row.lifts[version - 1 :]:
                fields = list(lift(fields))
            return row.form.from_plain(fields)
        except (MalformedPlain, LookupError, TypeError, ValueError) as problem:
            raise UnreadableRecord(f"{_seen(data)}: {problem}") from problem


_NEWER = "a newer release wrote it: start that release again, or begin without this journal"


def _open(data: bytes) -> tuple[str, int, list[object]]:
    try:
        outer: object = _DECODE(data.decode())
    except (UnicodeDecodeError, JSONDecodeError) as problem:
        raise UnreadableRecord(f"{_seen(data)}: not JSON ({problem})") from problem
    match outer:
        case [str(tag), int(version), list(fields)] if version >= 1:
            return tag, version, fields
        case _:
            raise UnreadableRecord(f"{_seen(data)}: not a list of tag, version and fields")


def _seen(data: bytes) -> str:
    return f"record of {len(data)} bytes {data[:80]!r}"
