"""The moves of a running bridge (`admin.contracts.Moves`): ordered by operators, one a group, ended with a verdict."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import trio

from bridge.coordinators.moving.adopt import AdoptMove
from bridge.coordinators.moving.candidates import LOOK_S, Candidates, Members, have_user_data, of_order, staying
from bridge.coordinators.moving.giveback import GiveBackMove
from bridge.coordinators.moving.groups import MovingGroups
from bridge.coordinators.moving.places import Places, unwritten
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.release import ReleaseMove
from bridge.coordinators.moving.requests import Held
from bridge.coordinators.moving.reseat import ReseatMove
from bridge.coordinators.moving.surroundings import BY_OPERATOR, NOT_HEARD, is_not_known
from bridge.coordinators.moving.survey import hold_ms_of
from bridge.coordinators.moving.takeover import TakeOverMove
from bridge.coordinators.moving.unfinished import UnfinishedMove, end_machines, settle_seats
from bridge.coordinators.moving.whole_groups import WholeGroups, WholeMove
from bridge.coordinators.placement import GroupPlaces
from bridge.log_lines import LogFields
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.rest import Kept
from bridge.migration.orders import MemberStage, MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.route import Road
from bridge.supervision import MOVE, MOVES, Failures, Single, Work, start_guarded, start_job
from translators.dialects.coordinator import Refused
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, MemberRef

LOG = logging.getLogger("epochbridge.moves")
AGAIN_S = 0.25
"""How soon a move of a whole group goes on whose task failed."""
REMEMBERED_MAX = 1_000
"""Moves that are over and can still be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What moves are made with."""

    candidates: Candidates
    whole: WholeGroups
    stays: GroupPlaces
    moving: MovingGroups
    places: Places
    wall_ms: Callable[[], int]


@dataclass(slots=True)
class _Running:
    """A move under way. Whoever was not heard at `due_ms` is moved no more, and a session later taken for gone."""

    progress: Progress
    move: TakeOverMove | GiveBackMove | WholeMove | None = None
    hold_ms: int = 0
    session_ms: int = 0
    due_ms: int = 0
    is_stopped: bool = False
    is_late: bool = False
    wait: Single = field(default_factory=partial(Single, MOVE))
    """For a broker's topics, or for the journal."""
    first: Road | None = None
    """Where the first of two ways begins, though its group as a whole is elsewhere: as it is written."""
    at: Road | None = None
    """Where its group stays if the second of two ways can't be gone; None while it is where the move began."""
    called: int = 0
    """Members that were told to join before the last part of the way began."""
    begun: dict[MemberId, ClassicMember] = field(default_factory=dict)
    """Whom a give-back has asked for."""


class LiveMoves:
    """One move a group at a time, from `start_in` on."""

    def __init__(self, parts: Parts, supervised: Failures) -> None:
        self._parts = parts
        self._around = parts.candidates.around
        self._router = parts.candidates.router
        self._supervised = supervised
        self._running: dict[GroupId, _Running] = {}
        self._ended: dict[GroupId, Progress] = {}
        self.reconverts: Callable[[], Awaitable[bool | None]] = is_not_known
        """Whether brokers make a classic group of a consumer group; set by who can ask them."""
        self._nursery: trio.Nursery | None = None
        self._unfinished: Sequence[UnfinishedMove] = ()

    # ------------------------------------------------------------------ what operators ask

    async def check(self, order: MoveOrder) -> MoveProgress:
        """See `admin.contracts.Moves`."""
        progress = self._progress(order)
        candidates = replace(self._parts.candidates, ends_mappings=False)
        found = await candidates.find(order, progress.now.origin, progress.warn)
        if isinstance(found, tuple):
            progress.refuse(found, "it can't be moved now; nothing was changed")
        else:
            progress.foretell(of_order(found, order), staying(order, found))
        return progress.now

    def start(self, order: MoveOrder) -> MoveProgress:
        """See `admin.contracts.Moves`."""
        running = self._running.get(order.group_id)
        progress = self._progress(order)
        if running is not None:
            progress.refuse(
                (
                    Obstacle(
                        "EB-MOVE-202",
                        f"{quote(order.group_id)} is being moved to {running.progress.now.order.destination} already",
                        "wait for its end, or stop it: DELETE on the same address, or `epochbridge move --stop`",
                    ),
                ),
                "another move of the group goes on",
            )
            return progress.now
        assert self._nursery is not None, "moves are ordered while the bridge runs"
        self._running[order.group_id] = _Running(progress)
        self._start_task(order, partial(self._make, order))
        return progress.now

    def stop(self, group_id: GroupId) -> MoveProgress | None:
        """See `admin.contracts.Moves`."""
        running = self._running.get(group_id)
        if running is None:
            return None
        running.is_stopped = True
        if running.move is not None:
            running.move.stop(BY_OPERATOR)
        return running.progress.now

    def progress(self, group_id: GroupId) -> MoveProgress | None:
        """See `admin.contracts.Moves`."""
        running = self._running.get(group_id)
        known = self._ended.get(group_id) if running is None else running.progress
        return None if known is None else known.now

    def all(self) -> Sequence[MoveProgress]:
        """See `admin.contracts.Moves`."""
        known = self._ended | {one: running.progress for one, running in self._running.items()}
        return sorted((one.now for one in known.values()), key=lambda move: -move.started_ms)

    # ------------------------------------------------------------------ its life

    def resume(self, unfinished: Sequence[UnfinishedMove]) -> None:
        """Moves that the last life of the bridge began: their groups wait until `start_in` goes on with them."""
        self._unfinished = unfinished
        for one in unfinished:
            self._router.place_group(one.group_id, Road.MOVING)
            settle_seats(self._around, one)

    def start_in(self, nursery: trio.Nursery) -> None:
        """Make moves until the nursery is cancelled, those first that the last life began."""
        self._nursery = nursery
        for one in self._unfinished:
            self._go_on(one)
        self._unfinished = ()
        start_job(nursery, self._supervised, MOVES, self._look_after)

    async def _look_after(self) -> None:
        while True:
            await trio.sleep(LOOK_S)
            for running in tuple(self._running.values()):
                self._look_at(running)

    def _look_at(self, running: _Running) -> None:
        """What is due by time, at once: whatever waits for a broker or the journal does so in a task of its own."""
        move, now_ms = running.move, self._around.now_ms()
        if move is None:
            return
        assert self._nursery is not None, "moves are looked after while the bridge runs"
        move.excuse(now_ms - running.hold_ms)
        if isinstance(move, (AdoptMove, ReleaseMove, ReseatMove)):
            # It has bounds of its own.
            return
        if isinstance(move, GiveBackMove):
            running.wait.start(self._nursery, self._supervised, partial(self._give_back_who_rests, running, move))
        else:
            move.keep_scout()
            if move.lacks_topics:
                running.wait.start(self._nursery, self._supervised, move.look_at_topics)
        if now_ms < running.due_ms:
            return
        running.due_ms = now_ms + running.session_ms
        if running.is_late:
            move.give_up()
        running.is_late = True
        move.stop(NOT_HEARD)

    async def _give_back_who_rests(self, running: _Running, move: GiveBackMove) -> None:
        """Written before anybody is asked for: a bridge that is killed then goes on with them."""
        resting = move.at_rest()
        written, running.begun = running.begun, running.begun | {one.member_id: one for one in resting}
        if running.begun == written or await self._write(running):
            move.give_back(resting)
        else:
            running.begun = written

    async def _write(self, running: _Running) -> bool:
        now = running.progress.now
        origin = running.at or running.first or now.origin
        return await self._parts.places.begin_move(now.order, origin, running.begun.values())

    def _progress(self, order: MoveOrder, origin: Road | None = None) -> Progress:
        running = self._running.get(order.group_id)
        if origin is None:
            origin = self._router.road(order.group_id) if running is None else running.progress.now.origin
        return Progress(order, origin, self._parts.wall_ms)

    # ------------------------------------------------------------------ making one

    def _start_task(self, order: MoveOrder, work: Work) -> None:
        assert self._nursery is not None, "moves are made while the bridge runs"
        start_guarded(self._nursery, self._supervised, MOVE, work, partial(self._fail, order))

    def _fail(self, order: MoveOrder) -> None:
        """Its task failed, perhaps before it did anything. A group as a whole goes on as after a restart, members that
        go by themselves with what comes next for them.
        """
        running = self._running.get(order.group_id)
        if running is None:
            return
        move = running.move
        if isinstance(move, AdoptMove | ReleaseMove | ReseatMove):
            self._start_task(order, partial(self._go_on_whole, order, running, move, AGAIN_S))
        elif isinstance(move, GiveBackMove) and move.state.is_over:
            self._conclude_give_back(order, running, move)
        elif move is None:
            running.progress.refuse((), "it could not be begun, which is in the log; nothing was changed")
            self._parts.places.end_move(order.group_id)
            self._forget(order.group_id)

    async def _make(self, order: MoveOrder) -> None:
        running = self._running[order.group_id]
        found = await self._parts.candidates.find(order, running.progress.now.origin, running.progress.warn)
        is_written = await self._prepare(running, found)
        if isinstance(found, tuple):
            running.progress.refuse(found, "it was not begun; nothing was changed")
            self._forget(order.group_id)
            # The end of the move before it may not have been written while this order was there.
            self._start_writing_end(order.group_id)
        elif running.is_stopped or not is_written:
            self._parts.places.end_move(order.group_id)
            self._forget(order.group_id)
            if running.is_stopped:
                running.progress.end(MoveStage.STOPPED, "stopped before it was begun; nothing was changed")
            else:
                running.progress.refuse((unwritten(order.group_id),), "it was not begun; nothing was changed")
        elif self._around.upstream.members_of(order.group_id) and order.destination is not Road.UPSTREAM:
            await self._give_back_who_rests(running, self._begin_give_back(order, running, found, {}))
        elif Road.EMBEDDED in (order.destination, running.progress.now.origin):
            move = self._begin_whole(order, running, found)
            await self._make_whole(order, running, move)
        elif order.destination is Road.UPSTREAM and not have_user_data(found):
            self._take_over(order, running, found)
        else:
            self._start_reseat(order, running, found)

    async def _prepare(self, running: _Running, found: Members | tuple[Obstacle, ...]) -> bool:
        """Write down what is about to begin, behind what the move before it came to."""
        if isinstance(found, tuple) or running.is_stopped:
            return True
        order = running.progress.now.order
        is_on_upstream = bool(self._around.upstream.members_of(order.group_id))
        if order.destination is Road.EMBEDDED and is_on_upstream:
            running.first = Road.UPSTREAM
        goes_back = order.destination is Road.PASS and running.progress.now.origin is not Road.EMBEDDED
        is_give_back = goes_back or running.first is not None
        here = {one: it for one, it in found.items() if not it.is_elsewhere}
        # Who is at rest is asked to come back as soon as this is written.
        running.begun = self._parts.candidates.at_rest(order.group_id, here) if is_give_back else here
        return await self._around.upstream.written() and await self._write(running)

    def _take_over(self, order: MoveOrder, running: _Running, members: Members, *, is_resumed: bool = False) -> None:
        heard = self._parts.candidates.roster.members_of(order.group_id)
        move = TakeOverMove(self._around, running.progress, order.group_id, members, is_resumed=is_resumed)
        move.is_over = partial(self._end_take_over, order)
        self._begin(order, running, move, members)
        move.begin({one: heard[one].via for one, member in members.items() if one in heard and member.generation >= 0})

    def _begin_give_back(
        self, order: MoveOrder, running: _Running, members: Members, returning: Members
    ) -> GiveBackMove:
        move = GiveBackMove(self._around, running.progress, order.group_id, members, returning)
        move.is_over = partial(self._end_give_back, order)
        self._begin(order, running, move, {**members, **returning})
        return move

    def _begin_whole(self, order: MoveOrder, running: _Running, members: Members) -> WholeMove:
        whole, group_id = self._parts.whole, order.group_id
        move: WholeMove
        if order.destination is Road.EMBEDDED:
            move = whole.adopting(running.progress, group_id, members)
        else:
            move = whole.releasing(running.progress, group_id, members.values())
        self._begin(order, running, move, members)
        return move

    async def _go_on_whole(self, order: MoveOrder, running: _Running, move: WholeMove, pause_s: float = 0.0) -> None:
        await trio.sleep(pause_s)
        if not move.has_ended:
            await move.go_on()
        self._end_whole(order, running, move)

    def _begin(
        self,
        order: MoveOrder,
        running: _Running,
        move: TakeOverMove | GiveBackMove | WholeMove,
        members: Members,
    ) -> None:
        running.move = move
        running.hold_ms = hold_ms_of(members.values())
        running.session_ms = max(one.session_timeout_ms for one in members.values())
        running.due_ms = self._around.now_ms() + running.session_ms
        running.progress.begin(members)
        self._parts.moving.begin(order.group_id, move)
        self._router.place_group(order.group_id, Road.MOVING)
        LOG.info(
            "group %r: %d members are moved to road %s",
            *(order.group_id, len(members), order.destination),
            extra=LogFields(group_id=order.group_id, road=order.destination.value),
        )

    def _go_on(self, unfinished: UnfinishedMove) -> None:
        group_id = unfinished.group_id
        end_machines(self._around, unfinished)
        is_reseat = unfinished.origin is Road.MAPPED
        is_half_way = unfinished.destination is Road.EMBEDDED and unfinished.origin is not Road.PASS
        # Behind a restart a way of two ends where the first does: what comes after it can be ordered.
        destination = Road.PASS if is_half_way else unfinished.destination
        order = MoveOrder(group_id, destination, unfinished.only)
        origin = Road.PASS if is_reseat else unfinished.origin
        running = self._running[group_id] = _Running(self._progress(order, origin))
        known = {one.member_id: one for one in unfinished.members}
        if order.destination is Road.EMBEDDED or self._parts.whole.embedded.holds(group_id):
            move = self._begin_whole(order, running, known)
            self._start_task(order, partial(self._go_on_whole, order, running, move))
            return
        ordered, is_translated = of_order(known, order), partial(self._around.upstream.translates, group_id)
        away = {one: it for one, it in ordered.items() if not is_translated(one)}
        if is_reseat and known:
            # It was given back before that, and a scout may have been sent; or it is to be taken over behind it.
            self._start_reseat(order, running, known, is_resumed=True)
            return
        if order.destination is Road.UPSTREAM and away:
            running.begun = dict(ordered)
            running.at = Road.PASS if origin is Road.EMBEDDED else None
            self._take_over(order, running, away, is_resumed=True)
            return
        seats = self._around.mapped.seats_of(group_id)
        # Also who has a machine still: it is ended behind the JoinGroup that may have been answered.
        back = away if order.destination is Road.UPSTREAM else known
        returning = {one: member for one, member in back.items() if one not in seats}
        here = {} if order.destination is Road.UPSTREAM else of_order(self._parts.candidates.here(group_id), order)
        still_there = {one: member for one, member in here.items() if one not in returning}
        if still_there or returning:
            running.begun = dict(returning)
            self._begin_give_back(order, running, still_there, returning)
            return
        running.progress.end(MoveStage.DONE, "all members had been moved before the bridge was started again")
        self._settle(order, running, frozenset(), order.destination)

    # ------------------------------------------------------------------ ending one

    def _end_take_over(self, order: MoveOrder) -> None:
        running = self._running[order.group_id]
        move = running.move
        assert isinstance(move, TakeOverMove), move
        # Those that an earlier life of the bridge took over are there as well.
        asked = {*move.state.members, *running.begun}
        here = {one for one in asked if self._around.upstream.translates(order.group_id, one)}
        is_refused = move.state.refusal is not None and not here
        self._conclude(running, move.state.refusal, len(here))
        stays = frozenset(one.member_id for one in running.progress.now.members if one.stage is MemberStage.STAYS)
        stayed = running.at or running.progress.now.origin
        self._settle(order, running, stays | move.beside, stayed if is_refused else Road.UPSTREAM)

    def _end_give_back(self, order: MoveOrder) -> None:
        running = self._running[order.group_id]
        move = running.move
        assert isinstance(move, GiveBackMove), move
        given_back = None if order.members else self._parts.candidates.if_all(order.group_id, move.given_back())
        if given_back is not None and move.state.stopped is None:
            joins = move.take_joins()
            reseat = self._start_reseat(order, running, given_back)
            for member_id, member in given_back.items():
                reseat.know(member_id, move.via_of(member_id), member.generation)
            for held in joins:
                reseat.take(held)
            return
        if not order.members and move.are_all_classic and move.state.stopped is None:
            self._start_task(order, partial(self._reseat_behind_calls, order, running, move))
            return
        self._conclude_give_back(order, running, move)

    async def _reseat_behind_calls(self, order: MoveOrder, running: _Running, move: GiveBackMove) -> None:
        """Whoever was called joins first; meanwhile requests go on as they did, and newcomers wait.

        Behind a restart nobody is given back again.
        """
        running.begun = {}
        await self._write(running)
        found = await self._parts.candidates.to_be_reseated(order.group_id) or move.given_back() or {}
        if isinstance(found, tuple) or not found:
            running.progress.warn(found if isinstance(found, tuple) else ())
            self._conclude_give_back(order, running, move)
            return
        # The progress of whom a reseat begins with begins anew.
        running.called = len(set(running.progress.now.told()) & found.keys())
        joins = move.take_joins()
        reseat = self._start_reseat(order, running, found)
        for member_id, member in found.items():
            reseat.know(member_id, move.via_of(member_id), member.generation)
        for held in joins:
            reseat.take(held)

    def _conclude_give_back(self, order: MoveOrder, running: _Running, move: GiveBackMove) -> None:
        back = running.progress.now.count(MemberStage.MOVED)
        if order.destination is not Road.PASS and back:
            self._end_half_way(order, running)
            return
        self._conclude(running, move.state.stopped, back)
        is_refused = not back and running.progress.now.count(MemberStage.STAYS) > 0
        self._settle(order, running, frozenset(), running.progress.now.origin if is_refused else Road.PASS)

    async def _go_second_way(self, order: MoveOrder, running: _Running, first: WholeMove) -> None:
        """From embedded to upstream, or back: the group is its broker's now, and nobody has heard of it."""
        running.at = Road.PASS
        running.begun, found = {}, await self._find_second(order, running, first)
        is_over = running.is_stopped or isinstance(found, tuple) or not found
        if not isinstance(found, tuple):
            running.begun = dict(found)
        if is_over or isinstance(found, tuple) or not await self._write(running):
            running.progress.warn(found if isinstance(found, tuple) else ())
            self._end_half_way(order, running)
            return
        waiting = first.take_joins()
        if order.destination is Road.UPSTREAM:
            self._take_over(order, running, found)
        else:
            move = self._begin_whole(order, running, found)
            self._start_task(order, partial(self._make_whole, order, running, move))
        for held in waiting:
            self._parts.moving.submit(held.ref, held.client, held.via, held.request)

    def _end_half_way(self, order: MoveOrder, running: _Running) -> None:
        words = "the members are on pass, and could not be moved on to"
        running.progress.end(MoveStage.STOPPED, f"{words} {order.destination}")
        self._settle(order, running, frozenset(), Road.PASS)

    async def _find_second(
        self, order: MoveOrder, running: _Running, first: WholeMove
    ) -> Members | tuple[Obstacle, ...]:
        if isinstance(first, ReseatMove):
            # Requests are held, and sessions run at the broker.
            with trio.move_on_after(running.hold_ms / 1000):
                return await self._parts.candidates.find_again(order, Road.PASS)
            return {}
        seats = self._around.mapped.seats_of(order.group_id).values()
        return {seat.member_id: seat.member for seat in seats if seat.member is not None}

    def _start_reseat(
        self, order: MoveOrder, running: _Running, members: Members, *, is_resumed: bool = False
    ) -> ReseatMove[Held]:
        """What ends the way back of a whole group: until then newcomers would disturb everybody."""
        move = self._parts.whole.reseating(running.progress, order.group_id, members, self.reconverts)
        self._begin(order, running, move, members)
        work = self._go_on_whole if is_resumed else self._make_whole
        self._start_task(order, partial(work, order, running, move))
        return move

    async def _make_whole(self, order: MoveOrder, running: _Running, move: WholeMove) -> None:
        await move.make()
        self._end_whole(order, running, move)

    def _end_whole(self, order: MoveOrder, running: _Running, move: WholeMove) -> None:
        reason = self._parts.whole.settle(order.group_id, move)
        is_first_of_two = isinstance(move, ReleaseMove | ReseatMove) and order.destination is not Road.PASS
        if is_first_of_two and reason is None:
            self._start_task(order, partial(self._go_second_way, order, running, move))
            return
        is_unbegun = isinstance(move.state, Kept) and order.destination is Road.UPSTREAM
        if isinstance(move, ReseatMove) and not is_unbegun:
            # Whatever came of it, the members are where they were ordered to, or on the way there.
            if reason is not None:
                running.progress.warn((reason,))
                fields = LogFields(group_id=order.group_id, road=Road.PASS.value)
                words = "%s: group %r was not reseated at its broker: %s; %s, and order the move again"
                LOG.warning(words, reason.code, order.group_id, reason.sentence, reason.remedy, extra=fields)
            if order.destination is not Road.PASS:
                self._end_half_way(order, running)
            else:
                self._conclude(running, None, running.progress.now.count(MemberStage.MOVED))
                self._settle(order, running, frozenset(), Road.PASS)
            return
        if reason is not None and running.at is not None:
            running.progress.warn((reason,))
            self._end_half_way(order, running)
            return
        if reason is None:
            self._conclude(running, None, running.progress.now.count(MemberStage.MOVED))
        else:
            running.progress.refuse((reason,), "it could not be made; the group is where it was")
        is_embedded = not is_unbegun and (order.destination is Road.EMBEDDED) is (reason is None)
        self._settle(order, running, frozenset(), Road.EMBEDDED if is_embedded else Road.PASS)

    def _conclude(self, running: _Running, refusal: Refused | None, moved: int) -> None:
        progress, destination = running.progress, running.progress.now.order.destination
        stays = progress.now.count(MemberStage.STAYS)
        words = f"{moved} members are on {destination}"
        if refusal is not None or (stays and not moved):
            why = "the broker won't have them there" if refusal is None else refusal.reason or refusal.code.name
            is_begun = moved or running.is_stopped or running.is_late
            progress.end(
                MoveStage.STOPPED if is_begun else MoveStage.REFUSED, f"{words}, {stays} stay where they were: {why}"
            )
        else:
            words += f", {stays} stay where they were" if stays else ""
            told = running.called + len(progress.now.told())
            disturbed = f"{told} had to be told to join again, or are gone" if told else "none of them was disturbed"
            progress.end(MoveStage.DONE, f"{words}, and {disturbed}")
        LOG.info(
            "group %r: %s",
            *(progress.now.order.group_id, progress.now.verdict),
            extra=LogFields(group_id=progress.now.order.group_id, road=destination.value),
        )

    def _settle(self, order: MoveOrder, running: _Running, stays: frozenset[MemberId], whole: Road) -> None:
        """Let the group and its members take their roads from now on, and whoever waited for that."""
        parts, router, group_id = self._parts, self._router, order.group_id
        place = running.progress.now.origin if order.members else whole
        # Nobody of a group that is the bridge's own is its broker's, also no canary that was given back before.
        roads = {} if place is Road.EMBEDDED else self._roads(group_id, stays)
        for member_id in tuple(router.moved.get(group_id, {})):
            router.return_member(group_id, member_id)
        for member_id, road in roads.items():
            if road is not place:
                router.move_member(group_id, member_id, road)
        if place is router.road_by_rule(group_id):
            router.forget_place(group_id)
        else:
            router.place_group(group_id, place)
        # Where it stayed against its rule it stays no more: it was moved.
        parts.stays.go_by_rule(group_id)
        parts.moving.end(group_id)
        self._forget(group_id)
        self._start_writing_end(group_id)
        for held in () if running.move is None else running.move.take_joins():
            parts.moving.submit(held.ref, held.client, held.via, held.request)

    def _roads(self, group_id: GroupId, stays: frozenset[MemberId]) -> Mapping[MemberId, Road]:
        """Where each member is that may not be where its group goes: also those of which this move was not."""
        moved = self._router.moved.get(group_id, {})
        passing = {one: road for one, road in moved.items() if road is Road.PASS} | dict.fromkeys(stays, Road.PASS)
        here = dict.fromkeys(self._around.upstream.members_of(group_id), Road.UPSTREAM)
        return passing | here | dict.fromkeys(self._around.mapped.seats_of(group_id), Road.MAPPED)

    def _start_writing_end(self, group_id: GroupId) -> None:
        assert self._nursery is not None, "moves end while the bridge runs"
        again = partial(self._start_writing_end, group_id)
        start_guarded(self._nursery, self._supervised, MOVE, partial(self._write_end, group_id), again)

    async def _write_end(self, group_id: GroupId) -> None:
        """Only once it is written who has a machine and who has none: until then the move would be gone on with."""
        while not await self._around.upstream.written():  # noqa: ASYNC110  # each turn asks the journal anew
            await trio.sleep(LOOK_S)
        if group_id not in self._running:
            self._parts.places.end_move(group_id)

    def _forget(self, group_id: GroupId) -> None:
        self._ended.pop(group_id, None)
        self._ended[group_id] = self._running.pop(group_id).progress
        if len(self._ended) > REMEMBERED_MAX:
            del self._ended[next(iter(self._ended))]

    # ------------------------------------------------------------------ what becomes of members later

    def forgotten(self, member: MemberRef) -> None:
        """A member that was moved by itself, or has a seat of another name, is gone."""
        had_name = self._around.upstream.names.take_out(member)
        was_moved = member.member_id in self._router.moved.get(member.group_id, {})
        if was_moved:
            self._router.return_member(member.group_id, member.member_id)
        if was_moved or had_name:
            self._parts.places.write(member.group_id)

    def unmapped(self, member: MemberRef, goes_on: MemberId | None) -> None:
        """A client knows its seat at the broker now, and is a classic member there wherever its group goes; None: it is
        gone.
        """
        self._router.return_member(member.group_id, member.member_id)
        if goes_on is not None and self._router.road(member.group_id, goes_on) is not Road.PASS:
            self._router.let_pass(member.group_id, goes_on)
        self._parts.places.write(member.group_id)
