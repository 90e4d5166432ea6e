"""The moves of a running bridge (`admin.contracts.Moves`): ordered by operators, one a group, ended with a verdict."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import trio

from bridge.coordinators.moving.candidates import LOOK_S, of_order, staying
from bridge.coordinators.moving.journey_door import Life, OrderUnderway, Parts, load_journeys, make_journey
from bridge.coordinators.moving.places import SpacedWrites
from bridge.coordinators.moving.progress import FOR_NEWCOMERS, Progress
from bridge.coordinators.moving.silent_members import MovedMembers, SilentMembers
from bridge.coordinators.moving.surroundings import MoveEars, NoEars, is_not_known
from bridge.coordinators.moving.unfinished import UnfinishedMove, settle_seats
from bridge.migration.moves.itinerary import order_resumed, resumed
from bridge.migration.orders import MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.route import Road
from bridge.supervision import MOVE, MOVES, Failures, start_job
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, MemberRef

REMEMBERED_MAX = 1_000
"""Moves that are over and can still be asked for."""


def _nobody() -> None:
    """There are no other bridges."""


class LiveMoves:
    """One move a group at a time, from `start_in` on."""

    def __init__(self, parts: Parts, supervised: Failures) -> None:
        self._parts = parts
        self._around = parts.candidates.around
        self._router = parts.candidates.router
        self._supervised = supervised
        self._running: dict[GroupId, OrderUnderway] = {}
        self._ended: dict[GroupId, Progress] = {}
        self.reconverts: Callable[[], Awaitable[bool | None]] = is_not_known
        """Whether brokers make a classic group of a consumer group; set by who can ask them."""
        self.ears: MoveEars = NoEars()
        """Who hears of moves; set before `start_in`."""
        self.meet_bridges: Callable[[], None] = _nobody
        """Has other bridges noticed, if they are not yet: said before a group becomes this one's own. Set before
        `start_in`.
        """
        self._silent = SilentMembers(
            MovedMembers(
                mapped=self._around.mapped,
                upstream=self._around.upstream,
                router=self._router,
                broker=parts.candidates.broker,
                now_ms=self._around.now_ms,
                dropped=self._drop,
                untranslated=self.forgotten,
            )
        )
        self._places = SpacedWrites(parts.places.write, self._around.now_ms, partial(supervised.spare, MOVES))
        self._life: Life | None = None
        self._unfinished: Sequence[UnfinishedMove] = ()
        self._ending: dict[GroupId, bool] = {}
        """Groups of which it waits for the journal to be written that a move is over, of each in one task; True where
        another one ended since the journal was asked.
        """
        self._begun = trio.Event()
        """A move runs: a bridge that moves nothing is not woken ten times a second to look after none."""

    # ------------------------------------------------------------------ what operators ask

    async def check(self, order: MoveOrder) -> MoveProgress:
        """See `admin.contracts.Moves`."""
        progress = self._progress(order)
        candidates = replace(self._parts.candidates, ends_mappings=False)
        order = candidates.in_clients_words(order)
        found = await candidates.find(order, progress.now.origin, progress.warn)
        if candidates.is_for_newcomers(order, found):
            progress.end(MoveStage.DONE, FOR_NEWCOMERS)
        elif isinstance(found, tuple):
            progress.refuse(found, "it can't be moved now; nothing was changed")
        else:
            progress.foretell(of_order(found, order), staying(order, found))
        return progress.now

    async def prepare(self) -> None:
        """See `admin.contracts.Moves`."""
        await load_journeys()

    def start(self, order: MoveOrder) -> MoveProgress:
        """See `admin.contracts.Moves`."""
        running = self._running.get(order.group_id)
        if running is not None:
            progress = self._progress(order)
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
        assert self._life is not None, "moves are ordered while the bridge runs"
        self._meet_bridges(order)
        journey = make_journey(self._parts, self._life, order, self._router.road(order.group_id))
        self._keep(journey, order.group_id)
        journey.start()
        return journey.progress.now

    def stop(self, group_id: GroupId) -> MoveProgress | None:
        """See `admin.contracts.Moves`."""
        running = self._running.get(group_id)
        if running is None:
            return None
        running.stop()
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
        self._life = Life(
            nursery=nursery,
            supervised=self._supervised,
            reconverts=self._ask_whether_brokers_reconvert,
            forget=self._forget,
            ears=self.ears,
            write_end=partial(self._start_writing_end, nursery),
        )
        for one in self._unfinished:
            try:
                self._go_on(one, self._life)
            except Exception as problem:  # noqa: BLE001 - told and counted; the bridge would not start for it
                self._supervised.note(MOVE, problem)
                self._leave(one)
        self._unfinished = ()
        start_job(nursery, self._supervised, MOVES, self._look_after)
        start_job(nursery, self._supervised, MOVES, self._silent.keep_looking)
        start_job(nursery, self._supervised, MOVES, self._places.keep_writing)

    async def _ask_whether_brokers_reconvert(self) -> bool | None:
        """As whoever can ask them by now says: that is set behind the start."""
        return await self.reconverts()

    async def _look_after(self) -> None:
        while True:
            if not self._running:
                self._begun = trio.Event()
                await self._begun.wait()
            await trio.sleep(LOOK_S)
            for running in tuple(self._running.values()):
                # A bug in one must not have the requests of the others held for longer than they may be.
                self._supervised.spare(MOVES, running.look)

    def _progress(self, order: MoveOrder) -> Progress:
        running = self._running.get(order.group_id)
        origin = self._router.road(order.group_id) if running is None else running.progress.now.origin
        return Progress(order, origin, self._parts.wall_ms)

    def _go_on(self, unfinished: UnfinishedMove, life: Life) -> None:
        group_id, origin = unfinished.group_id, unfinished.origin
        ordered = MoveOrder(
            group_id, unfinished.destination, unfinished.only, allow_rebalance=unfinished.allow_rebalance
        )
        order = order_resumed(ordered, origin)
        self._meet_bridges(order)
        is_in_engine = self._parts.candidates.embedded.holds(group_id)
        way = resumed(order, origin, is_in_engine=is_in_engine, has_members=bool(unfinished.members))
        journey = make_journey(self._parts, life, order, way.origin, way)
        self._keep(journey, group_id)
        journey.go_on(unfinished)

    def _meet_bridges(self, order: MoveOrder) -> None:
        """Another bridge may have clients of the same group, by a rule of its own: without a word of each other both
        would deal its partitions.
        """
        if order.destination is Road.EMBEDDED:
            self.meet_bridges()

    def _keep(self, journey: OrderUnderway, group_id: GroupId) -> None:
        self._running[group_id] = journey
        self._begun.set()

    def _leave(self, unfinished: UnfinishedMove) -> None:
        """Nobody goes on with a move: each member stays where it is known to be, and the journal keeps what was begun
        until the group is moved again.
        """
        group_id, around = unfinished.group_id, self._around
        self._running.pop(group_id, None)
        place = Road.PASS if unfinished.origin is Road.MAPPED else unfinished.origin
        self._parts.moving.end(group_id)
        self._router.place_group(group_id, place)
        here = dict.fromkeys(around.upstream.members_of(group_id), Road.UPSTREAM)
        for member_id, road in (here | dict.fromkeys(around.mapped.seats_of(group_id), Road.MAPPED)).items():
            if road is not place:
                self._router.move_member(group_id, member_id, road)

    def _start_writing_end(self, nursery: trio.Nursery, group_id: GroupId) -> None:
        is_waiting = self._ending[group_id] = group_id in self._ending
        if not is_waiting:
            start_job(nursery, self._supervised, MOVE, partial(self._write_end, group_id))

    async def _write_end(self, group_id: GroupId) -> None:
        """Only once it is written who has a machine and who has none: until then the move would be gone on with."""
        while not await self._has_written(group_id):  # noqa: ASYNC110  # each turn asks the journal anew
            await trio.sleep(LOOK_S)
        self._ending.pop(group_id, None)
        if group_id not in self._running:
            self._parts.places.end_move(group_id)

    async def _has_written(self, group_id: GroupId) -> bool:
        self._ending[group_id] = False
        return await self._around.upstream.written() and not self._ending[group_id]

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
            self._places.write(member.group_id)

    def _drop(self, member: MemberRef) -> None:
        """A member that passed while its group was elsewhere is gone."""
        self._router.return_member(member.group_id, member.member_id)
        self._places.write(member.group_id)

    def unmapped(self, member: MemberRef, goes_on: MemberId | None) -> None:
        """A client knows its seat at the broker now, and is a classic member there wherever its group goes; None: it is
        gone.
        """
        self._router.return_member(member.group_id, member.member_id)
        if goes_on is not None and self._router.road(member.group_id, goes_on) is not Road.PASS:
            self._router.let_pass(member.group_id, goes_on)
        self._places.write(member.group_id)
