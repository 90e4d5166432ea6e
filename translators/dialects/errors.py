"""Kafka's error codes by their names, and a refusal as a value."""

from dataclasses import dataclass
from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes that a group coordinator or a proxy in front of one can meet
    (`org.apache.kafka.common.protocol.Errors`).
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    UNKNOWN_TOPIC_ID = 100
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    TRANSACTION_ABORTABLE = 120
    INVALID_REGULAR_EXPRESSION = 128


_BY_NUMBER = {code.value: code for code in ErrorCode}


def code_of(number: int) -> ErrorCode:
    """The code that stands for this number on the wire; one that is not in here reads as UNKNOWN_SERVER_ERROR."""
    return _BY_NUMBER.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS = 100
"""Codes from here on must never reach a classic client (clients.md, 6)."""


QUOTE_CHARS_MAX = 249
"""How much of a name is quoted, as long as Kafka lets a topic name be: a client may give itself one of 32,767 bytes."""
REASON_CHARS_MAX = 2_000
"""How long a reason may be; with four bytes for each character it fits into a Kafka string four times over."""


def quote(name: object) -> str:
    """A name that somebody else chose, as a message of ours may quote it."""
    return shorten(str(name), QUOTE_CHARS_MAX)


def shorten(text: str, chars_max: int) -> str:
    """The text, or its beginning with how long it is."""
    return text if len(text) <= chars_max else f"{text[:chars_max]}… ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is answered with an error: the code for the client, the reason for people."""

    code: ErrorCode
    reason: str = ""

    def __post_init__(self) -> None:
        """However many names a reason quotes, it can be written into an answer."""
        if len(self.reason) > REASON_CHARS_MAX:
            object.__setattr__(self, "reason", shorten(self.reason, REASON_CHARS_MAX))
