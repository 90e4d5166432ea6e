"""Take over: classic members become members of their broker's consumer group, one by one, in place and unnoticed.

A broker makes a consumer group of a classic one for the first member that speaks KIP-848 (the pilot, or on brokers
before 4.2 a scout that wants nothing); every other classic member then switches by a heartbeat under its own id, epoch
and partitions. Measured on Apache Kafka 4.0 to 4.3.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import assert_never

from bridge.migration.moves.one_by_one import UNHEARD, Drop, GaveUp, Keep, MemberLeft, Stopped, ToldGone
from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId, TopicPartition


class Stage(StrEnum):
    """How far one member is."""

    WAITING = auto()
    """Its client works by the classic protocol; nothing is on its way for it."""
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
    LOST = auto()
    """The answer to its joining was lost: it may be in."""
    IN = auto()
    LEAVING = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A classic member at work; `generation`, that of what is `assigned`, may be None until its client was heard."""

    assigned: frozenset[TopicPartition]
    generation: int | None = None
    is_reachable: bool = False
    stage: Stage = Stage.WAITING
    asked_epoch: int | None = None
    """The epoch of its heartbeat that is on its way."""
    may_be_switched: bool = False
    """An answer was lost: until one comes its client's requests are for neither protocol."""
    reason: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """A move under way: its members in the order asked, and how the broker lets them over."""

    members: Mapping[MemberId, Member]
    path: Path = Path.UNKNOWN
    pilot: MemberId | None = None
    scout: Scout = Scout.NONE
    scout_may_be_in: bool = False
    """An answer to its joining was lost, whatever was said to it since."""
    refusal: Refused | None = None
    """Why nobody else is taken over."""

    @property
    def is_over(self) -> bool:
        """Whether every member has come to an end, and the scout has left."""
        return self.scout is Scout.NONE and all(member.stage in ENDED for member in self.members.values())


# ---------------------------------------------------------------------------------------------------- what happens


@dataclass(frozen=True, slots=True)
class Heard:
    """A request of this member came, or it is known by which connection it can be asked.

    One that `has_joined` just now is not what it was before in a generation that is the first heard of it.
    """

    member_id: MemberId
    generation: int
    has_joined: bool = False


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


Event = Heard | Unreachable | Answered | ScoutAnswered | MemberLeft | ToldGone | Stopped | GaveUp


# ------------------------------------------------------------------------------------------------ what is to be done


@dataclass(frozen=True, slots=True)
class AskMember:
    """Send this member's heartbeat by its own connection: in full, at epoch 0 without partitions, else with its own.

    At epoch -1 it is the farewell of a member that is dropped, and its answer tells nothing.
    """

    member_id: MemberId
    epoch: int


@dataclass(frozen=True, slots=True)
class AskScout:
    """Send the scout's heartbeat by this member's connection: at epoch 0 with no topics at all, or its farewell.

    It has one id throughout the move, so that to join again changes nothing if it is in already.
    """

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


Effect = AskMember | AskScout | Take | Keep | Drop
MAY_HAVE_ACTED = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT}
)
"""Refusals that Apache Kafka also gives for what it has written down and could not replicate in time."""
NOT_NOW = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNRELEASED_INSTANCE_ID})
"""What an answer says of the moment and not of the member: it is asked again when it is heard next."""
OTHER_GENERATION = Refused(
    ErrorCode.REBALANCE_IN_PROGRESS, "the group was rebalanced meanwhile: what it has now is not known"
)
GAVE_AWAY = Refused(ErrorCode.UNKNOWN_MEMBER_ID, "the broker gave partitions of it away as it joined")

TRANSITIONS: Mapping[tuple[Stage, type], frozenset[Stage]] = {
    (Stage.WAITING, Heard): frozenset({Stage.WAITING, Stage.ASKED, Stage.STAYS}),
    (Stage.WAITING, Unreachable): frozenset({Stage.WAITING}),
    (Stage.WAITING, Answered): frozenset({Stage.WAITING, Stage.ASKED, Stage.STAYS}),
    (Stage.WAITING, ScoutAnswered): frozenset({Stage.WAITING, Stage.ASKED, Stage.STAYS}),
    (Stage.WAITING, MemberLeft): frozenset({Stage.WAITING, Stage.GONE}),
    (Stage.WAITING, ToldGone): frozenset({Stage.WAITING, Stage.ASKED, Stage.STAYS, Stage.GONE}),
    (Stage.WAITING, Stopped): frozenset({Stage.WAITING, Stage.STAYS}),
    (Stage.WAITING, GaveUp): frozenset({Stage.GONE}),
    (Stage.ASKED, Heard): frozenset({Stage.ASKED}),
    (Stage.ASKED, Unreachable): frozenset({Stage.ASKED}),
    (Stage.ASKED, Answered): frozenset({Stage.WAITING, Stage.ASKED, Stage.TAKEN, Stage.STAYS, Stage.GONE}),
    (Stage.ASKED, ScoutAnswered): frozenset({Stage.ASKED}),
    (Stage.ASKED, MemberLeft): frozenset({Stage.ASKED}),
    (Stage.ASKED, ToldGone): frozenset({Stage.ASKED, Stage.GONE}),
    (Stage.ASKED, Stopped): frozenset({Stage.ASKED}),
    (Stage.ASKED, GaveUp): frozenset({Stage.GONE}),
}
"""What may become of one member when something happens, to it or to another; an end is for good."""


@dataclass(frozen=True, slots=True)
class _Step:
    state: TakeOver
    effects: tuple[Effect, ...] = ()
    last: tuple[Effect, ...] = ()
    """What is done behind everything else."""


def begin(
    members: Mapping[MemberId, frozenset[TopicPartition]],
    unsure: Collection[MemberId] = frozenset(),
    generations: Mapping[MemberId, int] | None = None,
) -> TakeOver:
    """A move of these members, who own what is said, in the generation that is said, None where that is not known; for
    the `unsure` an earlier move asked that was cut off, and its scout may be in.
    """
    known = generations or {}
    return TakeOver(
        members={
            one: Member(assigned=assigned, generation=known.get(one), may_be_switched=one in unsure)
            for one, assigned in members.items()
        },
        scout=Scout.LOST if unsure else Scout.NONE,
        scout_may_be_in=bool(unsure),
    )


def step(state: TakeOver, event: Event) -> tuple[TakeOver, tuple[Effect, ...]]:
    """What a move is after something happened, and what is to be done for it now, in order.

    Invariants: a member is asked for at most once at a time, and never before it was heard; until the group is known to
    be a consumer group nobody is asked for but the pilot, and who may be switched already.
    """
    match event:
        case Heard(member_id, generation, has_joined):
            after = _advance(_heard(state, member_id, generation, has_joined=has_joined))
        case Unreachable(member_id):
            after = _Step(_unreachable(state, member_id))
        case Answered(member_id, answer):
            after = _advance(_answered(state, member_id, answer))
        case ScoutAnswered(answer):
            after = _advance(_scouted(state, answer))
        case MemberLeft(member_id):
            after = _advance(_left(state, member_id))
        case ToldGone(member_id, reason):
            after = _advance(_told_gone(state, member_id, reason))
        case Stopped(reason):
            after = _advance(_Step(replace(state, path=Path.SHUT, refusal=state.refusal or reason)))
        case GaveUp():
            after = _gave_up(state)
        case _:
            assert_never(event)
    return after.state, after.effects + after.last


def _gave_up(state: TakeOver) -> _Step:
    """Its client joins anew: its broker has ended it by its session, or does so soon; so it does the scout."""
    late = {one: member for one, member in state.members.items() if member.stage not in ENDED}
    gone = {one: replace(member, stage=Stage.GONE, reason=UNHEARD) for one, member in late.items()}
    shut = replace(state, members={**state.members, **gone}, path=Path.SHUT, scout=Scout.NONE)
    return _Step(replace(shut, refusal=state.refusal or UNHEARD), tuple(map(Drop, late)))


def _put(state: TakeOver, member_id: MemberId, member: Member) -> TakeOver:
    return replace(state, members={**state.members, member_id: member})


def _heard(state: TakeOver, member_id: MemberId, generation: int, *, has_joined: bool) -> _Step:
    member = state.members.get(member_id)
    if member is None:
        return _Step(state)
    if member.stage in ENDED:
        # By its connection the scout can still be sent away.
        return _Step(_put(state, member_id, replace(member, is_reachable=True)))
    is_first = member.generation is None and not has_joined
    if is_first or generation == member.generation:
        return _Step(_put(state, member_id, replace(member, generation=generation, is_reachable=True)))
    if member.generation is not None and (generation < member.generation or member.stage is Stage.ASKED):
        # A request of an older generation that was long on its way; or one that overtook the answer, which decides.
        return _Step(state)
    # It has joined by the broker since, so it is a classic member there, whatever was asked for it before.
    stays = replace(member, generation=generation, is_reachable=True, stage=Stage.STAYS, reason=OTHER_GENERATION)
    return _Step(_put(state, member_id, stays), (Keep(member_id),))


def _unreachable(state: TakeOver, member_id: MemberId) -> TakeOver:
    member = state.members.get(member_id)
    return state if member is None else _put(state, member_id, replace(member, is_reachable=False))


def _left(state: TakeOver, member_id: MemberId) -> _Step:
    member = state.members.get(member_id)
    if member is None or member.stage is not Stage.WAITING:
        return _Step(state)
    return _Step(_put(state, member_id, replace(member, stage=Stage.GONE)))


def _told_gone(state: TakeOver, member_id: MemberId, reason: Refused) -> _Step:
    """Behind what is on its way for it goes a farewell: its broker may take that up at any time."""
    member = state.members.get(member_id)
    if member is None or member.stage in ENDED:
        return _Step(state)
    return _drop(_unpiloted(state, member), member_id, reason)


def _answered(state: TakeOver, member_id: MemberId, answer: Granted | Refused | None) -> _Step:
    member = state.members.get(member_id)
    if member is None or member.stage is not Stage.ASKED:
        return _Step(state)
    match answer:
        case Granted(member_epoch=epoch, assigned=assigned):
            return _granted(state, member_id, epoch, assigned)
        case Refused(code=ErrorCode.UNKNOWN_MEMBER_ID):
            gone = replace(member, stage=Stage.GONE, reason=answer)
            return _Step(_put(_unpiloted(state, member), member_id, gone), (Drop(member_id),))
        case Refused(code=code) if code not in MAY_HAVE_ACTED:
            return _refused(state, member_id, answer)
        case None | Refused():
            # Whether it was switched shows when it is asked again: the same epoch with the same partitions is 0 then.
            lost = replace(member, may_be_switched=True)
            return _Step(_put(_unpiloted(state, member), member_id, _asked_later(lost)))
        case _:
            assert_never(answer)


def _asked_later(member: Member) -> Member:
    """Asked again when it is heard next."""
    return replace(member, stage=Stage.WAITING, asked_epoch=None, is_reachable=False)


def _unpiloted(state: TakeOver, member: Member) -> TakeOver:
    """The next one finds out whether the group was converted, if it was this one's to do so."""
    if state.path is Path.JOINING and member.asked_epoch == JOIN_EPOCH:
        return replace(state, path=Path.UNKNOWN)
    return state


def _granted(state: TakeOver, member_id: MemberId, epoch: int, assigned: frozenset[TopicPartition] | None) -> _Step:
    member = state.members[member_id]
    opened = replace(state, path=Path.SHUT if state.path is Path.SHUT else Path.OPEN)
    was_joining = member.asked_epoch == JOIN_EPOCH
    if was_joining and assigned is not None and not member.assigned <= assigned:
        # At epoch 0 it owns nothing, so what is missing may be another's this very moment: two would read it.
        return _drop(opened, member_id, GAVE_AWAY)
    return _Step(_put(opened, member_id, replace(member, stage=Stage.TAKEN)), (Take(member_id, epoch, assigned),))


def _drop(state: TakeOver, member_id: MemberId, reason: Refused) -> _Step:
    """Its client joins anew; what the broker still holds for it would be nobody's for a whole session."""
    member = state.members[member_id]
    farewell = (AskMember(member_id, LEAVE_EPOCH),) if member.is_reachable else ()
    gone = _put(state, member_id, replace(member, stage=Stage.GONE, reason=reason))
    return _Step(gone, last=(*farewell, Drop(member_id)))


def _refused(state: TakeOver, member_id: MemberId, answer: Refused) -> _Step:
    member = state.members[member_id]
    was_joining = member.asked_epoch == JOIN_EPOCH
    waiting = replace(member, stage=Stage.WAITING, asked_epoch=None)
    if answer.code in NOT_NOW:
        # To be asked at once again would be to ask as fast as the network goes.
        return _Step(_put(_unpiloted(state, member), member_id, _asked_later(member)))
    is_classic = answer.code is ErrorCode.GROUP_ID_NOT_FOUND and not was_joining
    if is_classic and (member.may_be_switched or state.path in (Path.UNKNOWN, Path.JOINING, Path.SCOUTING)):
        # In a classic group a member at an epoch above 0 is nobody's, so it was not switched either.
        path = Path.JOINING if state.path is Path.UNKNOWN else state.path
        return _Step(replace(_put(state, member_id, replace(waiting, may_be_switched=False)), path=path))
    if answer.code is ErrorCode.FENCED_MEMBER_EPOCH and (was_joining or member.may_be_switched):
        return _fenced(state, member_id, answer)
    if answer.code is ErrorCode.FENCED_MEMBER_EPOCH and state.path is Path.UNKNOWN:
        # It is a consumer group, in which this member alone is at another epoch than its client knows.
        state = replace(state, path=Path.OPEN)
    stays = _put(state, member_id, replace(waiting, stage=Stage.STAYS, reason=answer))
    if state.path in (Path.UNKNOWN, Path.JOINING):
        # What the broker says of the first it would say of all: a policy, user data, a size, or a right. Of one whose
        # answer was lost it said so then, too: the request was the same.
        stays = replace(stays, path=Path.SHUT, refusal=answer)
    return _Step(stays, (Keep(member_id),))


def _fenced(state: TakeOver, member_id: MemberId, answer: Refused) -> _Step:
    """The answer was 110 to a member at epoch 0, or to one that may be switched."""
    member = state.members[member_id]
    if member.asked_epoch != JOIN_EPOCH:
        # It is in a consumer group, and its epoch has moved on. At epoch 0 it gets what it has (4.2 and newer).
        opened = replace(state, path=Path.OPEN if state.path is not Path.SHUT else Path.SHUT)
        if not member.is_reachable:
            return _Step(_put(opened, member_id, _asked_later(member)))
        asked = _put(opened, member_id, replace(member, asked_epoch=JOIN_EPOCH))
        return _Step(asked, (AskMember(member_id, JOIN_EPOCH),))
    if member.may_be_switched:
        # Before 4.2: it can't be found out any more under which epoch the broker has it.
        return _drop(state, member_id, answer)
    if state.path is Path.SHUT:
        return _Step(_put(state, member_id, replace(member, stage=Stage.STAYS, reason=answer)), (Keep(member_id),))
    path = Path.OPEN if state.path is Path.OPEN else Path.SCOUTING
    waiting = replace(member, stage=Stage.WAITING, asked_epoch=None)
    return _Step(replace(_put(state, member_id, waiting), path=path))


def _scouted(state: TakeOver, answer: Granted | Refused | None) -> _Step:
    is_lost = answer is None or (isinstance(answer, Refused) and answer.code in MAY_HAVE_ACTED)
    if state.scout is Scout.LEAVING:
        # A farewell that was lost is said again by another connection, as long as there is one.
        if is_lost or (isinstance(answer, Refused) and answer.code in NOT_NOW):
            return _Step(_without_pilot(replace(state, scout=Scout.IN)))
        return _Step(replace(state, scout=Scout.NONE))
    if state.scout is not Scout.JOINING:
        return _Step(state)
    if isinstance(answer, Granted):
        return _Step(replace(state, scout=Scout.IN, path=Path.SHUT if state.path is Path.SHUT else Path.OPEN))
    if is_lost:
        return _Step(_without_pilot(replace(state, scout=Scout.LOST, scout_may_be_in=True)))
    away = replace(state, scout=Scout.LOST if state.scout_may_be_in else Scout.NONE)
    if isinstance(answer, Refused) and answer.code not in NOT_NOW:
        return _Step(replace(away, path=Path.SHUT, refusal=state.refusal or answer))
    return _Step(_without_pilot(away))


def _without_pilot(state: TakeOver) -> TakeOver:
    """Its connection answers nothing now: another's is tried, or the next one of its own."""
    return state if state.pilot is None else _unreachable(state, state.pilot)


def _advance(taken: _Step) -> _Step:
    """Ask for whoever's turn it is now."""
    taken = _ask(taken, _askable(taken.state, unsure_only=True))
    match taken.state.path:
        case Path.SHUT:
            taken = _shut(taken)
        case Path.OPEN:
            taken = _ask(taken, _askable(taken.state, unsure_only=False))
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
    able = _askable(state, unsure_only=False)
    if not able:
        return taken
    pilot = state.pilot if state.pilot in able else next(iter(able))
    if state.path is Path.SCOUTING:
        scouting = replace(state, pilot=pilot, scout=Scout.JOINING)
        return replace(taken, state=scouting, effects=(*taken.effects, AskScout(pilot, JOIN_EPOCH)))
    epoch = JOIN_EPOCH if state.path is Path.JOINING else _known_epoch(able[pilot])
    asked = _put(replace(state, pilot=pilot), pilot, replace(able[pilot], stage=Stage.ASKED, asked_epoch=epoch))
    return replace(taken, state=asked, effects=(*taken.effects, AskMember(pilot, epoch)))


def _askable(state: TakeOver, *, unsure_only: bool) -> dict[MemberId, Member]:
    """Who can be asked for now: all, or only those whose last answer was lost."""
    return {
        one: member
        for one, member in state.members.items()
        if member.stage is Stage.WAITING and member.is_reachable and (member.may_be_switched or not unsure_only)
    }


def _ask(taken: _Step, members: Mapping[MemberId, Member]) -> _Step:
    """Ask for these members, each under its own epoch: to a classic group that means nothing."""
    if not members:
        return taken
    asked, effects = dict(taken.state.members), list(taken.effects)
    for member_id, member in members.items():
        epoch = _known_epoch(member)
        asked[member_id] = replace(member, stage=Stage.ASKED, asked_epoch=epoch)
        effects.append(AskMember(member_id, epoch))
    return replace(taken, state=replace(taken.state, members=asked), effects=tuple(effects))


def _known_epoch(member: Member) -> int:
    assert member.generation is not None, "who is reachable was heard"
    return member.generation


def _shut(taken: _Step) -> _Step:
    """Whoever certainly was not switched stays; what is on its way, or may have arrived, is waited for."""
    state = taken.state
    is_in = state.scout in (Scout.IN, Scout.LOST)
    if state.scout is Scout.JOINING or (is_in and not any(one.is_reachable for one in state.members.values())):
        # Somebody has to send it away: the move is over for nobody before one is heard who can.
        return taken
    staying = {
        one: replace(member, stage=Stage.STAYS, reason=state.refusal)
        for one, member in state.members.items()
        if member.stage is Stage.WAITING and not member.may_be_switched
    }
    kept = replace(state, members={**state.members, **staying})
    return replace(taken, state=kept, effects=(*taken.effects, *map(Keep, staying)))


def _dismiss_scout(taken: _Step) -> _Step:
    """The scout leaves behind the last member: had it left before the first, the group would be classic again."""
    state = taken.state
    is_in = state.scout in (Scout.IN, Scout.LOST)
    if not is_in or not all(member.stage in ENDED for member in state.members.values()):
        return taken
    by = next((one for one, member in state.members.items() if member.is_reachable), None)
    if by is None:
        # Nobody can say so: the broker ends it by its session.
        return replace(taken, state=replace(state, scout=Scout.NONE))
    leaving = replace(state, scout=Scout.LEAVING, pilot=by)
    return replace(taken, state=leaving, last=(*taken.last, AskScout(by, LEAVE_EPOCH)))
