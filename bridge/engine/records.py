"""The only things that change the engine's state, durable ones for the journal and volatile ones."""

from dataclasses import dataclass
from typing import ClassVar

from bridge.engine.model import (
    Ask,
    ClassicMember,
    Current,
    DeadlineKey,
    InitialDelay,
    KeptSeat,
    ShownGeneration,
    Subscription,
)
from translators.dialects.ids import GroupId, MemberId, ReplyTo, Topic, TopicId, TopicIdPartition, TopicName


@dataclass(frozen=True, slots=True)
class ClassicGroupCreated:
    """A classic group begins: Empty, generation 0 (K1.11)."""

    durable: ClassVar[bool] = True
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class ClassicGenerationReserved:
    """A rebalance reached this generation: it is never given out again, even if nobody gets to sync in it."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupSynced:
    """The leader brought everybody's assignment, or the group is Empty: Kafka's GroupMetadata (K1.36, K1.51, K7.9)."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: MemberId | None
    members: tuple[ClassicMember, ...]


@dataclass(frozen=True, slots=True)
class ClassicMemberReplaced:
    """A static seat changed hands; whatever was assigned to `former_id` is `member`'s now (K1.40).

    Durable in every phase: a fenced client stays fenced over a restart.
    """

    durable: ClassVar[bool] = True
    group_id: GroupId
    former_id: MemberId
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class ClassicMemberForgotten:
    """A member is gone; if it led, the oldest member that is left leads (K1.61).

    Durable, which it is not in Kafka: after a restart nobody waits for the session of one that left.
    """

    durable: ClassVar[bool] = True
    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True)
class ClassicGenerationsAliased:
    """A group that has just turned classic accepts from each member the generation its client was shown before, until
    the next one begins (decision 8).
    """

    durable: ClassVar[bool] = True
    group_id: GroupId
    generations: tuple[ShownGeneration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberSeated:
    """A member came, or told something new about itself; type and leader of the group are as given from now on."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member: ClassicMember
    protocol_type: str
    leader: MemberId
    is_new: bool


@dataclass(frozen=True, slots=True)
class MemberIdPromised:
    """A joiner was told its id and has not come back with it yet (KIP-394, K1.19)."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True)
class MemberIdWithdrawn:
    """A promised id is not waited for any more: it joined, left, or its time is over."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True)
class JoinParked:
    """A member's JoinGroup waits for the end of the join phase."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId
    ref: ReplyTo


@dataclass(frozen=True, slots=True)
class SyncParked:
    """A member's SyncGroup waits for the leader's, or for the last commit of who had its partitions before."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId
    ref: ReplyTo


@dataclass(frozen=True, slots=True)
class SyncReceived:
    """A member has sent the SyncGroup that was expected of it; with the last one the sync deadline goes."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True)
class RebalancePrepared:
    """Members are called to join; parked SyncGroups were answered, and the assignments are void if nobody got them
    (K1.29).
    """

    durable: ClassVar[bool] = False
    group_id: GroupId
    voids_assignments: bool


@dataclass(frozen=True, slots=True)
class JoinDelayChanged:
    """The wait of a group that was Empty began or goes on (K1.30); None ends it."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    delay: InitialDelay | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPhaseCompleted:
    """Every parked JoinGroup was answered with this generation; all members have to sync now (K1.37)."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    generation: int
    protocol_name: str
    leader: MemberId


@dataclass(frozen=True, slots=True)
class HandOutHeldUp:
    """Assignments wait for these commits: they were on their way when the partitions changed hands.

    `member_id` is who took over a seat of a Stable group, where nobody else's assignment waits.
    """

    durable: ClassVar[bool] = False
    group_id: GroupId
    commit_ids: frozenset[int]
    member_id: MemberId | None = None


@dataclass(frozen=True, slots=True)
class AssignmentsHandedOut:
    """Every parked SyncGroup was answered with its assignment."""

    durable: ClassVar[bool] = False
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class ClassicGroupUnloaded:
    """The group is served here no more; its parked requests were answered (K1.75)."""

    durable: ClassVar[bool] = False
    group_id: GroupId


DurableClassicRecord = (
    ClassicGroupCreated
    | ClassicGenerationReserved
    | ClassicGroupSynced
    | ClassicMemberReplaced
    | ClassicMemberForgotten
    | ClassicGenerationsAliased
)
VolatileClassicRecord = (
    ClassicMemberSeated
    | MemberIdPromised
    | MemberIdWithdrawn
    | JoinParked
    | SyncParked
    | SyncReceived
    | RebalancePrepared
    | JoinDelayChanged
    | JoinPhaseCompleted
    | HandOutHeldUp
    | AssignmentsHandedOut
    | ClassicGroupUnloaded
)
ClassicRecord = DurableClassicRecord | VolatileClassicRecord


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A consumer group begins, at this group epoch and this assignment epoch."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    epoch: int


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    """A group is forgotten, whatever its type (K1.76)."""

    durable: ClassVar[bool] = True
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class GroupConfigured:
    """A group has exactly these settings of its own, by name; none for no longer any, whether there is one or not."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GroupEpochBumped:
    """A group's membership, subscriptions or topics changed."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    epoch: int


@dataclass(frozen=True, slots=True)
class MemberSubscribed:
    """A member came, or told something new about itself."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class MemberForgotten:
    """A member is gone, with its target, what it held and its deadlines."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True)
class NativesLost:
    """A group had members of the consumer protocol once; only a condensed history has to say so."""

    durable: ClassVar[bool] = True
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class NativesForgotten:
    """Classic members begin an empty group anew: Kafka has another group of that name then, a classic one (K1.9)."""

    durable: ClassVar[bool] = True
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class TargetAssigned:
    """A member's target is now exactly these partitions."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    member_id: MemberId
    partitions: frozenset[TopicIdPartition]


@dataclass(frozen=True, slots=True)
class TargetEpochReached:
    """The target is complete for this group epoch; the assignor's name is empty where none was needed."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    epoch: int
    assignor: str


@dataclass(frozen=True, slots=True)
class CurrentAssigned:
    """A member holds exactly this now."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    member_id: MemberId
    current: Current


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic exists, with this many partitions."""

    durable: ClassVar[bool] = True
    topic: Topic


@dataclass(frozen=True, slots=True)
class TopicGone:
    """A topic does not exist any more."""

    durable: ClassVar[bool] = True
    topic_id: TopicId


@dataclass(frozen=True, slots=True)
class RegularExpressionResolved:
    """A pattern matches these topics, or can't be read."""

    durable: ClassVar[bool] = True
    pattern: str
    topics: frozenset[TopicName]
    error: str | None


@dataclass(frozen=True, slots=True)
class TopicsHidden:
    """Of what a pattern matches a group is not given these: whoever had that resolved may not DESCRIBE them."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    pattern: str
    topics: frozenset[TopicName]


@dataclass(frozen=True, slots=True)
class RegularExpressionForgotten:
    """No member subscribes to a pattern any more, nor is one about to: what it matches need not be known."""

    durable: ClassVar[bool] = True
    pattern: str


@dataclass(frozen=True, slots=True)
class DeadlineSet:
    """Something is due at this time, in milliseconds of the shell's clock."""

    durable: ClassVar[bool] = False
    key: DeadlineKey
    at_ms: int


@dataclass(frozen=True, slots=True)
class DeadlineCleared:
    """Something is not due any more."""

    durable: ClassVar[bool] = False
    key: DeadlineKey


@dataclass(frozen=True, slots=True)
class IntervalTold:
    """A member's answer says how often it is to send heartbeats, other than the last one did."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    member_id: MemberId
    interval_ms: int


@dataclass(frozen=True, slots=True)
class AskParked:
    """An ask waits for the end of its group's initial delay."""

    durable: ClassVar[bool] = False
    ask: Ask


@dataclass(frozen=True, slots=True)
class DelayChanged:
    """A group's initial delay began or goes on; None ends it and lets the parked asks go."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    delay: InitialDelay | None


@dataclass(frozen=True, slots=True)
class TargetComputed:
    """When a group's target was computed last, for the assignment interval."""

    durable: ClassVar[bool] = False
    group_id: GroupId
    at_ms: int


@dataclass(frozen=True, slots=True)
class SeatKept:
    """A member left, and its share waits for whoever comes; its times count from the start of the process."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    seat: KeptSeat


@dataclass(frozen=True, slots=True)
class SeatTaken:
    """Somebody took the place of a member that left."""

    durable: ClassVar[bool] = True
    group_id: GroupId
    seat: KeptSeat


@dataclass(frozen=True, slots=True)
class SeatsGivenUp:
    """No share waits any more: the time is over, or the group changes anyhow."""

    durable: ClassVar[bool] = True
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class CommitBegun:
    """A commit of these partitions is on its way to the broker."""

    durable: ClassVar[bool] = False
    commit_id: int
    group_id: GroupId
    partitions: frozenset[TopicIdPartition]


@dataclass(frozen=True, slots=True)
class CommitEnded:
    """A commit is not on its way any more."""

    durable: ClassVar[bool] = False
    commit_id: int


DurableRecord = (
    GroupCreated
    | GroupDeleted
    | GroupConfigured
    | GroupEpochBumped
    | MemberSubscribed
    | MemberForgotten
    | NativesLost
    | NativesForgotten
    | TargetAssigned
    | TargetEpochReached
    | CurrentAssigned
    | SeatKept
    | SeatTaken
    | SeatsGivenUp
    | TopicSeen
    | TopicGone
    | RegularExpressionResolved
    | RegularExpressionForgotten
    | TopicsHidden
    | DurableClassicRecord
)
VolatileRecord = (
    DeadlineSet
    | DeadlineCleared
    | IntervalTold
    | AskParked
    | DelayChanged
    | TargetComputed
    | CommitBegun
    | CommitEnded
    | VolatileClassicRecord
)
Record = DurableRecord | VolatileRecord
