"""The reference of the event log as Markdown, made of the schema itself."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import StrEnum

from bridge.telemetry.schema.facts import GroupFact, MemberFact, MemberInputs
from bridge.telemetry.schema.fields import FACT_FIELDS, KINDS, SCHEMA_VERSION, STAMP_FIELDS, EventKind, Field
from bridge.telemetry.schema.terms import (
    Carrier,
    Cause,
    Conversion,
    Departure,
    News,
    OperatorAction,
    Outcome,
    Phase,
    Protocol,
    Road,
)

SHARED: tuple[tuple[str, type[GroupFact]], ...] = (
    ("input fields", MemberInputs),
    ("member fields", MemberFact),
    ("group fields", GroupFact),
)
"""Fields that many kinds have, from the most to the fewest."""
VOCABULARIES: tuple[type[StrEnum], ...] = (
    Road,
    Protocol,
    Phase,
    News,
    Carrier,
    Departure,
    Outcome,
    Cause,
    Conversion,
    OperatorAction,
)


def event_pages() -> str:
    """The fields that every event has, those that many have, each kind with its own, and all vocabularies."""
    return "\n\n".join(
        [
            f"Schema version: {SCHEMA_VERSION}.",
            "### Every event",
            _table(STAMP_FIELDS),
            *_shared_pages(),
            *(_kind_page(kind) for kind in KINDS.values()),
            *(_vocabulary_page(words) for words in VOCABULARIES),
        ]
    )


def _shared_pages() -> Iterator[str]:
    outer: set[str] = set()
    for title, shared in reversed(SHARED):
        names = [field.name for field in fields(shared) if field.name not in outer]
        outer |= set(names)
        yield f"### {title[0].upper()}{title[1:]}"
        yield _table({name: FACT_FIELDS[name] for name in names})


def _kind_page(kind: EventKind) -> str:
    title, common = _common(kind)
    own = [name for name in kind.field_names if name not in common]
    parts = [f"### `{kind.name}`", " ".join(kind.meaning.split())]
    if title:
        parts.append(f"Has the {title}" + (", and:" if own else "."))
    if own:
        parts.append(_table({name: FACT_FIELDS[name] for name in own}))
    return "\n\n".join(parts)


def _common(kind: EventKind) -> tuple[str, frozenset[str]]:
    for number, (title, shared) in enumerate(SHARED):
        if issubclass(kind.fact, shared):
            names = [name for name, _ in reversed(SHARED[number:])]
            joined = ", ".join(names[:-1]) + " and " + title if len(names) > 1 else title
            return joined, frozenset(field.name for field in fields(shared))
    return "", frozenset()


def _vocabulary_page(words: type[StrEnum]) -> str:
    meaning = " ".join((words.__doc__ or "").split())
    listed = ", ".join(f"`{word.value}`" for word in words)
    return f"### Words: {words.__name__}\n\n{meaning}\n\n{listed}"


def _table(described: dict[str, Field]) -> str:
    rows: Iterable[str] = (f"| `{name}` | {one.type.value} | {one.meaning} |" for name, one in described.items())
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
