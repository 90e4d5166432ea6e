"""Where groups and members were moved to, over restarts: one fact of the journal for each group that is not where the
rules would have it.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NotRequired, Protocol, TypedDict

import trio

from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.unfinished import UnfinishedMove
from bridge.coordinators.unread_facts import Facts, put_aside
from bridge.coordinators.upstream.seat_names import SeatNames
from bridge.log_lines import LogFields
from bridge.migration.moves.members import ClassicMember, WrittenMember, from_json, to_json
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.route import Road, Router
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, MemberRef

LOG = logging.getLogger("epochbridge.moves")
FACTS = "place:"
"""How the names of these facts begin; the group's id follows."""

PAUSE_MS = 250
"""At least so long passes between two writes of one group whose members come and go."""


class _WrittenSeat(TypedDict):
    member_id: str
    generation: int
    seat_id: str
    seat_generation: int
    is_called: bool
    said: NotRequired[list[WrittenMember]]


class _WrittenMove(TypedDict):
    to: str
    origin: str
    only: list[str]
    members: list[WrittenMember]
    rebalance: NotRequired[bool]


class _Written(TypedDict, total=False):
    road: str
    members: dict[str, str]
    mapped: list[_WrittenSeat]
    named: dict[str, str]
    move: _WrittenMove


class DurableFacts(Facts, Protocol):
    """Where facts are kept over restarts, and when they are."""

    async def facts_written(self) -> bool:
        """Wait until what was kept so far is durable; False if that can't be."""
        ...


class Places:
    """Writes down what the router and the mapped seats know of one group, whenever that has changed."""

    def __init__(self, router: Router, mapped: MappedGroups, names: SeatNames, facts: DurableFacts) -> None:
        self._router = router
        self._mapped = mapped
        self._names = names
        self._facts = facts
        self._written = facts.facts_written
        self._unfinished: dict[GroupId, _WrittenMove] = {}
        self._unread: dict[GroupId, str] = {}

    async def begin_move(self, order: MoveOrder, origin: Road, members: Iterable[ClassicMember]) -> bool:
        """A move of these members begins; once this is True, for it is written, they may be asked for."""
        written = self._unfinished[order.group_id] = _WrittenMove(
            to=order.destination.value, origin=origin.value, only=list(order.members), members=to_json(members)
        )
        if order.allow_rebalance:
            written["rebalance"] = True
        self.write(order.group_id)
        return await self._written()

    def end_move(self, group_id: GroupId) -> None:
        """It is over; what it came to is in the router and the seats."""
        self._unfinished.pop(group_id, None)
        self.write(group_id)

    def write(self, group_id: GroupId) -> None:
        """Keep what holds for a group now; nothing if it is where the rules have it."""
        written = _Written()
        place = self._router.place(group_id)
        if place is not None and place is not Road.MOVING and place is not self._router.road_by_rule(group_id):
            written["road"] = place.value
        seats = self._mapped.seats_of(group_id)
        unheard = set(self._mapped.unheard(group_id)) - seats.keys()
        moved = self._router.moved.get(group_id, {})
        roads = {one: road.value for one, road in moved.items() if one not in unheard or road is not Road.MAPPED}
        if roads:
            written["members"] = {str(one): road for one, road in roads.items()}
        if seats:
            written["mapped"] = [_write_seat(seat) for seat in seats.values()]
        names = self._names.of(group_id)
        if names:
            written["named"] = {str(one): str(seat_id) for one, seat_id in names.items()}
        if group_id in self._unfinished:
            written["move"] = self._unfinished[group_id]
        text = json.dumps(written, separators=(",", ":"), sort_keys=True) if written else ""
        if group_id in self._unread:
            # Another release may know where its members are: this one must not be the end of it.
            if not text:
                return
            put_aside(self._facts, FACTS + group_id, self._unread.pop(group_id))
        self._facts.keep_fact(FACTS + group_id, text)

    def restore(self, facts: Mapping[str, str]) -> Iterator[UnfinishedMove]:
        """Put groups and members where the last life had them; gives the moves that it had begun."""
        for name, text in facts.items():
            group_id = GroupId(name.removeprefix(FACTS))
            try:
                found = self._restore(group_id, json.loads(text))
            except (ValueError, LookupError, TypeError, AttributeError):
                self._unread[group_id] = text
                LOG.exception(
                    "EB-MOVE-201: where group %r was moved to can't be read: it goes by the rules, and the journal "
                    "keeps what was written for the release that wrote it, but only until the group has another place: "
                    "from then on it stands under `unread-place:` and the group's id, for people (a second one under "
                    "`unread-2-place:`, and so on up to 10); look at the group with `epochbridge describe` before its "
                    "clients rebalance",
                    group_id,
                    extra=LogFields(group_id=group_id),
                )
                continue
            if found is not None:
                yield found

    def _restore(self, group_id: GroupId, written: _Written) -> UnfinishedMove | None:
        """All of a fact or nothing: half of a group's members on another road than they are would be worse."""
        place = Road(written["road"]) if "road" in written else None
        seats = [_read_seat(seat) for seat in written.get("mapped", [])]
        roads = {MemberId(one): Road(road) for one, road in written.get("members", {}).items()}
        names = {MemberRef(group_id, MemberId(one)): MemberId(it) for one, it in written.get("named", {}).items()}
        move = written.get("move")
        unfinished = None if move is None else _read_move(group_id, move)
        if place is not None:
            self._router.place_group(group_id, place)
        for seat in seats:
            self._mapped.recall(group_id, seat)
        for member, seat_id in names.items():
            self._names.put(member, seat_id)
        # The client of a seat may know it by now, and is heard by that name, too.
        by_seat = dict.fromkeys((seat.seat_id for seat in seats if seat.seat_id != seat.member_id), Road.MAPPED)
        for member_id, road in (by_seat | roads).items():
            self._router.move_member(group_id, member_id, road)
        if move is not None:
            self._unfinished[group_id] = move
        return unfinished


class SpacedWrites:
    """Writes a group's place anew as its members come and go: the first time at once, and what follows too soon as one.

    Behind a release of 1,000 members the first rebalance ends 1,000 mappings. As the journal has one fact for a whole
    group, to write each end by itself took a thousand times what all of them say: 300 MB, and seconds in which nobody
    else was answered. A bridge that is killed before the last was written knows a client by its first words, as ever.
    """

    def __init__(
        self,
        write: Callable[[GroupId], None],
        now_ms: Callable[[], int],
        spare: Callable[[Callable[[], object]], None],
    ) -> None:
        """`write` puts down all that holds for a group now; `spare` does it where a failure is no other group's."""
        self._write = write
        self._now_ms = now_ms
        self._spare = spare
        self._written_ms: dict[GroupId, int] = {}
        self._waiting: set[GroupId] = set()
        self._news = trio.Event()

    def write(self, group_id: GroupId) -> None:
        """Something of a group is otherwise than it was written."""
        now_ms = self._now_ms()
        if group_id in self._waiting:
            return
        if now_ms - self._written_ms.get(group_id, -PAUSE_MS) < PAUSE_MS:
            self._waiting.add(group_id)
            self._news.set()
            return
        self._written_ms[group_id] = now_ms
        self._write(group_id)

    async def keep_writing(self) -> None:
        """Write what waits, until cancelled, and then at once."""
        try:
            while True:
                if not self._waiting:
                    self._news = trio.Event()
                    await self._news.wait()
                await trio.sleep(PAUSE_MS / 1000)
                self._write_waiting()
        finally:
            self._write_waiting()

    def _write_waiting(self) -> None:
        now_ms, waiting, self._waiting = self._now_ms(), self._waiting, set()
        # Who was written of longer ago is written of at once again.
        self._written_ms = {one: ms for one, ms in self._written_ms.items() if now_ms - ms < PAUSE_MS}
        for group_id in waiting:
            self._written_ms[group_id] = now_ms
            # Of a round that ended with the first failure all others had waited for their next change.
            self._spare(partial(self._write, group_id))


def _write_seat(seat: MappedSeat) -> _WrittenSeat:
    written = _WrittenSeat(
        member_id=seat.member_id,
        generation=seat.generation,
        seat_id=seat.seat_id,
        seat_generation=seat.seat_generation,
        is_called=seat.is_called,
    )
    if seat.member is not None:
        written["said"] = to_json((seat.member,))
    return written


def _read_seat(seat: _WrittenSeat) -> MappedSeat:
    return MappedSeat(
        member_id=MemberId(seat["member_id"]),
        generation=seat["generation"],
        seat_id=MemberId(seat["seat_id"]),
        seat_generation=seat["seat_generation"],
        is_called=seat["is_called"],
        member=next(iter(from_json(seat.get("said", []))), None),
    )


def _read_move(group_id: GroupId, move: _WrittenMove) -> UnfinishedMove:
    only = tuple(MemberId(one) for one in move["only"])
    members = tuple(from_json(move["members"]))
    origin, to = Road(move["origin"]), Road(move["to"])
    return UnfinishedMove(group_id, origin, to, only, members, allow_rebalance=move.get("rebalance", False))


def unwritten(group_id: GroupId) -> Obstacle:
    """Nothing begins that a restart would not know of."""
    return Obstacle(
        "EB-MOVE-206",
        f"that {quote(group_id)} is about to be moved can't be written down: the journal fails",
        "see what the log says of the journal, and order the move again",
    )
