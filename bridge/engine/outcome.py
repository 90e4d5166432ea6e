"""What a turn of the engine brings forth: records, replies and notices."""

from dataclasses import dataclass, field
from enum import StrEnum

from bridge.engine.commands import GroupType
from bridge.engine.model import ClassicMember
from bridge.engine.records import Record
from translators.dialects.admin import DeletedGroup
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from translators.dialects.configs import AlteredResource
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.ids import GroupId, InstanceId, MemberId, ReplyTo, TopicIdPartition, TopicPartition


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """The answer to a `MemberHeartbeat`: `pending` are target partitions that can't be granted yet (decision 17)."""

    reply: ConsumerGroupHeartbeatReply
    pending: frozenset[TopicIdPartition] = frozenset()


class Unready(StrEnum):
    """Why a group can't change its type."""

    UNKNOWN_GROUP = "unknown-group"
    SAME_TYPE = "same-type"
    POLICY = "policy"
    FOREIGN_PROTOCOL_TYPE = "foreign-protocol-type"
    CUSTOM_ASSIGNOR = "custom-assignor"
    MALFORMED_SUBSCRIPTION = "malformed-subscription"
    MALFORMED_ASSIGNMENT = "malformed-assignment"
    TOO_LARGE = "too-large"
    CONSUMER_MEMBERS = "consumer-members"
    NO_COMMON_PROTOCOL = "no-common-protocol"
    UNSEATED_MEMBER = "unseated-member"


@dataclass(frozen=True, slots=True)
class Converted:
    """A group changed its type, or could (dry run); `rebalances` if somebody's assignment has to change with it."""

    group_id: GroupId
    to: GroupType
    member_count: int
    rebalances: bool


@dataclass(frozen=True, slots=True)
class NotConverted:
    """A group stays what it is: why, for programs and for people."""

    group_id: GroupId
    to: GroupType
    reason: Unready
    text: str


Message = (
    MemberAnswer
    | JoinGroupReply
    | SyncGroupReply
    | HeartbeatReply
    | LeaveGroupReply
    | CommitAdmitted
    | CommitRefused
    | DeletedGroup
    | AlteredResource
    | Converted
    | NotConverted
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
    """A member is gone, with what its seat was called, who its client said it was, and its epoch or generation."""

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    cause: RemovalCause
    client_id: str
    member_epoch: int = -1
    generation: int = -1


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


class ConversionCause(StrEnum):
    """What made a group change its type."""

    MEMBER_JOINED = "member-joined"
    LAST_MEMBER_LEFT = "last-member-left"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedSeat:
    """A member of a classic group that became a consumer group, for its machine to go on with.

    `wants` is what it says under `protocol_name`, the protocol that its machine speaks for it.
    `generation` is the one its client knows, `handed` what it was assigned in it, `using` what of that it may still be
    using (decision 7); `is_completing` if its SyncGroup is still to come. Its session goes on until
    `session_deadline_ms`, None where none runs because a request of it is parked.
    """

    member: ClassicMember
    protocol_name: str
    wants: Subscription
    epoch: int
    generation: int
    handed: frozenset[TopicPartition]
    using: frozenset[TopicPartition]
    is_completing: bool
    session_deadline_ms: int | None = None
    joining: ReplyTo | None = None
    syncing: ReplyTo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpgraded:
    """A classic group is a consumer group now: every seat gets a machine, and parked requests go to the machines.

    `newcomers` never completed a join; they are no members yet, and join the consumer group by the request that waits.
    `protocol_name` is what clients were told last and keep hearing, None if none was chosen yet.
    """

    group_id: GroupId
    cause: ConversionCause
    seats: tuple[TranslatedSeat, ...]
    protocol_name: str | None = None
    newcomers: tuple[TranslatedSeat, ...] = ()


@dataclass(frozen=True, slots=True)
class DowngradeDue:
    """A consumer group of classic members only is to turn classic: answer with `BecomeClassic` in the same turn."""

    group_id: GroupId
    ref: ReplyTo | None = None
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class GroupDowngraded:
    """A consumer group is a classic group now: its machines are done."""

    group_id: GroupId
    cause: ConversionCause


@dataclass(frozen=True, slots=True)
class GroupGivenUp:
    """A group has another coordinator now: its machines are done."""

    group_id: GroupId


@dataclass(frozen=True, slots=True)
class ConversionFailed:
    """Somebody's coming or going would have converted a group, which stays what it is."""

    refusal: NotConverted


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
    | GroupUpgraded
    | DowngradeDue
    | GroupDowngraded
    | GroupGivenUp
    | ConversionFailed
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One turn: every record was applied already; durable ones go to the journal before any reply is released."""

    records: tuple[Record, ...] = ()
    replies: tuple[tuple[ReplyTo, Message], ...] = field(default=())
    notices: tuple[Notice, ...] = ()
