"""The only things that change classic groups: durable ones for the journal, and the steps of a running rebalance.

It must not know who decides them.
"""

from dataclasses import dataclass
from typing import ClassVar

from bridge.engine.classic.model import ClassicMember, ShownGeneration
from bridge.engine.model import InitialDelay
from translators.dialects.ids import GroupId, MemberId, ReplyTo


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
