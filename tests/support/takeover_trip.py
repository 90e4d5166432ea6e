"""A take-over between its machine and a broker: what is on its way, whose connection is there, and what must hold."""

from dataclasses import dataclass, field

from bridge.migration.moves.one_by_one import Drop, Keep, MemberLeft, Stopped, ToldGone
from bridge.migration.moves.takeover import (
    ENDED,
    TRANSITIONS,
    Answered,
    AskMember,
    AskScout,
    Effect,
    Event,
    Heard,
    Path,
    Scout,
    ScoutAnswered,
    Stage,
    Take,
    TakeOver,
    Unreachable,
    begin,
    step,
)
from tests.support.switching_broker import GENERATION, Release, SwitchingBroker
from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId

SCOUT = MemberId("scout")
STOP = Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the operator stopped it")


@dataclass(slots=True)
class TakeOverTrip:
    """The move, the broker, and the heartbeats between them; every effect is checked as it comes."""

    broker: SwitchingBroker
    state: TakeOver
    flights: list[AskMember | AskScout] = field(default_factory=list)
    heard: set[MemberId] = field(default_factory=set)
    away: set[MemberId] = field(default_factory=set)
    told_gone: set[MemberId] = field(default_factory=set)

    @classmethod
    def of(cls, broker: SwitchingBroker) -> "TakeOverTrip":
        """All members of a broker's group are to be taken over; where it is a consumer group they may have been."""
        unsure = frozenset(broker.members) if broker.is_consumer_group else frozenset[MemberId]()
        return cls(broker, begin({one: member.assigned for one, member in broker.members.items()}, unsure))

    # ------------------------------------------------------------------ what happens

    def hear(self, member_id: MemberId) -> None:
        """A heartbeat of the client came."""
        self.heard.add(member_id)
        self.happen(Heard(member_id, GENERATION))

    def stop(self) -> None:
        """The operator stops the move."""
        self.happen(Stopped(STOP))

    def leave(self, member_id: MemberId) -> None:
        """A client leaves while nothing is on its way for it: its LeaveGroup goes to the broker."""
        if self.state.members[member_id].stage is Stage.WAITING:
            self.away.add(member_id)
            self.broker.leave(member_id)
            self.happen(MemberLeft(member_id))

    def tell_gone(self, member_id: MemberId) -> None:
        """The broker has said nothing for a session: the client is told that it is no member, and joins anew."""
        if self.state.members[member_id].stage not in ENDED:
            self.told_gone.add(member_id)
            self.away.add(member_id)
            self.happen(ToldGone(member_id))

    def answer(self, index: int) -> None:
        """A heartbeat arrives, and so does its answer."""
        flight = self._pop(index)
        self._tell(flight, self._arrive(flight))

    def refuse(self, index: int, code: ErrorCode, has_acted: bool) -> None:
        """The coordinator moves: it says so, whether or not it has written down what was asked."""
        flight = self._pop(index)
        if has_acted:
            self._arrive(flight)
        self._tell(flight, Refused(code))

    def lose(self, index: int, has_arrived: bool, is_known_first: bool) -> None:
        """The connection goes, before the heartbeat arrived or behind it; either is noticed first."""
        flight = self._pop(index)
        if has_arrived:
            self._arrive(flight)
        by = _sender(flight)
        if is_known_first:
            self.happen(Unreachable(by))
        self._tell(flight, None)
        if not is_known_first:
            self.happen(Unreachable(by))

    def _pop(self, index: int) -> AskMember | AskScout:
        """By one connection what was sent first arrives first: a farewell behind what it takes back."""
        by = _sender(self.flights[index])
        return self.flights.pop(next(at for at, one in enumerate(self.flights) if _sender(one) == by))

    def settle(self) -> None:
        """Everything arrives, and every client that is there is heard once more."""
        self._drain()
        for member_id in self.state.members:
            if member_id not in self.away:
                self.hear(member_id)
                self._drain()

    def _drain(self) -> None:
        for _ in range(10 * len(self.state.members) + 10):
            if not self.flights:
                return
            self.answer(0)
        raise AssertionError(f"they ask for ever: {self.state}")

    def _arrive(self, flight: AskMember | AskScout) -> Granted | Refused:
        member_id = SCOUT if isinstance(flight, AskScout) else flight.member_id
        return self.broker.heartbeat(member_id, flight.epoch)

    def _tell(self, flight: AskMember | AskScout, answer: Granted | Refused | None) -> None:
        if isinstance(flight, AskScout):
            self.happen(ScoutAnswered(answer))
        else:
            self.happen(Answered(flight.member_id, answer))

    # ------------------------------------------------------------------ what must hold

    def happen(self, event: Event) -> None:
        """Let it happen, and check what the move does about it."""
        before = self.state
        self.state, effects = step(before, event)
        for member_id, member in before.members.items():
            stage, after = member.stage, self.state.members[member_id].stage
            allowed = frozenset({stage}) if stage in ENDED else TRANSITIONS[stage, type(event)]
            assert after in allowed, (member_id, stage, after, event)
        for effect in effects:
            self._check(effect)
        assert all(self.state.members[one].stage is Stage.GONE for one in self.told_gone)
        if before.scout is not Scout.NONE and self.state.scout is Scout.NONE and SCOUT in self.broker.members:
            assert not any(member.is_reachable for member in self.state.members.values())
            assert not any(member.stage is Stage.WAITING for member in self.state.members.values())
        if isinstance(event, Stopped):
            assert not [one for one in effects if isinstance(one, AskMember | AskScout) and one.epoch == JOIN_EPOCH]
        if self.state.path not in (Path.OPEN, Path.SHUT):
            assert len(self._pilots()) <= 1

    def _pilots(self) -> list[AskMember | AskScout]:
        """Those on their way that nobody but a pilot may be."""
        return [
            one
            for one in self.flights
            if isinstance(one, AskScout)
            or not (self.state.members[one.member_id].may_be_switched or one.member_id in self.told_gone)
        ]

    def _check(self, effect: Effect) -> None:
        match effect:
            case AskMember(member_id, epoch):
                assert member_id in self.heard
                on_their_way = {one.member_id for one in self.flights if isinstance(one, AskMember)}
                assert member_id not in on_their_way or (epoch == LEAVE_EPOCH and member_id in self.told_gone)
                assert epoch in (JOIN_EPOCH, LEAVE_EPOCH, GENERATION)
                self.flights.append(effect)
            case AskScout(by, epoch):
                assert by in self.heard
                assert not [one for one in self.flights if isinstance(one, AskScout)]
                if epoch == LEAVE_EPOCH:
                    assert all(member.stage in ENDED for member in self.state.members.values())
                self.flights.append(effect)
            case Take(member_id, epoch):
                member = self.broker.members[member_id]
                assert not member.is_classic
                assert epoch in (member.epoch, member.previous)
            case Keep(member_id):
                assert member_id not in self.broker.members or self.broker.members[member_id].is_classic
            case Drop(member_id):
                assert member_id in self.told_gone or not self._is_whole(member_id)

    def _is_whole(self, member_id: MemberId) -> bool:
        """Whether the broker holds a member with all that it has, and can be made to say so."""
        member = self.broker.members.get(member_id)
        if member is None or not self.state.members[member_id].assigned <= member.assigned:
            return False
        return self.broker.release is Release.V4_3 or GENERATION in (member.epoch, member.previous)

    def check_end(self) -> None:
        """Everybody has come to an end, and it is the broker's, too."""
        assert self.state.is_over, self.state
        for member_id, member in self.state.members.items():
            at_broker = self.broker.members.get(member_id)
            if member_id in self.away or at_broker is None:
                continue
            assert member.stage in (Stage.TAKEN, Stage.STAYS) or not self._is_whole(member_id)
            assert member.stage is Stage.GONE or at_broker.is_classic == (member.stage is Stage.STAYS)


def _sender(flight: AskMember | AskScout) -> MemberId:
    return flight.by if isinstance(flight, AskScout) else flight.member_id
