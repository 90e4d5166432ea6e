"""Lines of an event log to events, by the standard library alone, which all executors have.

A line comes from a reader that has judged it already.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import NamedTuple, Protocol, cast, get_args, get_origin, get_type_hints

from bridge.telemetry.schema.facts import Event, Fact, Stamp
from bridge.telemetry.schema.fields import KINDS

Convert = Callable[[object], object]


class _Shape(NamedTuple):
    """A kind's fields, and of those that are no plain values what makes them."""

    names: frozenset[str]
    conversions: tuple[tuple[str, Convert], ...]


class _Build(Protocol):
    def __call__(self, **values: object) -> Fact: ...


class _MakeStamp(Protocol):
    def __call__(self, **values: object) -> Stamp: ...


def read_event(line: str) -> Event | None:
    """The event of a line; None if a field that its kind can't do without is missing or says nothing known."""
    document: dict[str, object] = json.loads(line)
    kind = str(document.get("kind"))
    names, conversions = _SHAPES[kind]
    given = {name: value for name, value in document.items() if name in names and value is not None}
    stamp = {name: document[name] for name in ("boot", "number", "wall_us", "mono_us")}
    try:
        for name, convert in conversions:
            if name in given:
                given[name] = convert(given[name])
        fact = cast(_Build, KINDS[kind].fact)(**given)
    except (TypeError, LookupError):
        return None
    return Event(cast(_MakeStamp, Stamp)(**stamp), fact)


def _texts(value: object) -> object:
    return tuple(cast(list[object], value))


def _conversion(hint: object) -> Convert | None:
    """What makes a field's value of what JSON has for it, None if that is the same; raises TypeError or LookupError."""
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        terms: dict[object, object] = {term.value: term for term in hint}
        return terms.__getitem__
    return _texts if get_origin(hint) is tuple else None


def _shape(fact: type[Fact]) -> _Shape:
    hints = get_type_hints(fact)
    names = [field.name for field in fields(fact)]
    conversions = ((name, _conversion(hints[name])) for name in names)
    return _Shape(frozenset(names), tuple((name, convert) for name, convert in conversions if convert is not None))


_SHAPES: Mapping[str, _Shape] = {name: _shape(kind.fact) for name, kind in KINDS.items()}
