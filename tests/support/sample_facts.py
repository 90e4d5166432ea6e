"""One fact of every kind with every field filled, made from the facts' own types, for tests of what carries them."""

from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Protocol, cast, get_args, get_type_hints

from bridge.telemetry.schema.facts import FACTS, Fact

SAMPLES: dict[object, object] = {
    int: 7,
    bool: True,
    str: "text ü",
    tuple[str, ...]: ("a-0", "b-1"),
    tuple[int, ...]: (3, 0),
}


class _Build(Protocol):
    def __call__(self, **values: object) -> Fact: ...


def sample_facts() -> Iterator[Fact]:
    """A fact of every kind."""
    for fact in FACTS:
        hints = get_type_hints(fact)
        yield cast(_Build, fact)(**{field.name: _sample(hints[field.name]) for field in fields(fact)})


def _sample(hint: object) -> object:
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return next(iter(hint))
    return SAMPLES[hint]
