"""What a coordinator's error means for a classic client, as one complete table."""

from dataclasses import dataclass

from translators.dialects.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask the coordinator again a little later; the client hears nothing of it."""


@dataclass(frozen=True, slots=True)
class Rejoin:
    """The member's view is behind: the client is to join again (REBALANCE_IN_PROGRESS)."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The seat is lost (decision 15): `code` answers the client until it joins again, never REBALANCE_IN_PROGRESS."""

    code: ErrorCode


@dataclass(frozen=True, slots=True)
class Fail:
    """The coordinator will not have this member: `code` is the classic word for it."""

    code: ErrorCode


Reaction = Retry | Rejoin | Fence | Fail

_RETRIED = (
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNRELEASED_INSTANCE_ID,
)
_SAID_AS_THEY_ARE = (
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    ErrorCode.ILLEGAL_SASL_STATE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.SASL_AUTHENTICATION_FAILED,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.FENCED_INSTANCE_ID,
)
_NOT_A_COORDINATORS_ANSWER = (
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.INVALID_CONFIG,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.POLICY_VIOLATION,
    ErrorCode.NON_EMPTY_GROUP,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.TRANSACTION_ABORTABLE,
)

REACTIONS: dict[ErrorCode, Reaction] = {
    **dict.fromkeys(_RETRIED, Retry()),
    **{code: Fail(code) for code in _SAID_AS_THEY_ARE},
    **dict.fromkeys(_NOT_A_COORDINATORS_ANSWER, Fail(ErrorCode.UNKNOWN_SERVER_ERROR)),
    ErrorCode.REBALANCE_IN_PROGRESS: Rejoin(),
    ErrorCode.STALE_MEMBER_EPOCH: Rejoin(),
    ErrorCode.FENCED_MEMBER_EPOCH: Fence(ErrorCode.ILLEGAL_GENERATION),
    ErrorCode.ILLEGAL_GENERATION: Fence(ErrorCode.ILLEGAL_GENERATION),
    ErrorCode.UNKNOWN_MEMBER_ID: Fence(ErrorCode.UNKNOWN_MEMBER_ID),
    ErrorCode.MEMBER_ID_REQUIRED: Fence(ErrorCode.UNKNOWN_MEMBER_ID),
    ErrorCode.GROUP_ID_NOT_FOUND: Fence(ErrorCode.UNKNOWN_MEMBER_ID),
    ErrorCode.UNSUPPORTED_ASSIGNOR: Fail(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ErrorCode.INVALID_REGULAR_EXPRESSION: Fail(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
}
"""Every error a coordinator may send -> what it means; NONE is no error (decision 15, K4.60)."""
