"""An event as a line of JSON, and a line back to its event or the reason why it is none: no line makes it raise."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Protocol, cast, get_args, get_type_hints

import orjson

from bridge.telemetry.schema.facts import Event, Fact, Stamp
from bridge.telemetry.schema.fields import KINDS, SCHEMA_VERSION, STAMP_FIELDS

Getter = Callable[[Fact], tuple[object, ...]]
Shape = tuple[tuple[str, ...], Getter, tuple[str, ...]]


def encode_event(event: Event) -> bytes:
    """One line, newline included. Text that is no Unicode (half a surrogate pair) is written with `?` in its place."""
    stamp, fact = event.stamp, event.fact
    names, values_of, optional = _shape(fact.kind)
    document: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "event_id": stamp.event_id,
        "kind": fact.kind,
        "boot": stamp.boot,
        "number": stamp.number,
        "wall_us": stamp.wall_us,
        "mono_us": stamp.mono_us,
    }
    document.update(zip(names, values_of(fact), strict=True))
    for name in optional:
        if document[name] is None:
            del document[name]
    try:
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        return orjson.dumps(
            {name: _unicode(value) for name, value in document.items()}, option=orjson.OPT_APPEND_NEWLINE
        )


def _unicode(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return tuple(map(_unicode, value)) if isinstance(value, tuple) else value


@cache
def _shape(kind: str) -> Shape:
    fact = KINDS[kind].fact
    hints = get_type_hints(fact)
    names = tuple(field.name for field in fields(fact))
    optional = tuple(name for name in names if NoneType in get_args(hints[name]))
    return names, _getter(names), optional


def _getter(names: tuple[str, ...]) -> Getter:
    getter = attrgetter(*names)
    if len(names) == 1:
        return lambda fact: (getter(fact),)
    return getter


EXCERPT_CHARS_MAX = 120


class Flaw(StrEnum):
    """Why a line is no event."""

    TRUNCATED = "truncated"
    FOREIGN = "foreign"
    NEWER_SCHEMA = "newer-schema"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is set aside: the kind of flaw, and what was seen."""

    flaw: Flaw
    reason: str


class _Unfit(Exception):
    """What a line holds does not fit the schema; the text says what."""


Convert = Callable[[object], object]


class _Build(Protocol):
    def __call__(self, **values: object) -> Fact: ...


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the fields of one kind are read: a conversion for each, and the names that may be missing."""

    fact: type[Fact]
    conversions: Mapping[str, Convert]
    required: frozenset[str]


def decode_line(line: bytes) -> Event | Rejected:
    """The event of one line, with or without its newline."""
    try:
        document: object = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        is_cut = line.startswith(b"{") and not line.rstrip().endswith(b"}")
        return Rejected(Flaw.TRUNCATED if is_cut else Flaw.FOREIGN, f"no JSON object: {problem}")
    if not isinstance(document, dict):
        return Rejected(Flaw.FOREIGN, f"a JSON {type(document).__name__}, not an object")
    version = document.get("schema_version")
    if type(version) is not int:
        return Rejected(Flaw.FOREIGN, f"schema_version is {_shown(version)}")
    if version > SCHEMA_VERSION:
        return Rejected(Flaw.NEWER_SCHEMA, f"schema version {version}; this bridge reads up to {SCHEMA_VERSION}")
    try:
        return Event(_stamp(document), _fact(document))
    except _Unfit as problem:
        return Rejected(Flaw.FOREIGN, str(problem))


def _stamp(document: dict[str, object]) -> Stamp:
    stamp = Stamp(
        boot=_text(document.get("boot")),
        number=_number(document.get("number")),
        wall_us=_number(document.get("wall_us")),
        mono_us=_number(document.get("mono_us")),
    )
    if document.get("event_id") != stamp.event_id:
        raise _Unfit(f"event_id is {_shown(document.get('event_id'))}, boot and number say {stamp.event_id}")
    return stamp


def _fact(document: dict[str, object]) -> Fact:
    kind = str(document.get("kind"))
    if kind not in KINDS:
        raise _Unfit(f"unknown kind {_shown(document.get('kind'))}")
    reading = _reading(kind)
    given = document.keys() - STAMP_FIELDS.keys()
    if not given >= reading.required or given - reading.conversions.keys():
        missing = sorted(reading.required - given)
        unknown = sorted(given - reading.conversions.keys())
        raise _Unfit(f"{reading.fact.kind}: missing {missing}, unknown {unknown}")
    conversions = reading.conversions
    values: dict[str, object] = {}
    for name in given:
        try:
            values[name] = conversions[name](document[name])
        except _Unfit as problem:
            raise _Unfit(f"{reading.fact.kind}.{name}: {problem}") from None
    return cast(_Build, reading.fact)(**values)


def _number(value: object) -> int:
    if type(value) is not int:
        raise _Unfit(f"{_shown(value)} is no whole number")
    return value


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise _Unfit(f"{_shown(value)} is neither true nor false")
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise _Unfit(f"{_shown(value)} is no text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _list(value)))


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(map(_number, _list(value)))


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise _Unfit(f"{_shown(value)} is no list")
    return value


def _word(vocabulary: type[StrEnum]) -> Convert:
    words: dict[object, StrEnum] = {word.value: word for word in vocabulary}

    def to_word(value: object) -> StrEnum:
        found = words.get(value) if type(value) is str else None
        if found is None:
            raise _Unfit(f"{_shown(value)} is none of {', '.join(map(str, words))}")
        return found

    return to_word


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= EXCERPT_CHARS_MAX else f"{text[:EXCERPT_CHARS_MAX]}…"


_CONVERSIONS: dict[object, Convert] = {
    int: _number,
    bool: _flag,
    str: _text,
    tuple[str, ...]: _texts,
    tuple[int, ...]: _numbers,
}


def _conversion(hint: object) -> Convert:
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _word(hint)
    return _CONVERSIONS[hint]


@cache
def _reading(kind: str) -> _Reading:
    fact = KINDS[kind].fact
    hints = get_type_hints(fact)
    conversions = {field.name: _conversion(hints[field.name]) for field in fields(fact)}
    required = frozenset(field.name for field in fields(fact) if field.default is MISSING)
    return _Reading(fact, conversions, required)
