"""The closed vocabularies of the event log: roads, protocols, phases, departures, news, outcomes."""

from enum import StrEnum


class Road(StrEnum):
    """Who coordinates a group."""

    PASSING = "pass"
    EMBEDDED = "embedded"
    UPSTREAM = "upstream"


class Protocol(StrEnum):
    """What a member's client speaks, or what kind of group it is."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Phase(StrEnum):
    """What a member is doing, as its client feels it; phases of one member don't overlap, `FETCHING` excepted.

    `JOINING` lasts from the arrival of a JoinGroup, or of a heartbeat with epoch 0, to its answer. `SYNCING` lasts from
    the answer of a JoinGroup to the answer of the SyncGroup. `REVOKING` lasts from the answer that told a member to
    give something up, or to rejoin, to the request that acknowledges it. `AWAITING_RELEASE` lasts while part of its
    target is held by others. `STABLE` is everything else. `FETCHING` lasts from an assignment with new partitions to
    the first Fetch that names the last of them.
    """

    JOINING = "joining"
    SYNCING = "syncing"
    REVOKING = "revoking"
    AWAITING_RELEASE = "awaiting-release"
    FETCHING = "fetching"
    STABLE = "stable"


class Departure(StrEnum):
    """How a member went."""

    LEFT = "left"
    POLL_TIMED_OUT = "poll-timed-out"
    STATIC_LEFT = "static-left"
    SESSION_EXPIRED = "session-expired"
    REBALANCE_TIMED_OUT = "rebalance-timed-out"
    SYNC_TIMED_OUT = "sync-timed-out"
    REPLACED = "replaced"
    REMOVED = "removed"
    CONNECTION_LOST = "connection-lost"
    FENCED = "fenced"
    GROUP_FULL = "group-full"
    VANISHED = "vanished"


class News(StrEnum):
    """What an answer told a member."""

    REJOIN = "rejoin"
    REVOKE = "revoke"
    ASSIGN = "assign"
    FENCED = "fenced"


class Carrier(StrEnum):
    """The request whose answer, or which itself, carried something."""

    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    CONSUMER_GROUP_HEARTBEAT = "ConsumerGroupHeartbeat"
    OFFSET_COMMIT = "OffsetCommit"


class Outcome(StrEnum):
    """How a rebalance ended."""

    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    EMPTIED = "emptied"
    INTERRUPTED = "interrupted"


class Conversion(StrEnum):
    """What made a group change its type."""

    MEMBER_JOINED = "member-joined"
    LAST_MEMBER_LEFT = "last-member-left"
    OPERATOR = "operator"


class OperatorAction(StrEnum):
    """What an operator did."""

    CONVERT = "convert"
    REMOVE_MEMBERS = "remove-members"
    MOVE = "move"


class Cause(StrEnum):
    """Why a rebalance happened."""

    FIRST_JOIN = "first-join"
    JOIN = "join"
    LEAVE = "leave"
    SESSION_EXPIRED = "session-expired"
    REBALANCE_TIMED_OUT = "rebalance-timed-out"
    POLL_TIMED_OUT = "poll-timed-out"
    SUBSCRIPTION_CHANGED = "subscription-changed"
    TOPICS_CHANGED = "topics-changed"
    STATIC_RETURN = "static-return-after-expiry"
    LEADER_REJOINED = "leader-rejoined"
    DEPLOY_WAVE = "deploy-wave"
    OPERATOR = "operator-action"
    BRIDGE_RESTARTED = "bridge-restarted"
    COORDINATOR_MOVED = "coordinator-moved"
    UNKNOWN = "unknown"
