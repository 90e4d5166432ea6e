"""What a turn of the engine brings forth: records, replies and notices. It must not know who listens."""

from dataclasses import dataclass, field
from enum import StrEnum

from bridge.engine.commands import ReplyTo
from bridge.engine.records import Record
from translators.dialects.admin import DeletedGroup
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicIdPartition


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """The answer to a `MemberHeartbeat`: `pending` are target partitions that can't be granted yet (decision 17)."""

    reply: ConsumerGroupHeartbeatReply
    pending: frozenset[TopicIdPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class CommitAdmitted:
    """A commit may go to the broker; its partitions are not free until `EndCommit(commit_id)` (decision 2)."""

    commit_id: int


@dataclass(frozen=True, slots=True)
class CommitRefused:
    """A commit must not go to the broker: the code for every partition of it (K5.2)."""

    code: ErrorCode


Message = (
    MemberAnswer
    | JoinGroupReply
    | SyncGroupReply
    | HeartbeatReply
    | LeaveGroupReply
    | CommitAdmitted
    | CommitRefused
    | DeletedGroup
)


class RemovalCause(StrEnum):
    """Why a member is gone."""

    LEFT = "left"
    REMOVED = "removed"
    REPLACED = "replaced"
    SESSION_EXPIRED = "session-expired"
    REBALANCE_TIMED_OUT = "rebalance-timed-out"
    SYNC_TIMED_OUT = "sync-timed-out"
    GROUP_FULL = "group-full"


@dataclass(frozen=True, slots=True)
class TargetChanged:
    """A new target came into force; `member_ids` are those whose own target differs from before."""

    group_id: GroupId
    member_ids: frozenset[MemberId]


@dataclass(frozen=True, slots=True)
class PartitionsFreed:
    """Partitions that somebody's target names can be granted now; `member_ids` are those it names."""

    group_id: GroupId
    partitions: frozenset[TopicIdPartition]
    member_ids: frozenset[MemberId]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    """A member is gone, with what its seat was called."""

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    cause: RemovalCause


@dataclass(frozen=True, slots=True)
class GroupEmptied:
    """The last member of a group is gone."""

    group_id: GroupId


@dataclass(frozen=True, slots=True)
class AssignorFailed:
    """An assignor raised or answered nonsense; the old target stays, who caused it was answered -1 (K2.28)."""

    group_id: GroupId
    assignor: str
    reason: str


@dataclass(frozen=True, slots=True)
class RegularExpressionWanted:
    """A member subscribed with a pattern that nobody has resolved yet."""

    group_id: GroupId
    pattern: str


@dataclass(frozen=True, slots=True)
class RebalanceBegun:
    """A classic group calls its members to join; `generation` is the one that ends."""

    group_id: GroupId
    generation: int


@dataclass(frozen=True, slots=True)
class GenerationBegun:
    """Every member of a classic group that joined was told the new generation."""

    group_id: GroupId
    generation: int
    member_ids: frozenset[MemberId]


@dataclass(frozen=True, slots=True)
class RebalanceCompleted:
    """The leader of a classic group brought the assignments of this generation (K1.51)."""

    group_id: GroupId
    generation: int


Notice = (
    TargetChanged
    | PartitionsFreed
    | MemberRemoved
    | GroupEmptied
    | AssignorFailed
    | RegularExpressionWanted
    | RebalanceBegun
    | GenerationBegun
    | RebalanceCompleted
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One turn: every record was applied already; durable ones go to the journal before any reply is released."""

    records: tuple[Record, ...] = ()
    replies: tuple[tuple[ReplyTo, Message], ...] = field(default=())
    notices: tuple[Notice, ...] = ()
