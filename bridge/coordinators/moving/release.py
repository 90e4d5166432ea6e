"""A release while it is made: the engine's word on its members, a round at the broker, and the mapping of everybody."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, assert_never

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.handover import Handover, Restless
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.course import course
from bridge.coordinators.moving.descriptions import describe
from bridge.coordinators.moving.engine_members import REST_S, member_of, restless, unconvertible
from bridge.coordinators.moving.held_requests import HeldRequest, HeldRequests, HeldT
from bridge.coordinators.moving.survey import SHARE_OF_SESSION
from bridge.coordinators.rounds import Lines, leave_seats, play
from bridge.engine.outcome import Converted
from bridge.migration.moves.release import (
    AwaitLapse,
    AwaitRest,
    CameToRest,
    FirstSeatTaken,
    HandedOver,
    HandOver,
    Kept,
    Lapsed,
    PlayAll,
    Released,
    ReleaseEffect,
    ReleaseEvent,
    ReleaseState,
    ReleaseStep,
    RoundEnded,
    TakeFirstSeat,
    Withdraw,
    WithdrawalUnanswered,
    Withdrawn,
    begin,
    resume,
    step,
)
from bridge.migration.moves.round_values import Failed, Played, Round, RoundFailure, RoundPlayer
from bridge.migration.orders import MemberStage, Obstacle
from bridge.ports import Broker, BrokerUnreachable, Clock, Coordinators
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer_protocol import encode_assignment, version_of
from translators.dialects.coordinator import ClassicSeat, Refused
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

FIRST_SEAT_MS = 15_000
"""How long the first member may wait at the broker: longer than its `group.initial.rebalance.delay.ms`."""
LAPSE_MAX_MS = 120_000
"""For so long a release waits, once, for the broker to forget an id that holds its rounds up: longer than the session
of almost any client; of a longer one an operator is told, and orders the move again.
"""
LAPSE_MARGIN_MS = 1_000
"""What is waited beyond that session, which the broker counts by its own clock."""
LOOK_S = 0.01
LOOK_MAX_S = 0.16
"""How often it is looked whether the group rests, at first and in the end: meanwhile its commits wait, and a look costs
all its members.
"""
AGAIN_S = 0.25
"""How soon a farewell is said again that was not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasing(Generic[HeldT]):
    """Who is asked on the way from the engine to the broker.

    `to_engine` lets a request go to the bridge's own groups, `excuse` answers one that has waited too long; `note`
    hears how far a member has come, with what its client sees of it; `tell` what is waited for, and () when that is
    over; `write` puts down where mapped members are.
    """

    to_engine: Callable[[HeldT], None]
    excuse: Callable[[HeldT], None]
    note: Callable[[MemberId, MemberStage, str], None]
    tell: Callable[[tuple[Obstacle, ...]], None]
    write: Callable[[GroupId], None]
    embedded: EmbeddedGroups
    mapped: MappedGroups
    broker: Broker
    coordinators: Coordinators
    clock: Clock


class ReleaseMove(Generic[HeldT]):
    """A group on its way from the engine to its broker (`groups.Underway`)."""

    def __init__(self, around: Releasing[HeldT], group_id: GroupId, hold_ms: int) -> None:
        self._around = around
        self._group_id = group_id
        self._hold_ms = hold_ms
        self._waiting = HeldRequests(around.excuse)
        self._holds: Callable[[HeldRequest], bool] = self._is_commit_or_newcomer
        self._stopped: Obstacle | None = None
        self._was_stopped = trio.Event()
        self._seats: tuple[ClassicSeat, ...] = ()
        self._first: ClassicSeat | None = None
        self._generation = -1
        self._ids: dict[MemberId, MemberId] = {}
        self._lines = Lines(around.coordinators, group_id)
        self.state: ReleaseState = begin().state

    # ------------------------------------------------------------------ what comes meanwhile

    def take(self, held: HeldT) -> None:
        """See `groups.Underway`."""
        if self._holds(held):
            self._waiting.keep(held)
        else:
            self._around.to_engine(held)

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`: the engine keeps its members' sessions."""
        self._waiting.forget(connection)

    def excuse(self, before_ms: int) -> None:
        """As every move (`resting.RestingGroup`); who joined since the order may have a shorter session than its bound
        was made for.
        """
        self._waiting.excuse(max(before_ms, self._around.clock.now_ms() - self._hold_ms))

    def stop(self, reason: Refused) -> None:
        """Stopped by an operator: what the journal has of it already goes on to its end."""
        self._stopped = Obstacle("EB-MOVE-231", f"the move was stopped: {reason.reason}", "order it again")
        self._was_stopped.set()

    def take_joins(self) -> list[HeldT]:
        """Everything that waited, for whoever lets it go."""
        return self._waiting.take()

    def _is_commit_or_newcomer(self, held: HeldRequest) -> bool:
        """A commit without a member counts in an empty group only, and a newcomer moves the group; a member that was
        called has to join for the group to come to rest.
        """
        request = held.request
        if isinstance(request, JoinGroup):
            return not self._around.embedded.has_member(self._group_id, request.member_id)
        return isinstance(request, (OffsetCommit, TxnOffsetCommit))

    # ------------------------------------------------------------------ its course

    async def make(self) -> None:
        """Go on until the group is released or kept."""
        await self._run(begin())

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to be done."""
        return isinstance(self.state, Released | Kept)

    async def go_on(self) -> None:
        """The same after a restart, or after a failure on the way; where the engine has forgotten the group already,
        everything else was written before that.
        """
        if not self._around.embedded.holds(self._group_id):
            self.state = Released()
            self._tell_of_members()
            return
        await self._run(resume(self._around.clock.now_ms()))

    async def _run(self, taken: ReleaseStep) -> None:
        try:
            async for state in course(taken, step, self._carry_out, self._around.clock.now_ms):
                self.state = state
        finally:
            self._lines.close()
            self._lines.give_back()
        self._tell_of_members()

    def _tell_of_members(self) -> None:
        moved = isinstance(self.state, Released)
        detail = "" if not isinstance(self.state, Kept) else self.state.reason.sentence
        for seat in self._seats:
            self._around.note(seat.member_id, MemberStage.MOVED if moved else MemberStage.STAYS, detail)

    async def _carry_out(self, effect: ReleaseEffect) -> ReleaseEvent:
        match effect:
            case AwaitRest(holds_all=False):
                self._holds = self._is_commit_or_newcomer
                return CameToRest(await self._come_to_rest())
            case AwaitRest():
                return CameToRest(self._stopped or await self._settle())
            case TakeFirstSeat():
                return FirstSeatTaken(self._stopped) if self._stopped else await self._take_first_seat()
            case PlayAll():
                return await self._play_all()
            case HandOver():
                return await self._hand_over()
            case Withdraw():
                return await self._withdraw()
            case AwaitLapse(lapse_ms):
                return Lapsed(await self._await_lapse(lapse_ms))
            case _:
                assert_never(effect)

    async def _come_to_rest(self) -> Obstacle | None:
        obstacle = await self._read(REST_S)
        # One for each, and that by which the first takes its seat.
        return obstacle or self._lines.reserve(len(self._seats) + 1) or await self._find_foreign()

    async def _settle(self) -> Obstacle | None:
        """Commits may have waited long by now: what comes from here on waits for the round only."""
        self._holds = _is_any
        obstacle = await self._read(self._hold_ms / 1000)
        if obstacle is None and self._first is not None:
            here = {seat.member_id for seat in self._seats}
            if self._first.member_id not in here:
                left = self._first.member_id
                return Obstacle("EB-MOVE-232", f"{quote(left)} left in the middle", "order the move again", left)
        return obstacle

    async def _read(self, within_s: float) -> Obstacle | None:
        """Every member's seat, once all is at rest."""
        what, pause_s = "", LOOK_S
        with trio.move_on_after(within_s):
            while self._stopped is None:
                found = self._around.embedded.read_handover(self._group_id)
                if isinstance(found, Handover):
                    self._seats = found.seats
                    # Somebody may have joined, while it was waited, whose session is shorter than all.
                    shortest_ms = min((seat.session_timeout_ms for seat in found.seats), default=self._hold_ms)
                    self._hold_ms = min(self._hold_ms, shortest_ms // SHARE_OF_SESSION)
                    return None if found.seats else _nobody(self._group_id)
                if not isinstance(found, Restless):
                    return unconvertible(found)
                what = found.what
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, LOOK_MAX_S)
            return self._stopped
        return restless(self._group_id, what)

    async def _find_foreign(self) -> Obstacle | None:
        try:
            described = await describe(self._around.broker, self._group_id)
        except BrokerUnreachable as problem:
            return _unreachable(problem)
        if not described.members:
            return None
        return Obstacle(
            "EB-MOVE-235",
            f"the broker has {counted(len(described.members), 'member')} in {quote(self._group_id)} by another way than"
            " the bridge",
            "stop them, or let them use the bridge, too",
        )

    # ------------------------------------------------------------------ rounds

    async def _take_first_seat(self) -> FirstSeatTaken:
        """The broker makes it wait for the group's initial delay, in which connections for all can be opened: from then
        on requests wait, and not commits alone.
        """
        first = self._first = self._seats[0]
        opened = trio.Event()

        async def open_ahead() -> None:
            await self._lines.open([seat.member_id for seat in self._seats])
            opened.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_ahead)
            obstacle, lapse_ms = await self._play((self._player(first),), FIRST_SEAT_MS)
            if obstacle is None:
                # Nobody beats for it until the round, in which whoever has no connection by then gets one.
                with trio.move_on_after(self._hold_ms / 1000):
                    await opened.wait()
            nursery.cancel_scope.cancel()
        return FirstSeatTaken(obstacle, lapse_ms)

    async def _play_all(self) -> RoundEnded:
        for seat in self._seats:
            self._around.note(seat.member_id, MemberStage.MOVING, "")
        seated = sorted(self._seats, key=lambda seat: seat.member_id not in self._ids)
        players = tuple(self._player(seat) for seat in seated)
        return RoundEnded(*await self._play(players, self._hold_ms, self._lines))

    async def _play(
        self, players: tuple[RoundPlayer, ...], within_ms: int, ahead: Lines | None = None
    ) -> tuple[Obstacle | None, int | None]:
        """Why it was not played; and how long the broker may take to forget an id that held it up."""
        around = self._around
        deadline_ms = around.clock.now_ms() + within_ms
        played = Round(group_id=self._group_id, players=players, deadline_ms=deadline_ms, generation=self._generation)
        ended = await play(around.coordinators, around.clock, played, ahead)
        self._ids.update({one: broker_id for one, broker_id in ended.ids.items() if broker_id})
        if isinstance(ended, Played):
            self._generation = ended.generation
            return None, None
        if ended.failure is not RoundFailure.OUT_OF_TIME:
            return _failed(self._group_id, ended), None
        lapse_ms = max(seat.session_timeout_ms for seat in self._seats) + LAPSE_MARGIN_MS
        obstacle = _waited_in_vain(self._group_id, len(players), within_ms)
        return obstacle, lapse_ms if lapse_ms <= LAPSE_MAX_MS else None

    async def _await_lapse(self, lapse_ms: int) -> Obstacle | None:
        """The seats are given up, and the group is the bridge's meanwhile as it ever was: nobody's request waits."""
        self._ids, self._first, self._generation = {}, None, -1
        self._holds = _is_none
        for held in self._waiting.take():
            self._around.to_engine(held)
        self._around.tell((_held_up(self._group_id, lapse_ms),))
        with trio.move_on_after(lapse_ms / 1000):
            await self._was_stopped.wait()
        self._around.tell(())
        return self._stopped

    def _player(self, seat: ClassicSeat) -> RoundPlayer:
        """The seat with what its client has; written in the version of the newest words that it offers."""
        version = max((version_of(one.metadata) for one in seat.protocols), default=0)
        return RoundPlayer(
            member_id=seat.member_id,
            client_id=seat.identity.client_id,
            broker_id=self._ids.get(seat.member_id, NO_MEMBER_ID),
            instance_id=seat.instance_id,
            protocols=seat.protocols,
            session_timeout_ms=seat.session_timeout_ms,
            rebalance_timeout_ms=seat.rebalance_timeout_ms,
            owned=seat.using,
            give=encode_assignment(seat.using, version),
        )

    # ------------------------------------------------------------------ its ends

    async def _hand_over(self) -> ReleaseEvent:
        """The mapping is written before the engine forgets: a bridge that is killed in between withdraws."""
        around = self._around
        for seat in self._seats:
            around.mapped.put(
                self._group_id,
                MappedSeat(
                    member_id=seat.member_id,
                    generation=seat.generation,
                    seat_id=self._ids[seat.member_id],
                    seat_generation=self._generation,
                    member=member_of(seat),
                ),
            )
        around.write(self._group_id)
        given_up = await around.embedded.give_up(self._group_id)
        # Two coordinators would have it: the broker by its seats, and the engine until its sessions end.
        is_left = not isinstance(given_up, Converted) and around.embedded.holds(self._group_id)
        return HandedOver(_not_given_up(self._group_id) if is_left else None)

    async def _withdraw(self) -> ReleaseEvent:
        """After a restart the ids of the seats are not known: whoever the broker has was seated by this bridge."""
        around, group_id = self._around, self._group_id
        # However it ends the group is the bridge's: a member that stayed mapped would go on at the broker, and the
        # engine give what it has to others. Its heartbeats count here, also while the broker can't be reached.
        for member_id in tuple(around.mapped.seats_of(group_id)):
            around.mapped.take_out(group_id, member_id)
        self._holds = self._is_commit_or_newcomer
        try:
            described = await describe(around.broker, group_id)
        except BrokerUnreachable:
            await trio.sleep(AGAIN_S)
            return WithdrawalUnanswered()
        ours = set(self._ids.values())
        there = [one.member_id for one in described.members] if isinstance(described, DescribedGroup) else []
        left = await leave_seats(around.coordinators, group_id, [one for one in there if not ours or one in ours])
        if left is None:
            return Withdrawn()
        await trio.sleep(AGAIN_S)
        return WithdrawalUnanswered()


def _is_any(_held: HeldRequest) -> bool:
    return True


def _is_none(_held: HeldRequest) -> bool:
    return False


def _not_given_up(group_id: GroupId) -> Obstacle:
    return Obstacle(
        "EB-MOVE-256",
        f"the bridge could not let {quote(group_id)} go, because it can serve nothing at the moment",
        "see in the log what closed it, such as its journal or the cluster, and order the move again",
    )


def _nobody(group_id: GroupId) -> Obstacle:
    return Obstacle("EB-MOVE-236", f"{quote(group_id)} has no members", "change its rule, and it begins there")


def _unreachable(problem: BrokerUnreachable) -> Obstacle:
    return Obstacle("EB-MOVE-237", f"the broker can't be asked: {problem}", "see to it that brokers can be reached")


def _waited_in_vain(group_id: GroupId, members: int, within_ms: int) -> Obstacle:
    """Seen with a bridge that was killed between the id that its broker gave a seat and the JoinGroup with it: brokers
    hold a round up for such an id as long as the session that was asked for (K1.20). And with 1,000 members on a busy
    machine.
    """
    return Obstacle(
        "EB-MOVE-239",
        f"the round of {quote(group_id)} ({counted(members, 'member')}) at its broker was not over within"
        f" {within_ms / 1000:.0f} s: it waits for somebody who does not join, such as a member id that was given to a"
        " bridge before it was killed, or for members that are many where bridge or broker are busy",
        "order the move again when a session timeout of the members has passed: the broker has given up such an id by"
        " then; see with kafka-consumer-groups --describe --state whether others join the group; of a large group when"
        " bridge and broker have less to do, or with longer sessions, of which a round may take a third",
    )


def _held_up(group_id: GroupId, lapse_ms: int) -> Obstacle:
    return Obstacle(
        "EB-MOVE-254",
        f"the round of {quote(group_id)} at its broker waits for somebody who does not join, such as a member id that"
        f" was given to a bridge before it was killed; the broker gives it up within {lapse_ms / 1000:.0f} s, and the"
        " move begins anew then",
        "nothing: its clients go on meanwhile; or stop the move",
    )


def _failed(group_id: GroupId, failed: Failed) -> Obstacle:
    whose = "" if failed.member_id is None else f" at {quote(failed.member_id)}"
    code = "" if failed.code is ErrorCode.NONE else f" ({failed.code.name})"
    return Obstacle(
        "EB-MOVE-238",
        f"the round of {quote(group_id)} at its broker failed: {failed.failure}{whose}{code}",
        "order the move again; if the broker refused a member, change what it allows",
        failed.member_id,
    )
