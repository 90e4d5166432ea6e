"""Lines of an event log to events and back, by the standard library alone: what runs on executors needs nothing else.

It must not know which facts matter; a line comes from a reader that has judged it already.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Protocol, cast, get_args, get_origin, get_type_hints

from bridge.telemetry.schema.columns import KINDS
from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.fields import SCHEMA_VERSION, STAMP_FIELDS
from bridge.telemetry.schema.stamps import Event, Stamp

Convert = Callable[[object], object]


class _Build(Protocol):
    def __call__(self, **values: object) -> Fact: ...


class _MakeStamp(Protocol):
    def __call__(self, **values: object) -> Stamp: ...


def read_event(line: str) -> Event | None:
    """The event of a line; None if a field that its kind can't do without is missing or says nothing known."""
    document: dict[str, object] = json.loads(line)
    kind = str(document.get("kind"))
    conversions = _CONVERSIONS[kind]
    given = {name: value for name, value in document.items() if name in conversions and value is not None}
    stamp = {name: document[name] for name in ("boot", "number", "wall_us", "mono_us")}
    try:
        fact = cast(_Build, KINDS[kind].fact)(**{name: conversions[name](value) for name, value in given.items()})
    except (TypeError, ValueError):
        return None
    return Event(cast(_MakeStamp, Stamp)(**stamp), fact)


def write_event(event: Event) -> str:
    """The line of an event; what says nothing is left out."""
    fact, stamp = event.fact, event.stamp
    document: dict[str, object] = dict.fromkeys(STAMP_FIELDS)
    document |= {
        "schema_version": SCHEMA_VERSION,
        "event_id": stamp.event_id,
        "kind": fact.kind,
        "boot": stamp.boot,
        "number": stamp.number,
        "wall_us": stamp.wall_us,
        "mono_us": stamp.mono_us,
    }
    said: dict[str, object] = {field.name: getattr(fact, field.name) for field in fields(fact)}
    document |= {name: value for name, value in said.items() if value is not None}
    return json.dumps(document, separators=(",", ":"))


def _as_it_is(value: object) -> object:
    return value


def _texts(value: object) -> object:
    return tuple(cast(list[object], value))


def _conversion(hint: object) -> Convert:
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint
    return _texts if get_origin(hint) is tuple else _as_it_is


def _conversions(fact: type[Fact]) -> Mapping[str, Convert]:
    hints = get_type_hints(fact)
    return {field.name: _conversion(hints[field.name]) for field in fields(fact)}


_CONVERSIONS: Mapping[str, Mapping[str, Convert]] = {name: _conversions(kind.fact) for name, kind in KINDS.items()}
