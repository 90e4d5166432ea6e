"""How each durable record of classic groups is written down: one row a kind.

It must not know where the bytes go, or what a record does.
"""

from typing import assert_never

from bridge.engine.classic.model import ClassicMember, ShownGeneration
from bridge.engine.classic.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    DurableClassicRecord,
)
from translators.dialects.plain import BYTES, IDENTITY, NUMBER, PROTOCOL, TEXT, Form, optional, row_of, structure
from translators.dialects.versioned import Row

MEMBER = structure(
    ClassicMember,
    member_id=TEXT,
    instance_id=optional(TEXT),
    identity=IDENTITY,
    session_timeout_ms=NUMBER,
    rebalance_timeout_ms=NUMBER,
    protocols=row_of(PROTOCOL),
    assignment=BYTES,
)
SHOWN = structure(ShownGeneration, member_id=TEXT, generation=NUMBER)


def _row(tag: str, record: type, **fields: Form) -> Row:
    return Row(tag=tag, record=record, form=structure(record, **fields))


_CLASSIC = _row("classic", ClassicGroupCreated, group_id=TEXT)
_CLASSIC_GENERATION = _row("classic-generation", ClassicGenerationReserved, group_id=TEXT, generation=NUMBER)
_CLASSIC_SYNCED = _row(
    "classic-synced",
    ClassicGroupSynced,
    group_id=TEXT,
    generation=NUMBER,
    protocol_type=TEXT,
    protocol_name=optional(TEXT),
    leader=optional(TEXT),
    members=row_of(MEMBER),
)
_CLASSIC_REPLACED = _row("classic-replaced", ClassicMemberReplaced, group_id=TEXT, former_id=TEXT, member=MEMBER)
_CLASSIC_ALIASES = _row("classic-aliases", ClassicGenerationsAliased, group_id=TEXT, generations=row_of(SHOWN))
_CLASSIC_MEMBER_GONE = _row("classic-member-gone", ClassicMemberForgotten, group_id=TEXT, member_id=TEXT)
CLASSIC_ROWS = (
    _CLASSIC,
    _CLASSIC_GENERATION,
    _CLASSIC_SYNCED,
    _CLASSIC_REPLACED,
    _CLASSIC_ALIASES,
    _CLASSIC_MEMBER_GONE,
)


def classic_row_for(record: DurableClassicRecord) -> Row:
    """The row of a record's kind: a new kind that has none fails the type check."""
    match record:
        case ClassicGroupCreated():
            return _CLASSIC
        case ClassicGenerationReserved():
            return _CLASSIC_GENERATION
        case ClassicGroupSynced():
            return _CLASSIC_SYNCED
        case ClassicMemberReplaced():
            return _CLASSIC_REPLACED
        case ClassicGenerationsAliased():
            return _CLASSIC_ALIASES
        case ClassicMemberForgotten():
            return _CLASSIC_MEMBER_GONE
        case _:
            assert_never(record)
