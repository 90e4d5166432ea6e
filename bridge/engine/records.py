"""The only things that change the engine's state, durable ones for the journal and volatile ones.

It must not know who decides them.
"""

from dataclasses import dataclass
from typing import ClassVar

from bridge.engine.classic.records import DurableClassicRecord, VolatileClassicRecord
from bridge.engine.model import Ask, Current, DeadlineKey, InitialDelay, KeptSeat, Subscription
from translators.dialects.ids import GroupId, MemberId, Topic, TopicId, TopicIdPartition, TopicName


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
    | GroupEpochBumped
    | MemberSubscribed
    | MemberForgotten
    | NativesLost
    | TargetAssigned
    | TargetEpochReached
    | CurrentAssigned
    | SeatKept
    | SeatTaken
    | SeatsGivenUp
    | TopicSeen
    | TopicGone
    | RegularExpressionResolved
    | DurableClassicRecord
)
VolatileRecord = (
    DeadlineSet
    | DeadlineCleared
    | AskParked
    | DelayChanged
    | TargetComputed
    | CommitBegun
    | CommitEnded
    | VolatileClassicRecord
)
Record = DurableRecord | VolatileRecord
