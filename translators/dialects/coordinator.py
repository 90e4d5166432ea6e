"""What a member asks whoever coordinates its group, what comes back, and what a coordinator says unasked.

It must not know who asks, nor whether the engine or a broker answers.
"""

from dataclasses import dataclass
from enum import StrEnum

from translators.dialects.consumer_protocol import NO_GENERATION
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicName, TopicPartition


class DepartReason(StrEnum):
    """Why a member is no more."""

    LEFT = "left"
    SESSION_EXPIRED = "session-expired"
    REJOIN_EXPIRED = "rejoin-expired"
    SYNC_EXPIRED = "sync-expired"
    CONNECTION_LOST = "connection-lost"
    REPLACED = "replaced"
    FENCED = "fenced"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """The member joins (`member_epoch` 0) or reports (> 0) and wants to know what it may own.

    `owned` is what its client may be using now: a partition that the coordinator takes away is released the moment it
    is missing here. `claimed` is what a joining client says it has or had, as of `claimed_generation`, unverified: it
    may steer a target, and never counts as owned (decision 7).
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    instance_id: InstanceId | None
    rack_id: str | None
    topics: frozenset[TopicName]
    rebalance_timeout_ms: int
    owned: frozenset[TopicPartition]
    claimed: frozenset[TopicPartition] = frozenset()
    claimed_generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Farewell:
    """The member leaves for good (`member_epoch` -1) or leaves its static seat to another (-2), and why."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    instance_id: InstanceId | None
    reason: DepartReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The coordinator's answer to an `Inquiry`; a `Farewell` is answered by any.

    `assigned` is what the member may own now, None if that did not change since the last answer. `pending` is the
    part of its target that others still hold, None where that can't be known (road upstream, decision 17).
    `heartbeat_interval_ms` is how often the coordinator wants to hear of the member; None means that it calls when it
    has news.
    """

    member_epoch: int
    assigned: frozenset[TopicPartition] | None = None
    pending: frozenset[TopicPartition] | None = frozenset()
    heartbeat_interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The coordinator, or the way to it, failed: any Kafka error but NONE, and the reason for people."""

    code: ErrorCode
    reason: str = ""


Answer = Granted | Refused


@dataclass(frozen=True, slots=True)
class CoordinatorCalled:
    """The coordinator has news for this member: its target moved, or a partition it waits for is free."""


@dataclass(frozen=True, slots=True)
class FencedByCoordinator:
    """The coordinator dropped the member without being asked; `code` says how (FENCED_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID, …).
    """

    code: ErrorCode
