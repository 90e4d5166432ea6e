"""An event as one line of JSON: the stamp's fields, then the fact's by their names, None left out.

It must not know files or topics; `decoding` is its inverse.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import get_args, get_type_hints

import orjson

from bridge.telemetry.schema.columns import KINDS
from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.fields import SCHEMA_VERSION
from bridge.telemetry.schema.stamps import Event

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
