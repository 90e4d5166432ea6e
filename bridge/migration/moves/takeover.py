"""Take over: classic members become members of their broker's consumer group, one by one, in place and unnoticed.

A broker makes a consumer group of a classic one for the first member that speaks KIP-848 (the pilot, or on brokers
before 4.2 a scout that wants nothing); every other classic member then switches by a heartbeat under its own id, epoch
and partitions. Measured on Apache Kafka 4.0 to 4.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import assert_never

from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId, TopicPartition


class Stage(StrEnum):
    """How far one member is."""

    WAITING = auto()
    """Its client works by the classic protocol; nothing was asked for it yet."""
    ASKED = auto()
    """Its heartbeat is on its way: whether the broker has switched it is not known."""
    TAKEN = auto()
    """It is a member of the consumer group, and its client still knows nothing of that."""
    STAYS = auto()
    """The broker won't switch it, or the move was stopped before: it goes on as it was."""
    GONE = auto()
    """It is no member any more."""


ENDED = frozenset({Stage.TAKEN, Stage.STAYS, Stage.GONE})


class Path(StrEnum):
    """How the broker lets members over, as far as it has been found out."""

    UNKNOWN = auto()
    """The pilot asks under its epoch, which succeeds where the group is a consumer group already."""
    JOINING = auto()
    """The pilot asks at epoch 0, which makes it one (Apache Kafka 4.2 and newer)."""
    SCOUTING = auto()
    """A scout joins first (4.0 and 4.1)."""
    OPEN = auto()
    """Everybody asks under its own epoch."""
    SHUT = auto()
    """The broker won't have it, or somebody stopped the move: nobody else is asked for."""


class Scout(StrEnum):
    """Where the member is that makes a consumer group of the classic one and wants nothing itself."""

    NONE = auto()
    JOINING = auto()
    IN = auto()
    LEAVING = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A classic member at work; `generation` is None until its client was heard."""

    assigned: frozenset[TopicPartition]
    generation: int | None = None
    is_reachable: bool = False
    stage: Stage = Stage.WAITING
    asked_epoch: int | None = None
    """The epoch of its heartbeat that is on its way."""
    reason: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """A move under way: its members in the order asked, and how the broker lets them over."""

    members: Mapping[MemberId, Member]
    path: Path = Path.UNKNOWN
    pilot: MemberId | None = None
    scout: Scout = Scout.NONE
    refusal: Refused | None = None
    """Why nobody else is taken over."""

    @property
    def is_over(self) -> bool:
        """Whether every member has come to an end, and the scout has left."""
        return self.scout is Scout.NONE and all(member.stage in ENDED for member in self.members.values())


# ---------------------------------------------------------------------------------------------------- what happens


@dataclass(frozen=True, slots=True)
class Heard:
    """A request of this member came, or it is known by which connection it can be asked."""

    member_id: MemberId
    generation: int


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The connection of this member is gone."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Answered:
    """The broker's word on a member's heartbeat; None: the connection went before it came."""

    member_id: MemberId
    answer: Granted | Refused | None


@dataclass(frozen=True, slots=True)
class ScoutAnswered:
    """The broker's word on a heartbeat of the scout."""

    answer: Granted | Refused | None


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """The member has said farewell, or is known to be gone, before it was asked for."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nobody else is to be taken over; who is taken over already stays so."""

    reason: Refused


Event = Heard | Unreachable | Answered | ScoutAnswered | MemberLeft | Stopped


# ------------------------------------------------------------------------------------------------ what is to be done


@dataclass(frozen=True, slots=True)
class AskMember:
    """Send this member's heartbeat by its own connection: in full, at epoch 0 without partitions, else with its own."""

    member_id: MemberId
    epoch: int


@dataclass(frozen=True, slots=True)
class AskScout:
    """Send the scout's heartbeat by this member's connection: at epoch 0 with no topics at all, or its farewell."""

    by: MemberId
    epoch: int


@dataclass(frozen=True, slots=True)
class Take:
    """From now on the member is the coordinator's at this epoch.

    `assigned` is what the broker grants it, None for just what it has.
    """

    member_id: MemberId
    epoch: int
    assigned: frozenset[TopicPartition] | None


@dataclass(frozen=True, slots=True)
class Keep:
    """The member stays what it was: its requests go to the broker as before."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Drop:
    """The member is nobody's any more: its client has to join anew (25)."""

    member_id: MemberId


Effect = AskMember | AskScout | Take | Keep | Drop
_NOT_NOW = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNRELEASED_INSTANCE_ID,
    }
)
"""What an answer says of the moment and not of the member: it is asked again when it is heard next."""


@dataclass(frozen=True, slots=True)
class _Step:
    state: TakeOver
    effects: tuple[Effect, ...] = ()

    def then(self, *effects: Effect) -> "_Step":
        return _Step(self.state, self.effects + effects)


def begin(members: Mapping[MemberId, frozenset[TopicPartition]]) -> TakeOver:
    """A move of these members, who own what is said."""
    return TakeOver(members={one: Member(assigned=assigned) for one, assigned in members.items()})


def step(state: TakeOver, event: Event) -> tuple[TakeOver, tuple[Effect, ...]]:
    """What a move is after something happened, and what is to be done for it now, in order.

    Invariant: a member is asked for at most once at a time, and by nobody but the pilot before the group is known to be
    a consumer group; nothing is asked for a member that was never heard.
    """
    match event:
        case Heard(member_id, generation):
            after = _advance(_heard(state, member_id, generation))
        case Unreachable(member_id):
            after = _Step(_unreachable(state, member_id))
        case Answered(member_id, answer):
            after = _advance(_answered(state, member_id, answer))
        case ScoutAnswered(answer):
            after = _advance(_scouted(state, answer))
        case MemberLeft(member_id):
            after = _advance(_left(state, member_id))
        case Stopped(reason):
            after = _advance(_Step(replace(state, path=Path.SHUT, refusal=state.refusal or reason)))
        case _:
            assert_never(event)
    return after.state, after.effects


def _put(state: TakeOver, member_id: MemberId, member: Member) -> TakeOver:
    return replace(state, members={**state.members, member_id: member})


def _heard(state: TakeOver, member_id: MemberId, generation: int) -> _Step:
    member = state.members.get(member_id)
    if member is None or member.stage in ENDED:
        return _Step(state)
    return _Step(_put(state, member_id, replace(member, generation=generation, is_reachable=True)))


def _unreachable(state: TakeOver, member_id: MemberId) -> TakeOver:
    member = state.members.get(member_id)
    return state if member is None else _put(state, member_id, replace(member, is_reachable=False))


def _left(state: TakeOver, member_id: MemberId) -> _Step:
    member = state.members.get(member_id)
    if member is None or member.stage is not Stage.WAITING:
        return _Step(state)
    return _Step(_put(state, member_id, replace(member, stage=Stage.GONE)))


def _answered(state: TakeOver, member_id: MemberId, answer: Granted | Refused | None) -> _Step:
    member = state.members[member_id]
    match answer:
        case Granted(member_epoch=epoch, assigned=assigned):
            was_joining = member.asked_epoch == JOIN_EPOCH
            opened = replace(state, path=Path.SHUT if state.path is Path.SHUT else Path.OPEN)
            if was_joining and assigned is not None and not member.assigned <= assigned:
                # At epoch 0 it owns nothing, so what is missing may be another's this very moment: two would read it.
                lost = Refused(ErrorCode.UNKNOWN_MEMBER_ID, "the broker gave partitions of it away as it joined")
                return _Step(_put(opened, member_id, replace(member, stage=Stage.GONE, reason=lost))).then(
                    Drop(member_id)
                )
            return _Step(_put(opened, member_id, replace(member, stage=Stage.TAKEN))).then(
                Take(member_id, epoch, assigned)
            )
        case Refused(code=ErrorCode.UNKNOWN_MEMBER_ID):
            gone = replace(member, stage=Stage.GONE, reason=answer)
            return _Step(_put(state, member_id, gone)).then(Drop(member_id))
        case Refused(code=code) if code not in _NOT_NOW:
            return _refused(state, member_id, answer)
        case None | Refused():
            # Whether it was switched shows when it is asked again: the same epoch with the same partitions is 0 then.
            again = replace(member, stage=Stage.WAITING, asked_epoch=None, is_reachable=False)
            path = Path.UNKNOWN if state.path is Path.JOINING else state.path
            return _Step(_put(replace(state, path=path), member_id, again))
        case _:
            assert_never(answer)


def _refused(state: TakeOver, member_id: MemberId, answer: Refused) -> _Step:
    member, is_first = state.members[member_id], state.path in (Path.UNKNOWN, Path.JOINING)
    waiting = _put(state, member_id, replace(member, stage=Stage.WAITING))
    if state.path is Path.UNKNOWN and answer.code is ErrorCode.GROUP_ID_NOT_FOUND:
        # It is a classic group still: a member at an epoch above 0 is nobody's there.
        return _Step(replace(waiting, path=Path.JOINING))
    if state.path is Path.JOINING and answer.code is ErrorCode.FENCED_MEMBER_EPOCH:
        return _Step(replace(waiting, path=Path.SCOUTING))
    stays = _put(state, member_id, replace(member, stage=Stage.STAYS, reason=answer))
    if is_first:
        # What the broker says of the first it would say of all: a policy, user data, a size, or a right.
        stays = replace(stays, path=Path.SHUT, refusal=answer)
    return _Step(stays).then(Keep(member_id))


def _scouted(state: TakeOver, answer: Granted | Refused | None) -> _Step:
    if state.scout is Scout.LEAVING:
        # Should its farewell be lost, the broker ends it by its session.
        return _Step(replace(state, scout=Scout.NONE))
    if isinstance(answer, Granted):
        return _Step(replace(state, scout=Scout.IN, path=Path.SHUT if state.path is Path.SHUT else Path.OPEN))
    away = replace(state, scout=Scout.NONE)
    if isinstance(answer, Refused) and answer.code not in _NOT_NOW:
        return _Step(replace(away, path=Path.SHUT, refusal=answer))
    return _Step(away if state.pilot is None else _unreachable(away, state.pilot))


def _advance(taken: _Step) -> _Step:
    """Ask for whoever's turn it is now."""
    match taken.state.path:
        case Path.SHUT:
            taken = _shut(taken)
        case Path.OPEN:
            taken = _all_that_can(taken)
        case Path.UNKNOWN | Path.JOINING | Path.SCOUTING:
            taken = _pilot(taken)
        case _:
            assert_never(taken.state.path)
    return _dismiss_scout(taken)


def _pilot(taken: _Step) -> _Step:
    """Ask for one member, or send the scout by its connection, and for nobody else before that is answered."""
    state = taken.state
    if state.scout is Scout.JOINING or any(member.stage is Stage.ASKED for member in state.members.values()):
        return taken
    able = {one: member for one, member in state.members.items() if _is_askable(member)}
    if not able:
        return taken
    pilot = state.pilot if state.pilot in able else next(iter(able))
    if state.path is Path.SCOUTING:
        scouting = replace(state, pilot=pilot, scout=Scout.JOINING)
        return _Step(scouting, (*taken.effects, AskScout(pilot, JOIN_EPOCH)))
    epoch = JOIN_EPOCH if state.path is Path.JOINING else able[pilot].generation
    assert epoch is not None, "who can be asked was heard"
    asked = _put(replace(state, pilot=pilot), pilot, replace(able[pilot], stage=Stage.ASKED, asked_epoch=epoch))
    return _Step(asked, (*taken.effects, AskMember(pilot, epoch)))


def _is_askable(member: Member) -> bool:
    return member.stage is Stage.WAITING and member.is_reachable and member.generation is not None


def _all_that_can(taken: _Step) -> _Step:
    asked, effects = dict(taken.state.members), list(taken.effects)
    for member_id, member in taken.state.members.items():
        if _is_askable(member) and member.generation is not None:
            asked[member_id] = replace(member, stage=Stage.ASKED, asked_epoch=member.generation)
            effects.append(AskMember(member_id, member.generation))
    return _Step(replace(taken.state, members=asked), tuple(effects))


def _shut(taken: _Step) -> _Step:
    """Whoever has not been asked for stays; what is on its way is waited for."""
    state = taken.state
    staying = {one: member for one, member in state.members.items() if member.stage is Stage.WAITING}
    stayed = {one: replace(member, stage=Stage.STAYS, reason=state.refusal) for one, member in staying.items()}
    return _Step(replace(state, members={**state.members, **stayed}), (*taken.effects, *map(Keep, staying)))


def _dismiss_scout(taken: _Step) -> _Step:
    """The scout leaves behind the last member: had it left before the first, the group would be classic again."""
    state = taken.state
    if state.scout is not Scout.IN or not all(member.stage in ENDED for member in state.members.values()):
        return taken
    by = next((one for one, member in state.members.items() if member.is_reachable), None)
    if by is None:
        # Nobody can say so: the broker ends it by its session.
        return _Step(replace(state, scout=Scout.NONE), taken.effects)
    return _Step(replace(state, scout=Scout.LEAVING), (*taken.effects, AskScout(by, LEAVE_EPOCH)))
