"""Values in plain form, which is what JSON can hold, and back with every value checked; and tables of records in it."""

from binascii import Error as BadBase64
from binascii import a2b_base64, b2a_base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from typing import TypeVar, cast

from translators.dialects.classic import Protocol
from translators.dialects.ids import ClientIdentity, Topic, TopicIdPartition, TopicPartition

# -------------------------------------------------------------------------------------------- plain
# Values in plain form, which is what JSON can hold, and back with every value checked.

NameT = TypeVar("NameT", bound=str | bytes)
Plain = str | int | bool | None | Sequence["Plain"]


class MalformedPlain(ValueError):
    """A plain value is not of the kind that its place asks for; the text says which kind and what was seen."""


@dataclass(frozen=True, slots=True)
class Form:
    """How values of one kind are made plain and made again; `from_plain` raises MalformedPlain."""

    to_plain: Callable[[object], Plain]
    from_plain: Callable[[object], object]


def structure(made: type, /, **fields: Form) -> Form:
    """The form of a value with these fields, by keyword of `made`: a list with one element each, in this order."""

    def to_plain(value: object) -> Plain:
        return [form.to_plain(getattr(value, name)) for name, form in fields.items()]

    def from_plain(plain: object) -> object:
        items = _items(plain)
        if len(items) != len(fields):
            raise MalformedPlain(f"{len(fields)} fields expected ({', '.join(fields)}), {len(items)} seen")
        return made(**{name: form.from_plain(item) for (name, form), item in zip(fields.items(), items, strict=True)})

    return Form(to_plain, from_plain)


def optional(form: Form) -> Form:
    """The same, or None."""

    def to_plain(value: object) -> Plain:
        return None if value is None else form.to_plain(value)

    def from_plain(plain: object) -> object:
        return None if plain is None else form.from_plain(plain)

    return Form(to_plain, from_plain)


def members_of(enumeration: type[IntEnum]) -> Form:
    """A value of an enumeration, as its number."""

    def from_plain(plain: object) -> object:
        try:
            return enumeration(_number(plain))
        except ValueError as problem:
            raise MalformedPlain(f"no {enumeration.__name__}: {plain!r:.80}") from problem

    return Form(_number, from_plain)


def row_of(form: Form) -> Form:
    """A tuple of values of one kind, in their order."""
    return Form(
        lambda values: [form.to_plain(value) for value in cast("Iterable[object]", values)],
        lambda plain: tuple(form.from_plain(item) for item in _items(plain)),
    )


def pair(first: Form, second: Form) -> Form:
    """A tuple of two values."""

    def to_plain(value: object) -> Plain:
        one, other = cast("tuple[object, object]", value)
        return [first.to_plain(one), second.to_plain(other)]

    def from_plain(plain: object) -> object:
        items = _items(plain)
        if len(items) != 2:
            raise MalformedPlain(f"two values expected, {len(items)} seen")
        return first.from_plain(items[0]), second.from_plain(items[1])

    return Form(to_plain, from_plain)


def _items(plain: object) -> Sequence[object]:
    if not isinstance(plain, list):
        raise MalformedPlain(f"a list expected, {plain!r:.80} seen")
    return plain


def _text(plain: object) -> str:
    if not isinstance(plain, str):
        raise MalformedPlain(f"a text expected, {plain!r:.80} seen")
    return plain


def _number(plain: object) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise MalformedPlain(f"a whole number expected, {plain!r:.80} seen")
    return plain


def _flag(plain: object) -> bool:
    if not isinstance(plain, bool):
        raise MalformedPlain(f"true or false expected, {plain!r:.80} seen")
    return plain


def _from_base64(plain: object) -> bytes:
    try:
        return a2b_base64(_text(plain).encode(), strict_mode=True)
    except (BadBase64, UnicodeEncodeError) as problem:
        raise MalformedPlain(f"base64 expected, {plain!r:.80} seen ({problem})") from problem


def _from_hex(plain: object) -> bytes:
    try:
        return bytes.fromhex(_text(plain))
    except ValueError as problem:
        raise MalformedPlain(f"hexadecimal digits expected, {plain!r:.80} seen") from problem


def _to_base64(value: object) -> str:
    return b2a_base64(cast("bytes", value), newline=False).decode()


def _to_hex(value: object) -> str:
    return cast("bytes", value).hex()


def _sorted_texts(values: object) -> Plain:
    return sorted(cast("Iterable[str]", values))


TEXT = Form(_text, _text)
NUMBER = Form(_number, _number)
FLAG = Form(_flag, _flag)
BYTES = Form(_to_base64, _from_base64)
TOPIC_ID = Form(_to_hex, _from_hex)
TEXTS = Form(_sorted_texts, lambda plain: frozenset(_text(item) for item in _items(plain)))
"""A frozen set of texts, sorted so that equal sets have equal bytes."""


def _partitions(made: type, to_text: Callable[[NameT], str], from_text: Callable[[object], NameT]) -> Form:
    """Partitions as one list per topic: the topic, then the numbers."""

    def to_plain(partitions: object) -> Plain:
        gathered: defaultdict[NameT, list[int]] = defaultdict(list)
        for name, number in cast("Iterable[tuple[NameT, int]]", partitions):
            gathered[name].append(number)
        return [[to_text(name), *sorted(gathered[name])] for name in sorted(gathered, key=to_text)]

    def from_plain(plain: object) -> object:
        found: list[object] = []
        for item in _items(plain):
            first, *numbers = _items(item) or [None]
            name = from_text(first)
            found.extend(made(name, _number(number)) for number in numbers)
        return frozenset(found)

    return Form(to_plain, from_plain)


def _numbered(made: type, to_text: Callable[[NameT], str], from_text: Callable[[object], NameT]) -> Form:
    """Partitions with a number each as one list per topic: the topic, then partition and number in turn."""

    def to_plain(numbered: object) -> Plain:
        gathered: defaultdict[NameT, list[tuple[int, int]]] = defaultdict(list)
        for (name, partition), number in cast("Mapping[tuple[NameT, int], int]", numbered).items():
            gathered[name].append((partition, number))
        return [[to_text(name), *chain.from_iterable(sorted(gathered[name]))] for name in sorted(gathered, key=to_text)]

    def from_plain(plain: object) -> object:
        found: dict[object, int] = {}
        for item in _items(plain):
            first, *pairs = _items(item) or [None]
            name = from_text(first)
            numbers = [_number(number) for number in pairs]
            if len(numbers) % 2:
                raise MalformedPlain(f"pairs expected after topic {name!r}, {len(numbers)} numbers seen")
            found |= {made(name, numbers[at]): numbers[at + 1] for at in range(0, len(numbers), 2)}
        return found

    return Form(to_plain, from_plain)


PARTITIONS = _partitions(TopicPartition, str, _text)
ID_PARTITIONS = _partitions(TopicIdPartition, bytes.hex, _from_hex)
NUMBERED_PARTITIONS = _numbered(TopicPartition, str, _text)
NUMBERED_ID_PARTITIONS = _numbered(TopicIdPartition, bytes.hex, _from_hex)
IDENTITY = structure(ClientIdentity, client_id=TEXT, client_host=TEXT, software_name=TEXT, software_version=TEXT)
TOPIC = structure(Topic, topic_id=TOPIC_ID, name=TEXT, partition_count=NUMBER)
PROTOCOL = structure(Protocol, name=TEXT, metadata=BYTES)


# ---------------------------------------------------------------------------------------- versioned
# Tables of records that are written down: a tag and a version for each kind, and how older versions are lifted.

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
