"""Give back: members of a broker's consumer group become classic members of it again, in place and unnoticed.

A JoinGroup under a member's own id that says what it owns is answered at once, and SyncGroup gives the same again:
measured on Apache Kafka 4.0 to 4.3. Without the owned partitions the broker grants them to others at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import assert_never

from bridge.migration.moves.one_by_one import UNHEARD, Drop, GaveUp, Keep, MemberLeft, Stopped, ToldGone
from translators.dialects.classic import JoinGroupReply, SyncGroupReply
from translators.dialects.consumer_protocol import MalformedBlob, decode_assignment
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition


class Stage(StrEnum):
    """How far one member is."""

    WAITING = auto()
    """It is the broker's consumer member, perhaps with something to let go; nothing was asked for it yet."""
    JOINING = auto()
    ASKING = auto()
    """The answer to its JoinGroup was lost: a SyncGroup tells whether the broker has it as a classic member."""
    SYNCING = auto()
    BACK = auto()
    """It is a classic member at the broker, with just what its client has."""
    CALLED = auto()
    """The same, with less: its client is told to join again at its next heartbeat."""
    STAYS = auto()
    """The broker won't have it as a classic member, or the move was stopped before: it goes on as it was."""
    GONE = auto()


ENDED = frozenset({Stage.BACK, Stage.CALLED, Stage.STAYS, Stage.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member and what its client may be using, None while it is not at rest.

    `generation` is the one that its JoinGroup was answered with, `asked_generation` that of a SyncGroup on its way.
    """

    using: frozenset[TopicPartition] | None = None
    generation: int = -1
    asked_generation: int = -1
    stage: Stage = Stage.WAITING
    was_asked: bool = False
    """Whether the broker may have it as a classic member already."""
    reason: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBack:
    """A move under way."""

    members: Mapping[MemberId, Member]
    stopped: Refused | None = None

    @property
    def is_over(self) -> bool:
        """Whether every member has come to an end."""
        return all(member.stage in ENDED for member in self.members.values())


@dataclass(frozen=True, slots=True)
class CameToRest:
    """The member's client has exactly what the broker granted, nothing of it is on its way, and it can be asked."""

    member_id: MemberId
    using: frozenset[TopicPartition]
    epoch: int = -1
    """The last at which the broker is known to have had it as a consumer member."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The broker's answer to its JoinGroup; None: the connection went before it came."""

    member_id: MemberId
    reply: JoinGroupReply | None


@dataclass(frozen=True, slots=True)
class Synced:
    """The broker's answer to its SyncGroup."""

    member_id: MemberId
    reply: SyncGroupReply | None


Event = CameToRest | Joined | Synced | MemberLeft | ToldGone | Stopped | GaveUp


@dataclass(frozen=True, slots=True)
class Join:
    """Send its JoinGroup, which says that it owns what it uses; from now on nothing is asked for it as a consumer."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Sync:
    """Send its SyncGroup, without assignments."""

    member_id: MemberId
    generation: int


@dataclass(frozen=True, slots=True)
class Map:
    """From now on the broker knows it by this generation; its client, `if is_called`, is to join again."""

    member_id: MemberId
    generation: int
    is_called: bool


Effect = Join | Sync | Map | Keep | Drop
_LATER = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_AGAIN = _LATER | {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}
"""What the next try may change: the same JoinGroup again is answered the same as long as nothing changed."""
_NO_MORE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""The broker has it no more, or another in its static seat."""

TRANSITIONS: Mapping[tuple[Stage, type], frozenset[Stage]] = {
    (Stage.WAITING, CameToRest): frozenset({Stage.JOINING, Stage.ASKING, Stage.SYNCING}),
    (Stage.WAITING, MemberLeft): frozenset({Stage.GONE}),
    (Stage.WAITING, ToldGone): frozenset({Stage.GONE}),
    (Stage.WAITING, Stopped): frozenset({Stage.WAITING, Stage.STAYS}),
    (Stage.WAITING, GaveUp): frozenset({Stage.GONE}),
    (Stage.JOINING, Joined): frozenset({Stage.WAITING, Stage.SYNCING, Stage.STAYS, Stage.GONE}),
    (Stage.JOINING, ToldGone): frozenset({Stage.GONE}),
    (Stage.JOINING, Stopped): frozenset({Stage.JOINING}),
    (Stage.JOINING, GaveUp): frozenset({Stage.GONE}),
    (Stage.ASKING, Synced): frozenset({Stage.WAITING, Stage.JOINING, Stage.BACK, Stage.CALLED, Stage.GONE}),
    (Stage.ASKING, ToldGone): frozenset({Stage.GONE}),
    (Stage.ASKING, Stopped): frozenset({Stage.ASKING}),
    (Stage.ASKING, GaveUp): frozenset({Stage.GONE}),
    (Stage.SYNCING, Synced): frozenset({Stage.WAITING, Stage.BACK, Stage.CALLED, Stage.GONE}),
    (Stage.SYNCING, ToldGone): frozenset({Stage.GONE}),
    (Stage.SYNCING, Stopped): frozenset({Stage.SYNCING}),
    (Stage.SYNCING, GaveUp): frozenset({Stage.GONE}),
}
"""What may become of a member by its own events, by `Stopped` and by `GaveUp`; anything else leaves it where it is."""
Taken = tuple[GiveBack, tuple[Effect, ...]]


def begin(members: Mapping[MemberId, frozenset[TopicPartition] | None]) -> GiveBack:
    """A move of these members; of those with something in use somebody has asked for before, unheard."""
    return GiveBack(members={one: Member(using=using, was_asked=using is not None) for one, using in members.items()})


def step(state: GiveBack, event: Event) -> Taken:
    """What a move is after something happened, and what is to be done for it now."""
    match event:
        case CameToRest(member_id, using, epoch):
            return _came_to_rest(state, member_id, using, epoch)
        case Joined(member_id, reply):
            return _joined(state, member_id, reply)
        case Synced(member_id, reply):
            return _synced(state, member_id, reply)
        case MemberLeft(member_id):
            member = state.members.get(member_id)
            is_waiting = member is not None and member.stage is Stage.WAITING
            return (_put(state, member_id, Stage.GONE) if is_waiting else state), ()
        case ToldGone(member_id, reason):
            return _told_gone(state, member_id, reason)
        case Stopped(reason):
            waiting = [one for one, member in state.members.items() if _is_untouched(member)]
            for member_id in waiting:
                state = _put(state, member_id, Stage.STAYS, reason)
            return replace(state, stopped=reason), tuple(map(Keep, waiting))
        case GaveUp():
            late = [one for one, member in state.members.items() if member.stage not in ENDED]
            for member_id in late:
                state = _put(state, member_id, Stage.GONE, UNHEARD)
            return replace(state, stopped=state.stopped or UNHEARD), tuple(map(Drop, late))
        case _:
            assert_never(event)


def _told_gone(state: GiveBack, member_id: MemberId, reason: Refused) -> Taken:
    """Its broker may have it still, until its session ends there, and the group then be no classic one yet: nothing is
    done behind this move.
    """
    member = state.members.get(member_id)
    if member is None or member.stage in ENDED:
        return state, ()
    gone = _put(state, member_id, Stage.GONE, reason)
    return replace(gone, stopped=state.stopped or reason), (Drop(member_id),)


def _is_untouched(member: Member) -> bool:
    return member.stage is Stage.WAITING and not member.was_asked


def _put(state: GiveBack, member_id: MemberId, stage: Stage, reason: Refused | None = None) -> GiveBack:
    member = replace(state.members[member_id], stage=stage, reason=reason)
    return replace(state, members={**state.members, member_id: member})


def _came_to_rest(state: GiveBack, member_id: MemberId, using: frozenset[TopicPartition], epoch: int) -> Taken:
    member = state.members.get(member_id)
    if member is None or member.stage is not Stage.WAITING:
        return state, ()
    if member.generation >= 0:
        # Its JoinGroup was taken, and its group may be a classic one since, where another would say in a rebalance that
        # its client has let everything go: the others were dealt what it still had in use.
        asked = replace(member, using=using, stage=Stage.SYNCING)
        return replace(state, members={**state.members, member_id: asked}), (Sync(member_id, member.generation),)
    if member.was_asked:
        # It may have been taken, and the same holds: JoinGroup hands out the epoch as its generation.
        unsure = replace(member, using=using, stage=Stage.ASKING, asked_generation=epoch)
        return replace(state, members={**state.members, member_id: unsure}), (Sync(member_id, epoch),)
    return _join(state, member_id, using)


def _join(state: GiveBack, member_id: MemberId, using: frozenset[TopicPartition]) -> Taken:
    joining = replace(state.members[member_id], using=using, stage=Stage.JOINING, was_asked=True)
    return replace(state, members={**state.members, member_id: joining}), (Join(member_id),)


def _joined(state: GiveBack, member_id: MemberId, reply: JoinGroupReply | None) -> Taken:
    member = state.members.get(member_id)
    if member is None or member.stage is not Stage.JOINING:
        return state, ()
    if reply is None or reply.error in _AGAIN:
        return _try_again(state, member_id)
    if reply.error in _NO_MORE:
        return _put(state, member_id, Stage.GONE, _refused(reply.error, "JoinGroup")), (Drop(member_id),)
    if reply.error is not ErrorCode.NONE:
        # Where an answer was lost before, it was this one: the JoinGroup is the same.
        return _put(state, member_id, Stage.STAYS, _refused(reply.error, "JoinGroup")), (Keep(member_id),)
    syncing = replace(member, stage=Stage.SYNCING, generation=reply.generation)
    after = replace(state, members={**state.members, member_id: syncing})
    return after, (Sync(member_id, reply.generation),)


def _synced(state: GiveBack, member_id: MemberId, reply: SyncGroupReply | None) -> Taken:
    member = state.members.get(member_id)
    if member is None or member.stage not in (Stage.ASKING, Stage.SYNCING):
        return state, ()
    if reply is None or reply.error in _LATER:
        return _try_again(state, member_id)
    if member.stage is Stage.ASKING and reply.error is ErrorCode.UNKNOWN_MEMBER_ID:
        # It is no classic member there: in a classic group its JoinGroup is refused, so that it promises nothing.
        return _join(state, member_id, member.using or frozenset())
    if reply.error in _NO_MORE:
        return _put(state, member_id, Stage.GONE, _refused(reply.error, "SyncGroup")), (Drop(member_id),)
    generation = member.asked_generation if member.stage is Stage.ASKING else member.generation
    if reply.error is not ErrorCode.NONE:
        # It is a classic member since its JoinGroup, with all that it has. Of a rebalance (27), or one that is past
        # (22), its client has to hear, as it does from any coordinator: it joins again under the same seat.
        called = _put(state, member_id, Stage.CALLED, _refused(reply.error, "SyncGroup"))
        return called, (Map(member_id, generation, is_called=True),)
    try:
        assigned = decode_assignment(reply.assignment).partitions
    except MalformedBlob:
        assigned = frozenset[TopicPartition]()
    # Less than it has: the rest is wanted by others, and waits for its client to let it go, as in any rebalance. More:
    # its client has to be told, which it is by joining.
    is_called = assigned != member.using
    stage = Stage.CALLED if is_called else Stage.BACK
    return _put(state, member_id, stage), (Map(member_id, generation, is_called),)


def _try_again(state: GiveBack, member_id: MemberId) -> Taken:
    """When its client is heard next: whether the broker has taken its word, the same request tells."""
    return _put(state, member_id, Stage.WAITING), ()


def _refused(code: ErrorCode, request: str) -> Refused:
    return Refused(code, f"the broker answers {code.name} to its {request}")
