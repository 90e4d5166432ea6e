"""Which facts carry which fields, derived from the facts themselves.

It must not know files, tables of Spark, or the pages that are made of it.
"""

from dataclasses import dataclass, fields

from bridge.telemetry.schema.facts import FACTS, Fact
from bridge.telemetry.schema.fields import FACT_FIELDS, STAMP_FIELDS, Field


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event: the name it is written under, what it says, its fields in order, and its type."""

    name: str
    meaning: str
    field_names: tuple[str, ...]
    fact: type[Fact]


def kind_of(fact: type[Fact]) -> Kind:
    """The kind of a type of fact."""
    return Kind(fact.kind, fact.__doc__ or "", tuple(field.name for field in fields(fact)), fact)


KINDS: dict[str, Kind] = {fact.kind: kind_of(fact) for fact in FACTS}
"""Every kind by its name."""

COLUMNS: dict[str, Field] = STAMP_FIELDS | FACT_FIELDS
"""Every column of the one wide table of events, in order; a column that a kind lacks is null there."""
