"""What the embedded coordinator can be told to do, as values."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.configs import Alteration
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    MemberId,
    ReplyTo,
    Topic,
    TopicId,
    TopicIdPartition,
    TopicName,
)
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit


class Speaks(IntEnum):
    """Which protocol a member's client speaks; the values are those of ConsumerGroupDescribe's member type (K11.4 on
    0.4).

    For CLASSIC members the engine keeps no session and no rebalance deadline: they belong to the member's machine
    (decision 16). A static seat that either side of a replacement holds as CLASSIC is replaced unconditionally
    (K2.20, K4.8).
    """

    CLASSIC = 0
    CONSUMER = 1


class GroupType(StrEnum):
    """How members of a group talk to it; the values are those of ListGroups (K6.4)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberHeartbeat:
    """A member joins, lives or leaves; answered with a `MemberAnswer`.

    An empty `request.member_id` at epoch 0 is replaced by `fresh_id`. A static CLASSIC joiner whose request names an id
    other than `fresh_id` is held to that id (K4.9), otherwise it takes its seat over (K4.8). What a newcomer says it
    had (`claimed`, as of `claimed_generation`) may steer the target and is never taken for owned (decision 7).
    `is_announced` is False where a machine leaves for a client that did not say that it goes: its session was over.
    """

    ref: ReplyTo
    request: ConsumerGroupHeartbeat
    identity: ClientIdentity
    speaks: Speaks
    fresh_id: MemberId
    claimed: frozenset[TopicIdPartition] = frozenset()
    claimed_generation: int = -1
    is_announced: bool = True


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Members leave by LeaveGroup, of either protocol (K4.40, K4.41 with 11.4), from a group of either type; answered
    with `classic.LeaveGroupReply`.
    """

    ref: ReplyTo
    request: LeaveGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicJoin:
    """A JoinGroup for a classic group, or to begin one; answered with `classic.JoinGroupReply`, perhaps much later.

    A newcomer's id is the instance id or else the client id, a hyphen and `fresh_id` (K1.17).
    """

    ref: ReplyTo
    request: JoinGroup
    identity: ClientIdentity
    fresh_id: MemberId


@dataclass(frozen=True, slots=True)
class ClassicSync:
    """A SyncGroup for a classic group; answered with `classic.SyncGroupReply`, perhaps later."""

    ref: ReplyTo
    request: SyncGroup


@dataclass(frozen=True, slots=True)
class ClassicHeartbeat:
    """A Heartbeat for a classic group; answered at once with `classic.HeartbeatReply`."""

    ref: ReplyTo
    request: Heartbeat


@dataclass(frozen=True, slots=True)
class ClassicLeave:
    """A LeaveGroup of classic clients, where the type of the group need not be known: `RemoveMembers` by another name,
    but a request without group id is refused; answered with `classic.LeaveGroupReply`.
    """

    ref: ReplyTo
    request: LeaveGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertGroup:
    """An operator wants a group to be of another type, whatever the policy; answered with `Converted` or
    `NotConverted`.

    To CLASSIC the answer comes from the `BecomeClassic` that the notice `DowngradeDue` asks for.
    """

    ref: ReplyTo
    group_id: GroupId
    to: GroupType
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BecomeClassic:
    """The answer to `DowngradeDue`: a consumer group turns classic with these seats, all of its members (decision 8).

    Answered with `Converted` or `NotConverted` if somebody asked (`ref`).
    """

    ref: ReplyTo | None
    group_id: GroupId
    seats: tuple[ClassicSeat, ...]
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptGroup:
    """A group that a broker coordinated is coordinated here from now on, as it stands, and no member hears of it;
    answered with `Converted` or `NotConverted`.

    `seats` are all of its members; `leader` is who leads them, None where that is not known.
    """

    ref: ReplyTo
    group_id: GroupId
    generation: int
    protocol_name: str
    leader: MemberId | None
    seats: tuple[ClassicSeat, ...]


@dataclass(frozen=True, slots=True)
class GiveUpGroup:
    """A group has another coordinator from now on, which has all of its members; answered with `Converted` (to what it
    was) or `NotConverted`.
    """

    ref: ReplyTo
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class UnloadClassicGroups:
    """Classic groups are served here no more (K1.75): parked requests are answered NOT_COORDINATOR; unanswered
    itself.
    """


@dataclass(frozen=True, slots=True)
class EndSessions:
    """Nobody was answered for `away_ms` before this start: a session that is no longer than that has ended meanwhile,
    and its member has until `until_ms` to be heard of; unanswered.
    """

    away_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class ChangeTopics:
    """The upstream watcher saw topics appear or grow, and topics go; unanswered.

    A topic that was deleted and made again comes with its new id in `topics` and its old one in `removed`.
    """

    topics: tuple[Topic, ...]
    removed: tuple[TopicId, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolveRegularExpression:
    """What a pattern matches now, or why it can't be read; unanswered.

    The engine never runs a pattern (RE2 lives in the shell): resolve a new pattern before its member's heartbeat, and
    every pattern again when topics change.
    """

    pattern: str
    topics: frozenset[TopicName]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ForgetRegularExpressions:
    """What these patterns match need not be known any more, but for those that a member has by now; unanswered.

    The engine can't tell by itself which are wanted: one is resolved before its first member comes.
    """

    patterns: frozenset[str]


@dataclass(frozen=True, slots=True)
class BeginCommit:
    """A commit wants to go to the broker; answered with `CommitAdmitted` or `CommitRefused` (K5.3 to K5.17)."""

    ref: ReplyTo
    request: OffsetCommit | TxnOffsetCommit


@dataclass(frozen=True, slots=True)
class EndCommit:
    """The broker answered a commit, or its time is over: its partitions may be free again; unanswered, unknown ids do
    nothing.
    """

    commit_id: int


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """A group shall be forgotten if it is empty (K6.7); answered with `admin.DeletedGroup`."""

    ref: ReplyTo
    group_id: GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterGroupConfigs:
    """An admin alters the settings of a group, or says all of them anew; answered with `configs.AlteredResource`."""

    ref: ReplyTo
    group_id: GroupId
    alterations: tuple[Alteration, ...]
    replaces_all: bool = False
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class PassDeadlines:
    """Time has passed: do everything that is due; unanswered itself, but parked asks may be answered in its outcome."""


Command = (
    MemberHeartbeat
    | RemoveMembers
    | ClassicJoin
    | ClassicSync
    | ClassicHeartbeat
    | ClassicLeave
    | ConvertGroup
    | BecomeClassic
    | AdoptGroup
    | GiveUpGroup
    | UnloadClassicGroups
    | EndSessions
    | ChangeTopics
    | ResolveRegularExpression
    | ForgetRegularExpressions
    | BeginCommit
    | EndCommit
    | DeleteGroup
    | AlterGroupConfigs
    | PassDeadlines
)
