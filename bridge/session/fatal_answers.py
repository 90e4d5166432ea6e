"""Which answers end a client for good: a table over apis and error codes, with what to do about each.

Everything else a client lives through: it tries again, finds its coordinator anew, or joins again. Tried out on the
libraries of clients.md and read in Java's (`AbstractCoordinator`, `ConsumerCoordinator`, the heartbeat managers).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from bridge.migration.route import Road
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import SUPPORTED, Reply, Request, decode_reply
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES, read_response_header
from bridge.wire.packing import INT16, INT32
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, OffsetFetchReply, TxnOffsetCommit


@dataclass(frozen=True, slots=True)
class Ended:
    """A client was told what it does not live through: on which road, in answer to what, in which group and as whom
    (None: the request does not say).
    """

    road: Road
    api_key: int
    code: ErrorCode
    group_id: GroupId
    member_id: MemberId | None


CODES_MAX = 100
"""How many codes of one answer are looked at: what ends a client is said of all partitions of a commit."""
_LIVED_THROUGH = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)
"""By every client of every api: it comes again."""
_BY_KIP_848 = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Besides, by who speaks the consumer protocol; a classic client knows no code of 100 or more (clients.md, 6)."""
_OF_COMMITS = frozenset(
    {
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Besides, where offsets are concerned: the application is told, and its client works on."""
_OF_TRANSACTIONS = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
"""Besides, for producers: they abort the transaction and begin another."""
LIVED_THROUGH: Mapping[ApiKey, frozenset[ErrorCode]] = {
    ApiKey.JOIN_GROUP: _LIVED_THROUGH,
    ApiKey.SYNC_GROUP: _LIVED_THROUGH,
    ApiKey.HEARTBEAT: _LIVED_THROUGH,
    # Who leaves is gone whatever the answer.
    ApiKey.LEAVE_GROUP: frozenset(ErrorCode),
    ApiKey.OFFSET_COMMIT: _LIVED_THROUGH | _OF_COMMITS,
    ApiKey.OFFSET_FETCH: _LIVED_THROUGH | _OF_COMMITS,
    ApiKey.TXN_OFFSET_COMMIT: _LIVED_THROUGH | _OF_COMMITS | _OF_TRANSACTIONS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _LIVED_THROUGH | _BY_KIP_848,
    ApiKey.SHARE_GROUP_HEARTBEAT: _LIVED_THROUGH | _BY_KIP_848,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _LIVED_THROUGH | _BY_KIP_848,
}
"""Each api by which members live, with the codes after which its client goes on."""
FIRST_BY_EPOCH: Mapping[ApiKey, int] = {ApiKey.OFFSET_COMMIT: 9, ApiKey.OFFSET_FETCH: 9}
"""The first version that KIP-848 members use: from there on the client knows their codes."""

REMEDIES: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "look for the error in the log of whoever answered, and start the client again",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "commit with less metadata, or raise offset.metadata.max.bytes",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "mend the name of the topic that it subscribes to",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (
        "give it an assignor that all members of the group have, or the group's own protocol; "
        "`epochbridge describe` shows them"
    ),
    ErrorCode.INVALID_GROUP_ID: "give it a group.id",
    ErrorCode.INVALID_SESSION_TIMEOUT: "keep its session.timeout.ms within group.min and group.max.session.timeout.ms",
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: "commit fewer partitions at once",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "give its principal the rights READ and DESCRIBE on its topics",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "give its principal the right READ on the group; see what else the log says",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "give its principal the right that the broker's authorizer log names",
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "use a SASL mechanism that the broker's listener has",
    ErrorCode.ILLEGAL_SASL_STATE: "let it log in before it asks anything; its session may have run out (KIP-368)",
    ErrorCode.UNSUPPORTED_VERSION: "let it use a version or a group.protocol that the group's coordinator speaks",
    ErrorCode.INVALID_CONFIG: "look into the error message that came with it",
    ErrorCode.NOT_CONTROLLER: "start the client again: it asked a broker for what another one does",
    ErrorCode.POLICY_VIOLATION: "look into the error message that came with it, and ask who made the cluster's policy",
    ErrorCode.INVALID_REQUEST: "look into the error message that came with it; a client of another version may help",
    ErrorCode.INVALID_PRODUCER_EPOCH: "start the producer again; another one has its transactional.id",
    ErrorCode.INVALID_TXN_STATE: "start the producer again",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "start the producer again",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "start the producer again",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "give its principal the right WRITE on its transactional id",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "mend its credentials",
    ErrorCode.UNKNOWN_PRODUCER_ID: "start the producer again",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's members first",
    ErrorCode.GROUP_ID_NOT_FOUND: (
        "start it again; the name may be of a group of another kind (`epochbridge describe`), "
        "or the group lives elsewhere"
    ),
    ErrorCode.GROUP_MAX_SIZE_REACHED: "raise the group's greatest size, or start fewer members",
    ErrorCode.FENCED_INSTANCE_ID: "give each member a group.instance.id of its own; another has taken this one over",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that subscribe to the topic first",
    ErrorCode.PRODUCER_FENCED: "start the producer again; another one has its transactional.id",
    ErrorCode.UNKNOWN_TOPIC_ID: "start it again; a client that names topics by id needs a topic that was not made anew",
    ErrorCode.FENCED_MEMBER_EPOCH: "start it again, and report this: a classic client must not be told this code",
    ErrorCode.UNRELEASED_INSTANCE_ID: (
        "wait until the member that has its group.instance.id is gone, or give it another one, then start it again"
    ),
    ErrorCode.UNSUPPORTED_ASSIGNOR: "name a group.remote.assignor that the coordinator has",
    ErrorCode.STALE_MEMBER_EPOCH: "start it again, and report this: a classic client must not be told this code",
    ErrorCode.TRANSACTION_ABORTABLE: "abort the transaction and begin another",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "mend the pattern that it subscribes to (RE2)",
}


def ends(api_key: int, version: int, code: ErrorCode) -> bool:
    """Whether a client that is told `code` in answer to this api is done for."""
    lived_through = LIVED_THROUGH.get(ApiKey(api_key))
    if lived_through is None or code in lived_through:
        return False
    by_epoch = FIRST_BY_EPOCH.get(ApiKey(api_key))
    return by_epoch is None or version < by_epoch or code not in _BY_KIP_848


def ending_in(api_key: int, version: int, reply: Reply) -> ErrorCode | None:
    """The first code in an answer that ends its client; None if it goes on."""
    return next((code for code in islice(_codes(reply), CODES_MAX) if ends(api_key, version, code)), None)


def ending_in_frame(api_key: int, version: int, frame: bytes | memoryview) -> ErrorCode | None:
    """The same of a broker's answer, a whole frame; None for one that can't be read, which is the client's to judge.

    Of most apis the code stands right behind the throttle time, and nothing else is read.
    """
    try:
        if api_key in _CODE_AT:
            code = _code_of(api_key, version, frame)
            return code if code is not None and ends(api_key, version, code) else None
        if api_key not in SUPPORTED:
            return None
        _, reply = decode_reply(api_key, version, memoryview(frame)[LENGTH_BYTES:])
    except MalformedFrame:
        return None
    return ending_in(api_key, version, reply)


_CODE_AT: Mapping[int, int] = {
    ApiKey.JOIN_GROUP: 2,
    ApiKey.SYNC_GROUP: 1,
    ApiKey.HEARTBEAT: 1,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 0,
    ApiKey.SHARE_GROUP_HEARTBEAT: 0,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 0,
}
"""Apis whose answer begins with its code, and since which version a throttle time stands before it."""


def _code_of(api_key: int, version: int, frame: bytes | memoryview) -> ErrorCode | None:
    header = read_response_header(frame, api_key, version)
    if header is None:
        return None
    at = header.body_offset + (INT32.size if version >= _CODE_AT[api_key] else 0)
    if len(frame) < at + INT16.size:
        return None
    number: int = INT16.unpack_from(frame, at)[0]
    return ErrorCode(number) if number in _NUMBERS else None


_NUMBERS = frozenset(code.value for code in ErrorCode)


def _codes(reply: Reply) -> Iterator[ErrorCode]:
    match reply:
        case HeartbeatReply() | JoinGroupReply() | SyncGroupReply() | ConsumerGroupHeartbeatReply():
            yield reply.error
        case OffsetCommitReply():
            yield from (item.error for topic in reply.topics for item in topic.partitions)
        case OffsetFetchReply():
            yield from (group.error for group in reply.groups)
        case _:
            # Nobody ends of what admins are told, or who leaves.
            return


def member_of(request: Request) -> MemberId | None:
    """Who asked, as far as a request of one member says it."""
    match request:
        case JoinGroup() | SyncGroup() | Heartbeat() | ConsumerGroupHeartbeat() | OffsetCommit() | TxnOffsetCommit():
            return request.member_id
        case _:
            return None
