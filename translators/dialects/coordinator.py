"""What a member asks whoever coordinates its group, what comes back, and what a coordinator says unasked."""

from dataclasses import dataclass
from enum import StrEnum

from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import NO_GENERATION, Subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NOWHERE,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    TopicName,
    TopicPartition,
    Via,
)


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
    may steer a target, and never counts as owned (decision 7). `assignor` is the one of the coordinator's that deals as
    the client counts on, None where any will do.
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    instance_id: InstanceId | None
    rack_id: str | None
    topics: frozenset[TopicName]
    rebalance_timeout_ms: int
    owned: frozenset[TopicPartition]
    assignor: str | None = None
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
    part of its target that others still hold, None where that can't be known (road upstream, decision 17), as while it
    `is_to_come`: the coordinator has yet to deal it out, and calls when it has. `heartbeat_interval_ms` is how often
    the coordinator wants to hear of the member; None means that it calls when it has news.
    """

    member_epoch: int
    assigned: frozenset[TopicPartition] | None = None
    pending: frozenset[TopicPartition] | None = frozenset()
    heartbeat_interval_ms: int | None = None
    is_to_come: bool = False


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


ClassicGroupRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup
CoordinatorCommand = Inquiry | Farewell | ConsumerGroupHeartbeat | ClassicGroupRequest
"""What a coordinator takes: the questions of a translated member's machine, the heartbeats of KIP-848 clients, and the
requests of classic groups, which their own leaders run.
"""
MembershipReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply | ConsumerGroupHeartbeatReply


@dataclass(frozen=True, slots=True)
class MemberAnswered:
    """The answer to what the machine of `member` asked; its number says which question."""

    member: MemberRef
    answer: Answer


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """The answer to a client's own request."""

    ref: RequestRef
    reply: MembershipReply


@dataclass(frozen=True, slots=True)
class MembersCalled:
    """There is news for these members.

    If it `can_wait`, only who has a request parked, or something to let go, is to hear of it now: the others learn it
    by their next heartbeat (`has_news`), which costs a group of 10,000 nothing.
    """

    group_id: GroupId
    member_ids: frozenset[MemberId]
    can_wait: bool = False


@dataclass(frozen=True, slots=True)
class MemberFenced:
    """The coordinator has this member no more, and the member did not ask for that."""

    member: MemberRef
    code: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver:
    """A classic client at work whose member gets a machine now; nothing that the client was told becomes untrue.

    `wants` is what it says under `protocol_name`. `generation` is the one it knows, `handed` what it was assigned in
    it, `using` what of that it may still be using (decision 7); at `epoch` its coordinator knows just this.
    `is_completing` if its SyncGroup is still to come. Its session goes on until `session_deadline_ms`, None where none
    runs because a request of it is parked: that is `joining` or `syncing`, which the machine answers. One that
    `is_new` never completed a join, and may not know its id.
    """

    member: MemberRef
    client: ClientIdentity
    instance_id: InstanceId | None
    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_name: str
    wants: Subscription
    epoch: int
    generation: int
    handed: frozenset[TopicPartition]
    using: frozenset[TopicPartition]
    is_completing: bool = False
    session_deadline_ms: int | None = None
    joining: RequestRef | None = None
    syncing: RequestRef | None = None
    is_new: bool = False
    via: Via = NOWHERE
    """The connection by which its client was heard last, where no request of it says so."""


@dataclass(frozen=True, slots=True)
class MembersTakenOver:
    """These members of one group speak the classic protocol to a coordinator that does not, from now on."""

    members: tuple[TakenOver, ...]


@dataclass(frozen=True, slots=True)
class GroupReleased:
    """The group is a classic one from now on: its machines are done, and what they hold goes to the coordinator."""

    group_id: GroupId


@dataclass(frozen=True, slots=True)
class MemberReleased:
    """The member is somebody else's from now on: its machine is done, without a word to its client or coordinator."""

    member: MemberRef


CoordinatorEvent = (
    MemberAnswered | RequestAnswered | MembersCalled | MemberFenced | MembersTakenOver | GroupReleased | MemberReleased
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicSeat:
    """A translated member as its machine knows it, for a classic group to go on with: the generation it shows its
    client, what its client may be using, everything the client said in its last JoinGroup, and the session that is
    left.
    """

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    generation: int
    using: frozenset[TopicPartition]
    session_deadline_ms: int


@dataclass(frozen=True, slots=True)
class CommitAdmitted:
    """A commit may go to the broker; its partitions are not free until it has ended (decision 2)."""

    commit_id: int


@dataclass(frozen=True, slots=True)
class CommitRefused:
    """A commit must not go to the broker: the code for every partition of it (K5.2)."""

    code: ErrorCode
