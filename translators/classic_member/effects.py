"""Everything a member machine asks of the world: answer a request, ask the coordinator, forget the machine.

It must not know how any of it is done, nor whether the coordinator is the engine or a broker.

Contract for the adapter
- Effects are carried out in order. At most one `Ask` of a machine is outstanding.
- `Inquiry` is always complete (subscription and owned partitions), so a coordinator that lost the last answer, or a
  broker that lists the assignment only in full answers, tells everything again.
- After `Depart` nothing of this machine is left at the coordinator, and it may be dropped; later events need not be
  delivered.
"""

from dataclasses import dataclass
from enum import StrEnum

from translators.dialects.classic import HeartbeatReply, JoinGroupReply, SyncGroupReply
from translators.dialects.consumer_protocol import NO_GENERATION
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef, TopicName, TopicPartition

MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply


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


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer request `ref`; every request is answered exactly once."""

    ref: RequestRef
    message: MemberReply


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


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the coordinator; its answer comes back as `Answered`."""

    inquiry: Inquiry | Farewell


@dataclass(frozen=True, slots=True)
class Depart:
    """The member is gone and the machine may be dropped."""

    reason: DepartReason


Effect = Reply | Ask | Depart
