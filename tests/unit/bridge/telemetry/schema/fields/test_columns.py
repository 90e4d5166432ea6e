"""The vocabulary of the event log is whole: every field has one meaning, and none is there for nothing."""

from dataclasses import fields
from types import NoneType, UnionType
from typing import get_args, get_type_hints

from bridge.telemetry.schema.facts import FACTS, BridgeStopped
from bridge.telemetry.schema.fields import COLUMNS, FACT_FIELDS, KINDS, SCHEMA_VERSION, STAMP_FIELDS, FieldType, kind_of

PYTHON_TYPES: dict[object, FieldType] = {
    int: FieldType.NUMBER,
    bool: FieldType.FLAG,
    tuple[str, ...]: FieldType.TEXTS,
    tuple[int, ...]: FieldType.NUMBERS,
}


def _type_of(hint: object) -> FieldType:
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return PYTHON_TYPES.get(hint, FieldType.TEXT)


def test_every_field_of_every_fact_has_a_meaning_and_its_type() -> None:
    """A fact's field is described once, under the type that Python knows it by."""
    wrong = [
        (fact.kind, field.name)
        for fact in FACTS
        for field in fields(fact)
        if field.name not in FACT_FIELDS
        or FACT_FIELDS[field.name].type is not _type_of(get_type_hints(fact)[field.name])
    ]
    assert wrong == []


def test_no_field_is_described_that_nothing_carries() -> None:
    """A column that is always empty would be a promise."""
    carried = {name for kind in KINDS.values() for name in kind.field_names}
    assert set(FACT_FIELDS) - carried == set()


def test_kinds_have_names_of_their_own() -> None:
    """Two facts never share a kind."""
    assert len(KINDS) == len(FACTS)


def test_stamp_and_facts_share_no_column() -> None:
    """The envelope can't hide a fact's field."""
    assert set(STAMP_FIELDS) & set(FACT_FIELDS) == set()
    assert list(COLUMNS) == [*STAMP_FIELDS, *FACT_FIELDS]


def test_no_field_is_from_the_future() -> None:
    """A field can't be newer than the schema."""
    assert [name for name, field in COLUMNS.items() if not 1 <= field.since <= SCHEMA_VERSION] == []


def test_kind_carries_what_its_fact_says() -> None:
    """Docs are made of the facts' own words."""
    kind = kind_of(BridgeStopped)
    assert (kind.name, kind.field_names, kind.fact) == ("bridge-stopped", ("reason",), BridgeStopped)
    assert kind.meaning.startswith("The bridge drained")
