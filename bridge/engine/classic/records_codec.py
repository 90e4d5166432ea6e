"""How each durable record of classic groups is written down: one row a kind.

It must not know where the bytes go, or what a record does.
"""

from bridge.engine.classic.model import ClassicMember, ShownGeneration
from bridge.engine.classic.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
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


CLASSIC_ROWS = (
    _row("classic", ClassicGroupCreated, group_id=TEXT),
    _row("classic-generation", ClassicGenerationReserved, group_id=TEXT, generation=NUMBER),
    _row(
        "classic-synced",
        ClassicGroupSynced,
        group_id=TEXT,
        generation=NUMBER,
        protocol_type=TEXT,
        protocol_name=optional(TEXT),
        leader=optional(TEXT),
        members=row_of(MEMBER),
    ),
    _row("classic-replaced", ClassicMemberReplaced, group_id=TEXT, former_id=TEXT, member=MEMBER),
    _row("classic-aliases", ClassicGenerationsAliased, group_id=TEXT, generations=row_of(SHOWN)),
    _row("classic-member-gone", ClassicMemberForgotten, group_id=TEXT, member_id=TEXT),
)
