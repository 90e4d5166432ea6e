"""How each durable record is written down: one row a kind.

It must not know where the bytes go, or what a record does.
"""

from bridge.engine.classic.records_codec import CLASSIC_ROWS
from bridge.engine.commands import Speaks
from bridge.engine.model import Current, KeptSeat, MemberState, Subscription
from bridge.engine.records import (
    CurrentAssigned,
    DurableRecord,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    NativesLost,
    RegularExpressionResolved,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    TargetAssigned,
    TargetEpochReached,
    TopicGone,
    TopicSeen,
)
from translators.dialects.plain import (
    ID_PARTITIONS,
    IDENTITY,
    NUMBER,
    NUMBERED_ID_PARTITIONS,
    TEXT,
    TEXTS,
    TOPIC,
    TOPIC_ID,
    Form,
    members_of,
    optional,
    structure,
)
from translators.dialects.versioned import Row, Table

SUBSCRIPTION = structure(
    Subscription,
    member_id=TEXT,
    instance_id=optional(TEXT),
    rack_id=optional(TEXT),
    rebalance_timeout_ms=NUMBER,
    identity=IDENTITY,
    speaks=members_of(Speaks),
    names=TEXTS,
    pattern=optional(TEXT),
    assignor=optional(TEXT),
)
CURRENT = structure(
    Current,
    epoch=NUMBER,
    previous_epoch=NUMBER,
    state=members_of(MemberState),
    assigned=NUMBERED_ID_PARTITIONS,
    pending_revocation=NUMBERED_ID_PARTITIONS,
)
KEPT_SEAT = structure(
    KeptSeat,
    instance_id=optional(TEXT),
    identity=IDENTITY,
    partitions=ID_PARTITIONS,
    open_until_ms=NUMBER,
    until_ms=NUMBER,
)


def _row(tag: str, record: type, **fields: Form) -> Row:
    return Row(tag=tag, record=record, form=structure(record, **fields))


CONSUMER_ROWS = (
    _row("group", GroupCreated, group_id=TEXT, epoch=NUMBER),
    _row("group-gone", GroupDeleted, group_id=TEXT),
    _row("epoch", GroupEpochBumped, group_id=TEXT, epoch=NUMBER),
    _row("member", MemberSubscribed, group_id=TEXT, subscription=SUBSCRIPTION),
    _row("member-gone", MemberForgotten, group_id=TEXT, member_id=TEXT),
    _row("natives-lost", NativesLost, group_id=TEXT),
    _row("target", TargetAssigned, group_id=TEXT, member_id=TEXT, partitions=ID_PARTITIONS),
    _row("target-epoch", TargetEpochReached, group_id=TEXT, epoch=NUMBER, assignor=TEXT),
    _row("current", CurrentAssigned, group_id=TEXT, member_id=TEXT, current=CURRENT),
    _row("seat-kept", SeatKept, group_id=TEXT, seat=KEPT_SEAT),
    _row("seat-taken", SeatTaken, group_id=TEXT, seat=KEPT_SEAT),
    _row("seats-given-up", SeatsGivenUp, group_id=TEXT),
    _row("topic", TopicSeen, topic=TOPIC),
    _row("topic-gone", TopicGone, topic_id=TOPIC_ID),
    _row("pattern", RegularExpressionResolved, pattern=TEXT, topics=TEXTS, error=optional(TEXT)),
)
TABLE = Table(CONSUMER_ROWS + CLASSIC_ROWS)


def encode(record: DurableRecord) -> bytes:
    """A durable record as bytes."""
    return TABLE.encode(record)


def decode(data: bytes) -> DurableRecord:
    """The record that was encoded, by this release or an older one; raises `versioned.UnreadableRecord`."""
    record = TABLE.decode(data)
    assert isinstance(record, DurableRecord)
    return record
