"""One life of the bridge, put together as the composition root does it, over journals that outlive it."""

from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random

import trio

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.groups import EmbeddedGroups, EmbeddedSettings
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.ledger import Clients
from bridge.coordinators.machines import Machines
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.candidates import Candidates
from bridge.coordinators.moving.groups import MovingGroups
from bridge.coordinators.moving.journey_door import Parts
from bridge.coordinators.moving.moves import LiveMoves
from bridge.coordinators.moving.places import FACTS, Places
from bridge.coordinators.moving.requests import OfMember, Ways, classic_member_of
from bridge.coordinators.moving.sight import GroupEars
from bridge.coordinators.moving.surroundings import Around
from bridge.coordinators.placement import GroupPlaces
from bridge.coordinators.upstream.groups import UpstreamGroups, UpstreamSettings
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.migration.roster import Roster
from bridge.migration.route import Road, Router, Rule
from bridge.net.clock import TrioClock
from bridge.ports import Condense
from bridge.session.contracts import Groups, NoAccess
from bridge.wire.codec.registry import error_reply
from tests.support.moves_simulation.broker import ClientWay, SimulatedBroker
from tests.support.owned_group import counted_ids
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, MemberRef, RequestRef, Via, via_of
from translators.dialects.messages import GroupReply, GroupRequest

IDS_PER_LIFE = 1_000_000
APPEND_MAX_MS = 8


@dataclass(slots=True)
class KeptJournal:
    """What is written, over all lives."""

    entries: list[bytes] = field(default_factory=list)


class SlowJournal:
    """A journal of one life (`ports.Journal`): what is on its way when that ends was written or not, nobody knows."""

    def __init__(self, kept: KeptJournal, chance: Random) -> None:
        self._kept = kept
        self._chance = chance
        self._ends_s = 0.0

    def append(self, entries: Collection[bytes]) -> Awaitable[None] | None:
        """See `ports.Journal`."""
        if self._chance.random() < 0.3:
            self._kept.entries += entries
            return None
        return Appending(self, tuple(entries), self._chance.randint(0, APPEND_MAX_MS) / 1000)

    async def write(self, entries: Collection[bytes], takes_s: float) -> None:
        """Write them after a while, if the bridge lives so long."""
        try:
            await trio.sleep(takes_s)
        except trio.Cancelled:
            if self._chance.random() < 0.5:
                self._kept.entries += entries
            raise
        self._kept.entries += entries

    def replay(self) -> Iterator[bytes]:
        """See `ports.Journal`."""
        return iter(tuple(self._kept.entries))

    def is_overgrown(self) -> bool:
        """See `ports.Journal`."""
        return False

    async def compact(self, condense: Condense) -> None:
        """See `ports.Journal`."""

    def close(self) -> None:
        """See `ports.Journal`."""


@dataclass(frozen=True, slots=True)
class Appending:
    """Entries on their way: a bridge that dies before it waits for them has written nothing, which is no mistake."""

    journal: SlowJournal
    entries: tuple[bytes, ...]
    takes_s: float

    def __await__(self) -> Generator[object, object, None]:
        """Write them."""
        return self.journal.write(self.entries, self.takes_s).__await__()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlives:
    """What is there before a life of the bridge and after it."""

    broker: SimulatedBroker
    embedded_journal: KeptJournal
    upstream_journal: KeptJournal
    rules: tuple[Rule, ...]
    answer: Callable[[RequestRef, GroupReply], None]
    owner_of: Callable[[int], int]
    """Whose connection it is."""
    chance: Random
    engine: EngineSettings


class BridgeLife:
    """Everything that dies with the process."""

    def __init__(self, number: int, around: Outlives) -> None:
        self.is_alive = True
        self._around = around
        self._ways: dict[int, ClientWay] = {}
        self._nursery: trio.Nursery | None = None
        self._beats: dict[RequestRef, Heartbeat] = {}
        self._calm: dict[int, Heartbeat] = {}
        clock, broker = TrioClock(), around.broker
        ids = count(number * IDS_PER_LIFE + 1)
        self.router, self.roster = Router(around.rules), Roster()
        clients = Clients(self._deliver, self._access)
        shard = Shard(settings=around.engine, assignors=registry)
        owner = EmbeddedOwner(shard, Catalog(), Machines(MemberLimits()), counted_ids(ids))
        self.embedded = EmbeddedGroups(owner, broker, clock, clients, EmbeddedSettings())
        self.embedded.guard(lambda: None)
        settings = UpstreamSettings(
            limits=MemberLimits(),
            bounds=SessionBounds(6_000, 1_800_000),
            fresh_member_id=lambda: MemberId(f"fresh-{next(ids)}"),
            topics_refresh_ms=5_000,
            commit_drain_ms=5_000,
            resume_ms=45_000 if number else 0,
        )
        self.upstream = UpstreamGroups(broker, clock, clients, settings, self.embedded.supervised)
        self.mapped = MappedGroups(Clients(self._deliver, self.upstream.names.access), self._unmapped)
        self.mapped.joins = self.roster.joins
        self.ears = GroupEars(self.upstream.catalog)
        self.mapped.passes = self.ears.hear
        self.roads: dict[Road, Groups] = {
            Road.EMBEDDED: self.embedded,
            Road.UPSTREAM: self.upstream,
            Road.MAPPED: self.mapped,
        }
        ways = Ways(self.router, self._access, self._deliver, self.roads, self.roster)
        self.moving = self.roads[Road.MOVING] = MovingGroups(ways, clock.now_ms)
        self.moving.lost = lambda connection: self.roster.disconnected(Via(0, connection))
        self.places = Places(self.router, self.mapped, self.upstream.names, self.embedded)
        self.stays = GroupPlaces(self.router, broker, self._lives, self.embedded.holds, clock.now_ms)
        parts = self._parts(ways, ids)
        parts.candidates.preflight.listen = self.ears.note_ways
        self.live = LiveMoves(parts, self.embedded.supervised)
        self.upstream.tell_of_the_gone(self.live.forgotten)
        self.upstream.tell_principals(lambda _: "everybody")

    def _parts(self, ways: Ways, ids: "count[int]") -> Parts:
        clock, broker = TrioClock(), self._around.broker
        surroundings = Around(
            ways=ways,
            upstream=self.upstream,
            mapped=self.mapped,
            now_ms=clock.now_ms,
        )
        return Parts(
            candidates=Candidates(
                around=surroundings, router=self.router, roster=self.roster, broker=broker, embedded=self.embedded
            ),
            stays=self.stays,
            moving=self.moving,
            places=self.places,
            coordinators=broker,
            clock=clock,
            wall_ms=clock.now_ms,
        )

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Live until killed."""
        around = self._around
        self.embedded.keep(SlowJournal(around.embedded_journal, around.chance))
        self.upstream.keep(SlowJournal(around.upstream_journal, around.chance))
        self.live.resume(tuple(self.places.restore(self.embedded.facts(FACTS))))
        self.stays.keep_living((*self.embedded.groups(), *self.upstream.groups()))
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            await nursery.start(self.embedded.run)
            await nursery.start(self.upstream.run)
            self.live.start_in(nursery)
            # As in a running bridge, where who can ask brokers comes behind the start.
            self.live.reconverts = _reconverts
            task_status.started()
            await trio.sleep_forever()

    def kill(self) -> None:
        """End at once."""
        self.is_alive = False
        for way in self._ways.values():
            way.line.unanswered.clear()
            self._around.broker.close(way.line)
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def failures(self) -> Mapping[str, int]:
        """The tasks that failed, by their names."""
        return {name: times for name, times in self.embedded.supervised.counts.items() if times}

    # ------------------------------------------------------------------ what sessions do

    def arrive(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """A request came by a client's connection."""
        if ref.connection not in self._ways:
            line = self._around.broker.connect(client, self._around.owner_of(ref.connection))
            self._ways[ref.connection] = ClientWay(self._around.broker, line, ref.connection)
        group_id = _group_of(request)
        if self._road(group_id, request) is not Road.PASS and not self.stays.is_known(group_id):
            assert self._nursery is not None
            self._nursery.start_soon(self._place, ref, client, request)
        else:
            self._route(ref, client, request)

    async def _place(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        refusal = await self.stays.place(_group_of(request), client.client_host)
        if refusal is not None:
            self._deliver(ref, error_reply(request, refusal.code))
        else:
            self._route(ref, client, request)

    def _road(self, group_id: GroupId, request: GroupRequest) -> Road:
        road = self.router.road(group_id, classic_member_of(request))
        is_at_broker = road is Road.UPSTREAM or road is Road.MAPPED
        return Road.PASS if is_at_broker and not isinstance(request, OfMember) else road

    def _route(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        road, via = self._road(_group_of(request), request), via_of(ref)
        if road is not Road.PASS:
            groups = self.roads[road]
            # The short way is for the last heartbeat of its connection over again (`session.heartbeat_lane`).
            is_same = isinstance(request, Heartbeat) and self._calm.get(ref.connection) == request
            if isinstance(request, Heartbeat) and is_same and groups.beat(client, request):
                self._around.answer(ref, HeartbeatReply(ErrorCode.NONE))
                return
            if isinstance(request, Heartbeat):
                self._beats[ref] = request
            groups.submit(ref, client, via, request)
            return
        self.roster.hears(via, client, request)
        self.ears.hear(via, request)
        self._access(via).ask(ref, request, lambda reply: None if reply is None else self._deliver(ref, reply))

    def lose_connection(self, connection: int) -> None:
        """A client's connection is gone, and its way to the broker with it."""
        self._calm.pop(connection, None)
        way = self._ways.pop(connection, None)
        if way is not None:
            self._around.broker.close(way.line)
        for groups in self.roads.values():
            groups.disconnected(connection)

    def _access(self, via: Via) -> ClientWay | NoAccess:
        return self._ways.get(via.connection) or NoAccess()

    def _deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        if not self.is_alive or ref.connection not in self._ways:
            return
        beat = self._beats.pop(ref, None)
        if beat is not None and reply == HeartbeatReply(ErrorCode.NONE):
            self._calm[ref.connection] = beat
        self._around.answer(ref, reply)

    def _unmapped(self, member: MemberRef, goes_on: MemberId | None) -> None:
        self.live.unmapped(member, goes_on)

    def _lives(self, group_id: GroupId) -> Road | None:
        if self.embedded.lives(group_id):
            return Road.EMBEDDED
        return Road.UPSTREAM if group_id in self.upstream.groups() else None


async def _reconverts() -> bool:
    return True


def _group_of(request: GroupRequest) -> GroupId:
    return request.group_id  # type: ignore[union-attr]  # clients of this world ask of one group
