"""How each durable record is written down: one row a kind."""

from typing import assert_never

from bridge.engine.commands import Speaks
from bridge.engine.model import ClassicMember, Current, KeptSeat, MemberState, ShownGeneration, Subscription
from bridge.engine.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    CurrentAssigned,
    DurableClassicRecord,
    DurableRecord,
    GroupConfigured,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    NativesForgotten,
    NativesLost,
    RegularExpressionForgotten,
    RegularExpressionResolved,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    TargetAssigned,
    TargetEpochReached,
    TopicGone,
    TopicSeen,
    TopicsHidden,
)
from translators.dialects.plain import (
    BYTES,
    ID_PARTITIONS,
    IDENTITY,
    NUMBER,
    NUMBERED_ID_PARTITIONS,
    PROTOCOL,
    TEXT,
    TEXTS,
    TOPIC,
    TOPIC_ID,
    Form,
    Row,
    Table,
    members_of,
    optional,
    pair,
    row_of,
    structure,
)


def _row(tag: str, record: type, **fields: Form) -> Row:
    return Row(tag=tag, record=record, form=structure(record, **fields))


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


CONFIG = pair(TEXT, TEXT)


_GROUP = _row("group", GroupCreated, group_id=TEXT, epoch=NUMBER)
_GROUP_GONE = _row("group-gone", GroupDeleted, group_id=TEXT)
_CONFIGS = _row("group-configs", GroupConfigured, group_id=TEXT, values=row_of(CONFIG))
_EPOCH = _row("epoch", GroupEpochBumped, group_id=TEXT, epoch=NUMBER)
_MEMBER = _row("member", MemberSubscribed, group_id=TEXT, subscription=SUBSCRIPTION)
_MEMBER_GONE = _row("member-gone", MemberForgotten, group_id=TEXT, member_id=TEXT)
_NATIVES_LOST = _row("natives-lost", NativesLost, group_id=TEXT)
_NATIVES_FORGOTTEN = _row("natives-forgotten", NativesForgotten, group_id=TEXT)
_TARGET = _row("target", TargetAssigned, group_id=TEXT, member_id=TEXT, partitions=ID_PARTITIONS)
_TARGET_EPOCH = _row("target-epoch", TargetEpochReached, group_id=TEXT, epoch=NUMBER, assignor=TEXT)
_CURRENT = _row("current", CurrentAssigned, group_id=TEXT, member_id=TEXT, current=CURRENT)
_SEAT_KEPT = _row("seat-kept", SeatKept, group_id=TEXT, seat=KEPT_SEAT)
_SEAT_TAKEN = _row("seat-taken", SeatTaken, group_id=TEXT, seat=KEPT_SEAT)
_SEATS_GIVEN_UP = _row("seats-given-up", SeatsGivenUp, group_id=TEXT)
_TOPIC = _row("topic", TopicSeen, topic=TOPIC)
_TOPIC_GONE = _row("topic-gone", TopicGone, topic_id=TOPIC_ID)
_PATTERN = _row("pattern", RegularExpressionResolved, pattern=TEXT, topics=TEXTS, error=optional(TEXT))
_TOPICS_HIDDEN = _row("topics-hidden", TopicsHidden, group_id=TEXT, pattern=TEXT, topics=TEXTS)
_PATTERN_GONE = _row("pattern-gone", RegularExpressionForgotten, pattern=TEXT)
CONSUMER_ROWS = (
    _GROUP,
    _GROUP_GONE,
    _CONFIGS,
    _EPOCH,
    _MEMBER,
    _MEMBER_GONE,
    _NATIVES_LOST,
    _NATIVES_FORGOTTEN,
    _TARGET,
    _TARGET_EPOCH,
    _CURRENT,
    _SEAT_KEPT,
    _SEAT_TAKEN,
    _SEATS_GIVEN_UP,
    _TOPIC,
    _TOPIC_GONE,
    _PATTERN,
    _PATTERN_GONE,
    _TOPICS_HIDDEN,
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
        case GroupConfigured():
            return _CONFIGS
        case MemberForgotten():
            return _MEMBER_GONE
        case NativesLost():
            return _NATIVES_LOST
        case NativesForgotten():
            return _NATIVES_FORGOTTEN
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
        case RegularExpressionForgotten():
            return _PATTERN_GONE
        case TopicsHidden():
            return _TOPICS_HIDDEN
        case _:  # Classic groups' kinds are left; any other fails the type check.
            return classic_row_for(record)


def encode(record: DurableRecord) -> bytes:
    """A durable record as bytes."""
    return row_for(record).write(record)


def decode(data: bytes) -> DurableRecord:
    """The record that was encoded, by this release or an older one; raises `plain.UnreadableRecord`."""
    record = TABLE.decode(data)
    assert isinstance(record, DurableRecord), "the table has no others"
    return record
