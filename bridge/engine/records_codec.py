"""How each durable record is written down: one row a kind.

It must not know where the bytes go, or what a record does.
"""

from bridge.engine.classic.records_codec import CLASSIC_ROWS, classic_row_for
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


_GROUP = _row("group", GroupCreated, group_id=TEXT, epoch=NUMBER)
_GROUP_GONE = _row("group-gone", GroupDeleted, group_id=TEXT)
_EPOCH = _row("epoch", GroupEpochBumped, group_id=TEXT, epoch=NUMBER)
_MEMBER = _row("member", MemberSubscribed, group_id=TEXT, subscription=SUBSCRIPTION)
_MEMBER_GONE = _row("member-gone", MemberForgotten, group_id=TEXT, member_id=TEXT)
_NATIVES_LOST = _row("natives-lost", NativesLost, group_id=TEXT)
_TARGET = _row("target", TargetAssigned, group_id=TEXT, member_id=TEXT, partitions=ID_PARTITIONS)
_TARGET_EPOCH = _row("target-epoch", TargetEpochReached, group_id=TEXT, epoch=NUMBER, assignor=TEXT)
_CURRENT = _row("current", CurrentAssigned, group_id=TEXT, member_id=TEXT, current=CURRENT)
_SEAT_KEPT = _row("seat-kept", SeatKept, group_id=TEXT, seat=KEPT_SEAT)
_SEAT_TAKEN = _row("seat-taken", SeatTaken, group_id=TEXT, seat=KEPT_SEAT)
_SEATS_GIVEN_UP = _row("seats-given-up", SeatsGivenUp, group_id=TEXT)
_TOPIC = _row("topic", TopicSeen, topic=TOPIC)
_TOPIC_GONE = _row("topic-gone", TopicGone, topic_id=TOPIC_ID)
_PATTERN = _row("pattern", RegularExpressionResolved, pattern=TEXT, topics=TEXTS, error=optional(TEXT))
CONSUMER_ROWS = (
    _GROUP,
    _GROUP_GONE,
    _EPOCH,
    _MEMBER,
    _MEMBER_GONE,
    _NATIVES_LOST,
    _TARGET,
    _TARGET_EPOCH,
    _CURRENT,
    _SEAT_KEPT,
    _SEAT_TAKEN,
    _SEATS_GIVEN_UP,
    _TOPIC,
    _TOPIC_GONE,
    _PATTERN,
)
TABLE = Table(CONSUMER_ROWS + CLASSIC_ROWS)


def row_for(record: DurableRecord) -> Row:  # noqa: C901  # one case a kind
    """The row of a record's kind: a new kind that has none fails the type check."""
    match record:
        case CurrentAssigned():
            return _CURRENT
        case TargetAssigned():
            return _TARGET
        case MemberSubscribed():
            return _MEMBER
        case GroupEpochBumped():
            return _EPOCH
        case TargetEpochReached():
            return _TARGET_EPOCH
        case GroupCreated():
            return _GROUP
        case GroupDeleted():
            return _GROUP_GONE
        case MemberForgotten():
            return _MEMBER_GONE
        case NativesLost():
            return _NATIVES_LOST
        case SeatKept():
            return _SEAT_KEPT
        case SeatTaken():
            return _SEAT_TAKEN
        case SeatsGivenUp():
            return _SEATS_GIVEN_UP
        case TopicSeen():
            return _TOPIC
        case TopicGone():
            return _TOPIC_GONE
        case RegularExpressionResolved():
            return _PATTERN
        case _:  # Classic groups' kinds are left; any other fails the type check.
            return classic_row_for(record)


def encode(record: DurableRecord) -> bytes:
    """A durable record as bytes."""
    return row_for(record).write(record)


def decode(data: bytes) -> DurableRecord:
    """The record that was encoded, by this release or an older one; raises `versioned.UnreadableRecord`."""
    record = TABLE.decode(data)
    assert isinstance(record, DurableRecord)
    return record
