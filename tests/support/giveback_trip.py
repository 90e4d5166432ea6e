"""A give-back between its machine and a broker's consumer group: what is on its way, and what must hold."""

from dataclasses import dataclass, field, replace

from bridge.migration.moves.giveback import (
    ENDED,
    TRANSITIONS,
    CameToRest,
    Effect,
    Event,
    GiveBack,
    Join,
    Joined,
    Map,
    Stage,
    Sync,
    Synced,
    begin,
    step,
)
from bridge.migration.moves.one_by_one import Drop, GaveUp, Keep, MemberLeft, Stopped, ToldGone
from translators.dialects.classic import JoinGroupReply, SyncGroupReply
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition

EPOCH = 5
"""At which the move knows everybody; what others want moves on from it."""
STOP = Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the operator stopped it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A member at the broker; what is `wanted` of it by others is not assigned to it any more once it joins."""

    assigned: frozenset[TopicPartition]
    epoch: int = EPOCH
    is_classic: bool = False
    wanted: frozenset[TopicPartition] = frozenset()


@dataclass(slots=True, kw_only=True)
class GiveBackTrip:
    """The move, the broker's members, what it refuses all of them, and the requests between them."""

    seats: dict[MemberId, Seat]
    refusal: ErrorCode | None = None
    state: GiveBack = field(init=False)
    flights: list[Join | Sync] = field(default_factory=list)
    uses: dict[MemberId, frozenset[TopicPartition]] = field(init=False)
    away: set[MemberId] = field(default_factory=set)
    told_gone: set[MemberId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.uses = {one: seat.assigned for one, seat in self.seats.items()}
        self.state = begin(dict.fromkeys(self.seats))

    # ------------------------------------------------------------------ what happens

    def rest(self, member_id: MemberId) -> None:
        """Its client is heard while it is at rest."""
        if member_id not in self.away:
            self.happen(CameToRest(member_id, self.uses[member_id], EPOCH))

    def want(self, member_id: MemberId) -> None:
        """A newcomer is to have what the member has; the member hears of it when it asks next."""
        if member_id in self.seats:
            seat = self.seats[member_id]
            self.seats[member_id] = replace(seat, wanted=seat.assigned, epoch=seat.epoch + 1)

    def expire(self, member_id: MemberId) -> None:
        """The broker has not heard of it for a session."""
        self.seats.pop(member_id, None)

    def leave(self, member_id: MemberId) -> None:
        """A client leaves while nothing is on its way for it."""
        if self.state.members[member_id].stage is Stage.WAITING:
            self.away.add(member_id)
            self.seats.pop(member_id, None)
            self.happen(MemberLeft(member_id))

    def tell_gone(self, member_id: MemberId) -> None:
        """The broker has said nothing for a session: the client is told that it is no member, and joins anew."""
        member = self.state.members[member_id]
        if member.was_asked and member.stage not in ENDED:
            self.told_gone.add(member_id)
            self.away.add(member_id)
            self.happen(ToldGone(member_id))

    def stop(self) -> None:
        """The operator stops the move."""
        self.happen(Stopped(STOP))

    def answer(self, index: int) -> None:
        """A request arrives, and so does its answer."""
        flight = self.flights.pop(index)
        self.happen(self._arrive(flight))

    def refuse(self, index: int, code: ErrorCode, has_acted: bool) -> None:
        """The coordinator moves, or is early: it says so, whether or not it has written down what was asked.

        Of a rebalance it tells nobody who is no classic member.
        """
        flight = self.flights.pop(index)
        seat = self.seats.get(flight.member_id)
        is_told = seat is not None and seat.is_classic
        if isinstance(flight, Sync) and not is_told and code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.happen(_said(flight, ErrorCode.UNKNOWN_MEMBER_ID))
            return
        if has_acted:
            self._arrive(flight)
        self.happen(_said(flight, code))

    def lose(self, index: int, has_arrived: bool) -> None:
        """The connection goes, before the request arrived or behind it."""
        flight = self.flights.pop(index)
        if has_arrived:
            self._arrive(flight)
        self.happen(Joined(flight.member_id, None) if isinstance(flight, Join) else Synced(flight.member_id, None))

    def settle(self) -> None:
        """Everything arrives, and every client that is there is heard at rest once more."""
        self._drain()
        for member_id in self.state.members:
            self.rest(member_id)
            self._drain()

    def _drain(self) -> None:
        for _ in range(3 * len(self.state.members) + 2):
            if not self.flights:
                return
            self.answer(0)
        raise AssertionError(f"they ask for ever: {self.state}")

    # ------------------------------------------------------------------ the broker

    def _arrive(self, flight: Join | Sync) -> Joined | Synced:
        seat = self.seats.get(flight.member_id)
        if seat is None:
            return _said(flight, ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(flight, Sync):
            if not seat.is_classic:
                return _said(flight, ErrorCode.UNKNOWN_MEMBER_ID)
            if flight.generation != seat.epoch:
                return _said(flight, ErrorCode.ILLEGAL_GENERATION)
            given = encode_assignment(seat.assigned - seat.wanted)
            return Synced(flight.member_id, SyncGroupReply(error=ErrorCode.NONE, assignment=given))
        if self.refusal is not None:
            return _said(flight, self.refusal)
        self.seats[flight.member_id] = replace(seat, is_classic=True)
        joined = JoinGroupReply(error=ErrorCode.NONE, member_id=flight.member_id, generation=seat.epoch)
        return Joined(flight.member_id, joined)

    # ------------------------------------------------------------------ what must hold

    def happen(self, event: Event) -> None:
        """Let it happen, and check what the move does about it."""
        before = self.state
        self.state, effects = step(before, event)
        for member_id, member in before.members.items():
            is_meant = isinstance(event, Stopped | GaveUp) or event.member_id == member_id
            declared = TRANSITIONS.get((member.stage, type(event))) if is_meant else None
            assert self.state.members[member_id].stage in (declared or {member.stage})
        assert all(self.state.members[one].stage is Stage.GONE for one in self.told_gone)
        for effect in effects:
            self._check(effect)

    def _check(self, effect: Effect) -> None:
        seat = self.seats.get(effect.member_id)
        match effect:
            case Join(member_id) | Sync(member_id):
                # In the rebalance of a classic group a second one would say that its client has let everything go.
                assert isinstance(effect, Sync) or seat is None or not seat.is_classic
                assert member_id not in {one.member_id for one in self.flights}
                self.flights.append(effect)
            case Map(member_id, generation, is_called):
                # Since the answer another may want something, or its session may have ended: the broker says so then.
                assert generation >= 0
                if seat is not None and generation == seat.epoch:
                    assert seat.is_classic
                    assert is_called or seat.assigned - seat.wanted == self.uses[member_id]
            case Keep():
                assert seat is None or not seat.is_classic
            case Drop(member_id):
                assert seat is None or member_id in self.told_gone

    def check_end(self) -> None:
        """Everybody has come to an end, and it is the broker's, too."""
        assert self.state.is_over, self.state
        for member_id, seat in self.seats.items():
            if member_id in self.told_gone:
                # Its broker has it until its session ends there: nobody has beaten for it for one.
                continue
            stage = self.state.members[member_id].stage
            assert stage is not Stage.GONE
            assert seat.is_classic == (stage is not Stage.STAYS)


def _said(flight: Join | Sync, code: ErrorCode) -> Joined | Synced:
    if isinstance(flight, Sync):
        return Synced(flight.member_id, SyncGroupReply(error=code))
    return Joined(flight.member_id, JoinGroupReply(error=code, member_id=flight.member_id))
