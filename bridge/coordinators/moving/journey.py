"""One order under way: its legs, a move each, one behind the other, and the roads of its group once it is over."""

import logging
from collections.abc import Collection, Mapping
from functools import partial
from typing import assert_never

import trio

from bridge.coordinators.moving.adopt import AdoptMove
from bridge.coordinators.moving.candidates import Members, have_user_data, of_order
from bridge.coordinators.moving.giveback import GiveBackMove
from bridge.coordinators.moving.journey_door import Life, Parts
from bridge.coordinators.moving.places import unwritten
from bridge.coordinators.moving.progress import FOR_NEWCOMERS, Progress
from bridge.coordinators.moving.release import ReleaseMove
from bridge.coordinators.moving.requests import Held
from bridge.coordinators.moving.reseat import ReseatMove
from bridge.coordinators.moving.surroundings import BY_OPERATOR, NOT_HEARD, in_a_sentence
from bridge.coordinators.moving.survey import hold_ms_of
from bridge.coordinators.moving.takeover import TakeOverMove
from bridge.coordinators.moving.unfinished import UnfinishedMove, end_machines
from bridge.coordinators.moving.whole_groups import WholeGroups, WholeMove
from bridge.log_lines import LogFields
from bridge.migration.moves.itinerary import End, Itinerary, Leg, Outcome, planned
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberStage, MoveOrder, MoveStage, Obstacle
from bridge.migration.route import Road
from bridge.supervision import MOVE, Single, Work, start_guarded
from translators.dialects.coordinator import Refused
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, MemberRef, Via

LOG = logging.getLogger("epochbridge.moves")
AGAIN_S = 0.25
"""How soon a move of a whole group goes on whose task failed; twice as long each time that it fails again."""
FAILURES_MAX = 4
"""Behind so many failures of one leg, 2 s after the first, nobody tries again: its requests are held meanwhile, and
answered as if all were well, while sessions run at the broker that may be as short as 6 s.
"""


class Journey:
    """A move of one group, or of members of it, from the order to its verdict."""

    def __init__(self, parts: Parts, life: Life, order: MoveOrder, origin: Road, way: Itinerary | None = None) -> None:
        self.progress = Progress(order, origin, parts.wall_ms, is_resumed=way is not None)
        self._parts = parts
        self._life = life
        self._order = parts.candidates.in_clients_words(order)
        self._whole = WholeGroups(parts)
        self._around = parts.candidates.around
        self._router = parts.candidates.router
        # As far as is known: what members carry is looked at before anything begins.
        self._way = self._plan({}) if way is None else way
        self._move: TakeOverMove | GiveBackMove | WholeMove | None = None
        self._hold_ms = 0
        self._session_ms = 0
        self._due_ms = 0
        """Whoever was not heard by then is moved no more, and a session later taken for gone."""
        self._is_late = False
        self._looking = trio.CancelScope()
        self._is_stopped = False
        self._is_over = False
        self._wait = Single(MOVE)
        self._failures = 0
        """Of the leg at hand, since it began."""
        self._called = 0
        """Members that were told to join before the last leg of the way began."""
        self._ways: Collection[tuple[MemberId, Via]] = ()
        """By which connections members came while they were looked at; something of theirs may be on its way there."""
        self._begun: dict[MemberId, ClassicMember] = {}
        """Who may be between two roads, as it is written."""

    def start(self) -> None:
        """Look whether it can be made, and make it."""
        self._start_task(self._make)

    def stop(self) -> None:
        """Move nobody any more of whom nothing was asked yet."""
        self._is_stopped = True
        self._looking.cancel()
        if self._move is not None:
            self._move.stop(BY_OPERATOR)

    def go_on(self, unfinished: UnfinishedMove) -> None:
        """Go on with what the last life of the bridge began."""
        end_machines(self._around, unfinished)
        known = {one.member_id: one for one in unfinished.members}
        leg = self._way.leg
        match leg:
            case Leg.TAKE_OVER:
                self._go_on_over(of_order(known, self._order))
            case Leg.GIVE_BACK:
                self._go_on_back(known)
            case Leg.RESEAT:
                self._start_reseat(known, is_resumed=True)
            case Leg.ADOPT | Leg.RELEASE:
                move = self._begin_whole(known)
                self._start_task(partial(self._go_on_whole, move))
            case _:
                assert_never(leg)

    def look(self) -> None:
        """What is due by time, at once: whatever waits for a broker or the journal does so in a task of its own."""
        move, now_ms = self._move, self._around.now_ms()
        if move is None:
            return
        move.excuse(now_ms - self._hold_ms)
        if move is not self._move:
            # Of its last members the clients were told just now that they are none.
            return
        if isinstance(move, (AdoptMove, ReleaseMove, ReseatMove)):
            # Moves of a whole group end by their own deadlines.
            return
        if isinstance(move, GiveBackMove):
            self._start_waiting(partial(self._give_back_who_rests, move))
        else:
            move.keep_scout()
            if move.lacks_topics:
                self._start_waiting(move.look_at_topics)
        if now_ms < self._due_ms:
            return
        self._due_ms = now_ms + self._session_ms
        if self._is_late:
            move.give_up()
        self._is_late = True
        move.stop(NOT_HEARD)

    def _start_waiting(self, work: Work) -> None:
        """For a broker's topics, or for the journal: one at a time."""
        self._wait.start(self._life.nursery, self._life.supervised, work)

    async def _give_back_who_rests(self, move: GiveBackMove) -> None:
        """Written before anybody is asked for: a bridge that is killed then goes on with them."""
        resting = move.at_rest()
        written, self._begun = self._begun, self._begun | {one.member_id: one for one in resting}
        if self._begun == written or await self._write():
            move.give_back(resting)
        else:
            self._begun = written

    async def _write(self, way: Itinerary | None = None) -> bool:
        origin = (way or self._way).written_origin
        # As it was ordered: a plan knows it by that behind a restart.
        return await self._parts.places.begin_move(self.progress.now.order, origin, self._begun.values())

    # ------------------------------------------------------------------ making a leg

    def _start_task(self, work: Work) -> None:
        start_guarded(self._life.nursery, self._life.supervised, MOVE, work, self._fail)

    def _fail(self) -> None:
        """Its task failed, perhaps before it did anything. A group as a whole goes on as after a restart, for some
        time, members that go by themselves with what comes next for them.
        """
        move = self._move
        if self._is_over:
            return
        if isinstance(move, AdoptMove | ReleaseMove | ReseatMove):
            self._failures += 1
            if self._failures < FAILURES_MAX:
                self._start_task(partial(self._go_on_whole, move, AGAIN_S * 2 ** (self._failures - 1)))
            else:
                self._abandon()
        elif isinstance(move, GiveBackMove) and move.state.is_over:
            self._conclude_give_back(move)
        elif move is None:
            self.progress.refuse((), "it could not be begun, which is in the log; nothing was changed")
            self._give_way()

    def _abandon(self) -> None:
        """A bug stands in the way of its end: the group is whose it is, and whoever was to leave it at its broker is
        ended there by its session.
        """
        group_id, around = self._order.group_id, self._around
        is_in_engine = self._parts.candidates.embedded.holds(group_id)
        if is_in_engine:
            # Who stayed mapped would go on at the broker, and the engine give what it has to others.
            for member_id in tuple(around.mapped.seats_of(group_id)):
                around.mapped.take_out(group_id, member_id)
        place = Road.EMBEDDED if is_in_engine else Road.PASS
        obstacle = _abandoned(group_id, place)
        LOG.error(
            "%s: %s; %s",
            *(obstacle.code, obstacle.sentence, obstacle.remedy),
            extra=LogFields(group_id=group_id, road=place.value),
        )
        self.progress.warn((obstacle,))
        self.progress.end(MoveStage.STOPPED, f"it failed again and again; the group is on {place}")
        self._settle(frozenset(), place)

    async def _make(self) -> None:
        found: Members | tuple[Obstacle, ...] = ()
        with self._parts.candidates.preflight.listen(self._order.group_id) as heard:
            with self._looking:
                found = await self._parts.candidates.find(self._order, self.progress.now.origin, self.progress.warn)
            is_written = await self._prepare(found)
        # From here on until its group is that of a move nothing else comes.
        self._ways = () if isinstance(found, tuple) else heard.of(found)
        if self._parts.candidates.is_for_newcomers(self._order, found) and not self._is_stopped:
            self._life.ears.move_began(self._order)
            self.progress.end(MoveStage.DONE, FOR_NEWCOMERS)
            self._settle(frozenset(), self._order.destination)
        elif isinstance(found, tuple) and not self._is_stopped:
            self.progress.refuse(found, "it was not begun; nothing was changed")
            self._give_way()
        elif self._is_stopped or not is_written:
            self._give_way()
            if self._is_stopped:
                self.progress.end(MoveStage.STOPPED, "stopped before it was begun; nothing was changed")
            else:
                self.progress.refuse((unwritten(self._order.group_id),), "it was not begun; nothing was changed")
        elif not isinstance(found, tuple):
            self._life.ears.move_began(self._order)
            self._begin_leg(found)

    def _give_way(self) -> None:
        """It is not begun. The end of the move before it may not have been written while this order was there: that
        waits, as ever, until it is written who has a machine.
        """
        self._forget()
        self._life.write_end(self._order.group_id)

    def _begin_leg(self, members: Members) -> None:
        """Make the move that is at hand, of these members."""
        leg = self._way.leg
        match leg:
            case Leg.TAKE_OVER:
                self._take_over(members)
            case Leg.GIVE_BACK:
                back = self._begin_give_back(members, {})
                self._start_waiting(partial(self._give_back_who_rests, back))
            case Leg.RESEAT:
                self._start_reseat(members)
            case Leg.ADOPT | Leg.RELEASE:
                whole = self._begin_whole(members)
                self._start_task(partial(self._make_whole, whole))
            case _:
                assert_never(leg)

    def _plan(self, members: Members) -> Itinerary:
        origin, has_machines = self.progress.now.origin, bool(self._around.upstream.members_of(self._order.group_id))
        return planned(self._order, origin, has_machines=has_machines, has_user_data=have_user_data(members))

    async def _prepare(self, found: Members | tuple[Obstacle, ...]) -> bool:
        """Write down what is about to begin, behind what the move before it came to."""
        if isinstance(found, tuple) or self._is_stopped:
            return True
        way = self._way = self._plan(found)
        here = {one: it for one, it in found.items() if not it.is_elsewhere}
        # Who is at rest is asked to come back as soon as this is written.
        is_way_back = way.leg is Leg.GIVE_BACK or (way.leg is Leg.RESEAT and self._order.destination is Road.PASS)
        # Who stays, too: behind a restart it is to stay still.
        self._begun = self._parts.candidates.at_rest(self._order.group_id, here) if is_way_back else dict(found)
        return await self._around.upstream.written() and await self._write()

    def _take_over(self, members: Members, *, is_resumed: bool = False) -> None:
        heard = self._parts.candidates.roster.members_of(self._order.group_id)
        move = TakeOverMove(self._around, self.progress, self._order.group_id, members, is_resumed=is_resumed)
        # Those that a broker tells of are found with a look at topics; a restart and a release go without one.
        move.lacks_topics = is_resumed or self._way.origin is Road.EMBEDDED
        move.is_over = self._end_take_over
        self._begin(move, members)
        known = {one: heard[one].via for one, member in members.items() if one in heard and member.generation >= 0}
        # Asked by the connection of its join, it would be a consumer member before its broker read the heartbeat or the
        # commit that is on its way by another: who has one is asked by that, when it is heard by it next.
        beside = {one for one, via in self._ways if one in known and via != known[one]}
        move.begin({one: via for one, via in known.items() if one not in beside})

    def _begin_give_back(self, members: Members, returning: Members) -> GiveBackMove:
        move = GiveBackMove(self._around, self.progress, self._order.group_id, members, returning)
        move.is_over = self._end_give_back
        self._begin(move, {**members, **returning})
        return move

    def _begin_whole(self, members: Members) -> WholeMove:
        whole, group_id = self._whole, self._order.group_id
        move: WholeMove
        if self._way.leg is Leg.ADOPT:
            move = whole.adopting(self.progress, group_id, members)
            move.comes_by(via for _, via in self._ways)
        else:
            move = whole.releasing(self.progress, group_id, members.values())
        self._begin(move, members)
        return move

    async def _go_on_whole(self, move: WholeMove, pause_s: float = 0.0) -> None:
        await trio.sleep(pause_s)
        if not move.has_ended:
            await move.go_on()
        self._end_whole(move)

    def _begin(
        self,
        move: TakeOverMove | GiveBackMove | WholeMove,
        members: Members,
    ) -> None:
        self._move = move
        self._failures = 0
        self._hold_ms = hold_ms_of(members.values())
        self._session_ms = max(one.session_timeout_ms for one in members.values())
        self._due_ms = self._around.now_ms() + self._session_ms
        self.progress.begin(members)
        self._parts.moving.begin(self._order.group_id, move)
        self._router.place_group(self._order.group_id, Road.MOVING)
        LOG.info(
            "group %r: %s moved to road %s",
            *(self._order.group_id, counted(len(members), "member is", "members are"), self._order.destination),
            extra=LogFields(group_id=self._order.group_id, road=self._order.destination.value),
        )

    def _go_on_over(self, ordered: Members) -> None:
        is_translated = partial(self._around.upstream.translates, self._order.group_id)
        away = {one: member for one, member in ordered.items() if not is_translated(one)}
        if away:
            self._begun = dict(ordered)
            self._take_over(away, is_resumed=True)
        else:
            self._end_moved_before()

    def _go_on_back(self, known: Members) -> None:
        seats = self._around.mapped.seats_of(self._order.group_id)
        # Also who has a machine still: it is ended behind the JoinGroup that may have been answered.
        returning = {one: member for one, member in known.items() if one not in seats}
        here = of_order(self._parts.candidates.here(self._order.group_id), self._order)
        still_there = {one: member for one, member in here.items() if one not in returning}
        if still_there or returning:
            self._begun = dict(returning)
            self._begin_give_back(still_there, returning)
        else:
            self._end_moved_before()

    def _end_moved_before(self) -> None:
        self.progress.end(MoveStage.DONE, "all members had been moved before the bridge was started again")
        self._settle(frozenset(), self._order.destination)

    # ------------------------------------------------------------------ what comes behind it

    def _end_take_over(self) -> None:
        move = self._move
        assert isinstance(move, TakeOverMove), move
        # Those that an earlier life of the bridge took over are there as well.
        asked = {*move.state.members, *self._begun}
        here = {one for one in asked if self._around.upstream.translates(self._order.group_id, one)}
        is_refused = move.state.refusal is not None and not here
        if is_refused and self._way.behind(Outcome.KEPT) is End.HALF_WAY:
            self._end_half_way("" if move.state.refusal is None else in_a_sentence(move.state.refusal))
            return
        self._conclude(move.state.refusal, len(here))
        stays = frozenset(one.member_id for one in self.progress.now.members if one.stage is MemberStage.STAYS)
        self._settle(stays | move.beside, self._way.stands if is_refused else Road.UPSTREAM)

    def _end_give_back(self) -> None:
        move = self._move
        assert isinstance(move, GiveBackMove), move
        if isinstance(self._way.behind(Outcome.MADE), Itinerary) and move.state.stopped is None:
            given_back = self._parts.candidates.if_all(self._order.group_id, move.given_back())
            if given_back is not None:
                self._reseat_behind(move, given_back)
                return
            if move.are_all_classic:
                self._start_task(partial(self._reseat_behind_calls, move))
                return
        self._conclude_give_back(move)

    async def _reseat_behind_calls(self, move: GiveBackMove) -> None:
        """Whoever was called joins first; meanwhile requests go on as they did, and newcomers wait.

        Behind a restart nobody is given back again.
        """
        self._begun = {}
        await self._write()
        found: Members | tuple[Obstacle, ...] = {}
        self._looking = trio.CancelScope()
        if self._is_stopped:
            # Before it was written that nobody is given back again.
            self._looking.cancel()
        with self._looking:
            found = await self._parts.candidates.to_be_reseated(self._order.group_id) or move.given_back() or {}
        if self._is_stopped or isinstance(found, tuple) or not found:
            self.progress.warn(found if isinstance(found, tuple) else ())
            self._conclude_give_back(move)
            return
        # The progress of whom a reseat begins with begins anew.
        self._called = len(set(self.progress.now.told()) & found.keys())
        self._reseat_behind(move, found)

    def _reseat_behind(self, move: GiveBackMove, members: Members) -> None:
        self._way = self._way.onward()
        joins = move.take_joins()
        reseat = self._start_reseat(members)
        for member_id, member in members.items():
            reseat.know(member_id, move.via_of(member_id), member.generation)
        for held in joins:
            reseat.take(held)

    def _conclude_give_back(self, move: GiveBackMove) -> None:
        back = self.progress.now.count(MemberStage.MOVED)
        if self._way.behind(Outcome.PARTLY if back else Outcome.KEPT) is End.HALF_WAY:
            self._end_half_way()
            return
        self._conclude(move.state.stopped, back)
        is_refused = not back and self.progress.now.count(MemberStage.STAYS) > 0
        self._settle(frozenset(), self._way.stands if is_refused else Road.PASS)

    async def _go_onward(self, first: WholeMove) -> None:
        """The next leg: the group is its broker's now, and nobody has heard of it."""
        # Should this fail it is tried again, from the leg that was made.
        onward = self._way.onward()
        self._begun, found = {}, await self._find_onward(first)
        is_over = self._is_stopped or isinstance(found, tuple) or not found
        if not isinstance(found, tuple):
            self._begun = dict(found)
        # It may be stopped while that is written.
        if is_over or isinstance(found, tuple) or not await self._write(onward) or self._is_stopped:
            self.progress.warn(found if isinstance(found, tuple) else ())
            self._end_half_way()
            return
        waiting = first.take_joins()
        self._way = onward
        self._begin_leg(found)
        for held in waiting:
            self._parts.moving.submit(held.ref, held.client, held.via, held.request)

    def _end_half_way(self, why: str = "") -> None:
        words = f"the members are on pass, and could not be moved on to {self._order.destination}"
        self.progress.end(MoveStage.STOPPED, f"{words}: {why}" if why else words)
        self._settle(frozenset(), Road.PASS)

    async def _find_onward(self, first: WholeMove) -> Members | tuple[Obstacle, ...]:
        if isinstance(first, ReseatMove):
            # Requests are held, and sessions run at the broker.
            with trio.move_on_after(self._hold_ms / 1000):
                return await self._parts.candidates.find_again(self._order, Road.PASS)
            return {}
        seats = self._around.mapped.seats_of(self._order.group_id).values()
        return {seat.member_id: seat.member for seat in seats if seat.member is not None}

    def _start_reseat(self, members: Members, *, is_resumed: bool = False) -> ReseatMove[Held]:
        """What ends the way back of a whole group: until then newcomers would disturb everybody."""
        move = self._whole.reseating(self.progress, self._order.group_id, members, self._life.reconverts)
        move.comes_by(via for _, via in self._ways)
        self._begin(move, members)
        work = self._go_on_whole if is_resumed else self._make_whole
        self._start_task(partial(work, move))
        return move

    async def _make_whole(self, move: WholeMove) -> None:
        await move.make()
        self._end_whole(move)

    def _end_whole(self, move: WholeMove) -> None:
        outcome, reason = self._whole.settle(self._order.group_id, move)
        next_to_come = self._way.behind(outcome)
        if isinstance(next_to_come, Itinerary):
            self._start_task(partial(self._go_onward, move))
            return
        if reason is not None and next_to_come is not End.REFUSED:
            self.progress.warn((reason,))
            if self._way.leg is Leg.RESEAT:
                fields = LogFields(group_id=self._order.group_id, road=Road.PASS.value)
                words = "%s: group %r was not reseated at its broker: %s; %s"
                LOG.warning(words, reason.code, self._order.group_id, reason.sentence, reason.remedy, extra=fields)
        match next_to_come:
            case End.ARRIVED:
                self._conclude(None, self.progress.now.count(MemberStage.MOVED))
                self._settle(frozenset(), self._order.destination)
            case End.HALF_WAY:
                self._end_half_way()
            case End.REFUSED:
                self.progress.refuse(
                    () if reason is None else (reason,), "it could not be made; the group is where it was"
                )
                self._settle(frozenset(), self._way.stands)
            case _:
                assert_never(next_to_come)

    def _conclude(self, refusal: Refused | None, moved: int) -> None:
        progress, destination = self.progress, self._order.destination
        stays = progress.now.count(MemberStage.STAYS)
        gone = progress.now.count(MemberStage.GONE)
        remain = counted(stays, "stays where it was", "stay where they were")
        if gone and not stays:
            # What ended it is said of those who are not there any more: a client that died is left by nobody.
            remain = counted(gone, "is gone", "are gone")
        words = f"{counted(moved, 'member is', 'members are')} on {destination}"
        # A word to stop that found nobody to be left was in vain: a slow broker's last answers came behind a session.
        is_vain = self._way.leg is Leg.TAKE_OVER and moved > 0 and not stays + gone
        if (refusal is not None and not is_vain) or (stays and not moved):
            why = "the broker won't have them there" if refusal is None else refusal.reason or refusal.code.name
            is_begun = moved or self._is_stopped or self._is_late
            progress.end(MoveStage.STOPPED if is_begun else MoveStage.REFUSED, f"{words}, {remain}: {why}")
        else:
            words += f", {remain}" if stays else ""
            told = self._called + len(progress.now.told())
            disturbed = (
                counted(told, "had to be told to join again, or is gone", "had to be told to join again, or are gone")
                if told
                else "none of them was disturbed"
            )
            progress.end(MoveStage.DONE, f"{words}, and {disturbed}")
        LOG.info(
            "group %r: %s",
            *(self._order.group_id, progress.now.verdict),
            extra=LogFields(group_id=self._order.group_id, road=destination.value),
        )

    def _settle(self, stays: frozenset[MemberId], whole: Road) -> None:
        """Let the group and its members take their roads from now on, and whoever waited for that."""
        parts, router, group_id = self._parts, self._router, self._order.group_id
        place = self.progress.now.origin if self._order.members else whole
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
        upstream = self._around.upstream
        epochs = {one: upstream.epoch_of(MemberRef(group_id, one)) for one in upstream.members_of(group_id)}
        self._life.ears.move_settled(group_id, place, epochs)
        self._forget()
        self._life.write_end(group_id)
        for held in () if self._move is None else self._move.take_joins():
            parts.moving.submit(held.ref, held.client, held.via, held.request)

    def _roads(self, group_id: GroupId, stays: frozenset[MemberId]) -> Mapping[MemberId, Road]:
        """Where each member is that may not be where its group goes: also those of which this move was not."""
        moved = self._router.moved.get(group_id, {})
        passing = {one: road for one, road in moved.items() if road is Road.PASS} | dict.fromkeys(stays, Road.PASS)
        here = dict.fromkeys(self._around.upstream.members_of(group_id), Road.UPSTREAM)
        return passing | here | dict.fromkeys(self._around.mapped.seats_of(group_id), Road.MAPPED)

    def _forget(self) -> None:
        self._is_over = True
        self._life.forget(self._order.group_id)


def _abandoned(group_id: GroupId, place: Road) -> Obstacle:
    return Obstacle(
        "EB-MOVE-255",
        f"the move of {quote(group_id)} failed {FAILURES_MAX} times, as the log says, and was given up: the group is on"
        f" {place}",
        "report what the log says of it; look at the group with `epochbridge describe`, give its broker a session to"
        " forget seats that were left there, and order the move again",
    )
