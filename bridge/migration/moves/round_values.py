"""What a played round is, what happens to it and what it asks for, as values; and its table of transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import CONSUMER, NO_GENERATION, encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicPartition
from translators.machine import Transitions

NOTHING = encode_assignment(frozenset())
"""What a member is given that nothing is known of: an assignment without partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPlayer:
    """One member that a round is played for, and what it is to have in the end: `give`, the assignment's bytes.

    `member_id` is its id as its client knows it and names it in this round, `broker_id` the one that the broker knows
    it by, "" where it does not know it yet. `owned` is what its client has, whatever it is given. The broker is
    told its `client_id`.
    """

    member_id: MemberId
    client_id: str
    broker_id: MemberId
    instance_id: InstanceId | None
    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    owned: frozenset[TopicPartition]
    give: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A rebalance that is played at the broker for all players, of whom the first joins first: the leader, if known.

    `generation` is the group's newest at the broker, -1 where it is not known; `strangers` are members that are removed
    before anybody joins. Strangers who come back in time are given `strangers_get`. All is over at `deadline_ms`.
    """

    group_id: GroupId
    players: tuple[RoundPlayer, ...]
    deadline_ms: int
    protocol_type: str = CONSUMER
    generation: int = NO_GENERATION
    strangers: tuple[MemberId, ...] = ()
    strangers_get: bytes = NOTHING


# ---------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where the players are: their ids at the broker, who waits for an answer, and who asks again, and when.

    `generation` is the newest of the group: whoever is told an older one, or this one, has joined too early.
    """

    ids: Mapping[MemberId, MemberId]
    open: frozenset[MemberId] = frozenset()
    paused: Mapping[MemberId, int] = field(default_factory=dict)
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovingStrangers:
    """LeaveGroup of members that are no players is on its way, or said again at `again_ms`; nobody else asks."""

    round: Round
    table: Table
    leaving: tuple[MemberId, ...]
    again_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingIds:
    """Dynamic players that the broker does not know ask for ids: the join phase waits for whoever was promised one."""

    round: Round
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """Every player joins; `joined` were told the newest generation, and join again at `rejoin_ms` if nobody else has
    been told anything by then.
    """

    round: Round
    table: Table
    joined: Mapping[MemberId, JoinGroupReply]
    rejoin_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Syncing:
    """Everybody is in one generation that a player leads; `strangers` are in it, too."""

    round: Round
    table: Table
    protocol_name: str
    leader: MemberId
    strangers: tuple[MemberId, ...]
    synced: frozenset[MemberId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Every player has at the broker what it was to be given, under `ids`, in `generation`."""

    generation: int
    ids: Mapping[MemberId, MemberId]
    strangers: tuple[MemberId, ...]


class RoundFailure(StrEnum):
    """Why a round came to nothing."""

    OUT_OF_TIME = "out-of-time"
    """Somebody who is no player did not join, or the broker did not answer."""
    REFUSED = "refused"
    """The broker refused a player."""
    UNREADABLE = "unreadable-subscription"
    """A player's subscription can't be read, so what its client has can't be written into it."""
    GIVEN_OTHERWISE = "given-otherwise"
    """The broker answered a SyncGroup with something else than the bridge's assignment."""
    ABANDONED = "abandoned"
    """Whoever played it wants it no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The round is over before its end: who was refused and with which code, where it was that.

    Players that were new to the broker have left it. The requests of `open` are still unanswered: until they are, the
    broker must get no JoinGroup of these members, or its answer is lost and their connection hangs.
    """

    failure: RoundFailure
    ids: Mapping[MemberId, MemberId]
    open: frozenset[MemberId]
    member_id: MemberId | None = None
    code: ErrorCode = ErrorCode.NONE


RoundState = RemovingStrangers | AskingIds | Joining | Syncing | Played | Failed
Running = RemovingStrangers | AskingIds | Joining | Syncing

# ---------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class JoinAnswered:
    """The broker answered the JoinGroup of a player."""

    member_id: MemberId
    reply: JoinGroupReply


@dataclass(frozen=True, slots=True)
class SyncAnswered:
    """The broker answered the SyncGroup of a player."""

    member_id: MemberId
    reply: SyncGroupReply


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """A connection was lost before the answer to a player came by it, or there was none to ask by."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class RemovalAnswered:
    """The broker answered the LeaveGroup; None if the connection was lost before."""

    reply: LeaveGroupReply | None


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The time that `next_deadline` named has come."""


@dataclass(frozen=True, slots=True)
class RoundAbandoned:
    """Whoever plays the round wants it no more."""


RoundEvent = JoinAnswered | SyncAnswered | AnswerLost | RemovalAnswered | DeadlinePassed | RoundAbandoned

# ---------------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class AskInPlace:
    """Ask the group's coordinator in the place of a player, by a connection that nobody waits on meanwhile."""

    member_id: MemberId
    request: JoinGroup | SyncGroup


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Ask the group's coordinator by a connection on which no JoinGroup is open."""

    request: LeaveGroup


RoundEffect = AskInPlace | RemoveMembers

_RUNNING = frozenset({RemovingStrangers, AskingIds, Joining, Syncing})
TRANSITIONS: Transitions = {
    (RemovingStrangers, RemovalAnswered): frozenset({RemovingStrangers, AskingIds, Joining, Failed}),
    (RemovingStrangers, DeadlinePassed): frozenset({RemovingStrangers, Failed}),
    (AskingIds, JoinAnswered): frozenset({AskingIds, Joining, Failed}),
    (AskingIds, AnswerLost): frozenset({AskingIds}),
    (AskingIds, DeadlinePassed): frozenset({AskingIds, Failed}),
    (Joining, JoinAnswered): frozenset({Joining, Syncing, RemovingStrangers, Failed}),
    (Joining, SyncAnswered): frozenset({Joining}),
    (Joining, AnswerLost): frozenset({Joining}),
    (Joining, DeadlinePassed): frozenset({Joining, Failed}),
    (Syncing, SyncAnswered): frozenset({Syncing, Joining, Played, Failed}),
    (Syncing, AnswerLost): frozenset({Syncing}),
    (Syncing, DeadlinePassed): frozenset({Syncing, Failed}),
    **{(state, RoundAbandoned): frozenset({Failed}) for state in _RUNNING},
    **{(Failed, event): frozenset({Failed}) for event in (JoinAnswered, SyncAnswered, AnswerLost, RemovalAnswered)},
}
"""A round begins in `RemovingStrangers`, `AskingIds` or `Joining`; nothing happens to one that was played."""
