"""Groups that are moved under a virtual clock: each client has a connection, whose broker says what a test wants."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import trio

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
from bridge.coordinators.moving.places import Places
from bridge.coordinators.moving.requests import Ways, classic_member_of
from bridge.coordinators.moving.surroundings import Around, MoveEars
from bridge.coordinators.placement import GroupPlaces
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.migration.orders import MoveOrder, MoveProgress, MoveStage
from bridge.migration.roster import Roster
from bridge.migration.route import Road, Router, Rule
from bridge.net.clock import TrioClock
from bridge.session.contracts import Groups
from bridge.supervision import Failures
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeBroker, FakeVia
from tests.support.engine_coordinators import EngineCoordinators
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC, counted_ids
from tests.support.upstream_world import UpstreamWorld, known, upstream_world
from translators.classic_member.states import MemberLimits
from translators.dialects.admin import DescribedGroup, DescribedMember
from translators.dialects.classic import Heartbeat, JoinGroup, JoinGroupReply, Protocol, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, RequestRef, TopicPartition, via_of
from translators.dialects.messages import GroupReply

GENERATION = 5
SESSION_MS = 30_000
LONG_S = 60.0
LOOK_PAUSE_S = 0.05
BLOB = encode_subscription(Subscription(version=0, topics=(TOPIC,)))


@dataclass(slots=True)
class FakeFacts:
    """What is kept over restarts; with `fails` nothing can be written."""

    kept: dict[str, str] = field(default_factory=dict)
    fails: bool = False
    written: int = 0

    def fact(self, name: str) -> str | None:
        """See `places.DurableFacts`."""
        return self.kept.get(name)

    def keep_fact(self, name: str, text: str) -> None:
        """See `places.DurableFacts`."""
        self.kept[name] = text
        if not text:
            del self.kept[name]

    async def facts_written(self) -> bool:
        """See `places.DurableFacts`."""
        await trio.sleep(0.001)
        self.written += 1
        return not self.fails


@dataclass(slots=True)
class MovingWorld:
    """The moves of one bridge, and its clients: one connection for each member that is heard."""

    upstream: UpstreamWorld
    router: Router
    mapped: MappedGroups
    moving: MovingGroups
    places: Places
    roster: Roster
    facts: FakeFacts
    live: LiveMoves
    parts: Parts
    roads: Mapping[Road, Groups]
    vias: dict[str, FakeVia] = field(default_factory=dict)
    numbers: "count[int]" = field(default_factory=count)

    @property
    def candidates(self) -> Candidates:
        """Who looks for members."""
        return self.parts.candidates

    def via(self, member_id: str) -> FakeVia:
        """The connection of a client."""
        if member_id not in self.vias:
            connection = len(self.upstream.vias) + 1
            self.vias[member_id] = self.upstream.vias[connection] = FakeVia(connection=connection)
        return self.vias[member_id]

    def reconnect(self, member_id: str) -> FakeVia:
        """The client's connection is lost, and it has another one."""
        lost = self.vias.pop(member_id)
        questions, lost.open = lost.open, []
        del self.upstream.vias[lost.connection]
        self.upstream.vias[-lost.connection] = FakeVia(connection=-lost.connection)
        for _, on_answer in questions:
            on_answer(None)
        for groups in self.roads.values():
            groups.disconnected(lost.connection)
        return self.via(member_id)

    def send(self, member_id: str, request: Request) -> RequestRef:
        """A client's request goes where its session would have it go; gives where its answer will be."""
        ref = RequestRef(0, self.via(member_id).connection, next(self.numbers))
        road = self.router.road(GROUP, classic_member_of(request))
        if road is Road.PASS:
            self.via(member_id).ask(ref, request, lambda reply: self.deliver(ref, reply))
        else:
            self.roads[road].submit(ref, CLIENT, via_of(ref), request)
        return ref

    def deliver(self, ref: RequestRef, reply: GroupReply | None) -> None:
        """An answer comes to a client."""
        assert ref not in self.upstream.replies, f"{ref} was answered twice"
        if reply is not None:
            self.upstream.replies[ref] = reply

    def beat(self, member_id: str, generation: int = GENERATION) -> RequestRef:
        """A classic heartbeat."""
        return self.send(member_id, Heartbeat(GROUP, generation, MemberId(member_id), None))

    def reply(self, ref: RequestRef) -> Reply | None:
        """What a client was answered, None for nothing yet."""
        return self.upstream.replies.get(ref)

    def code(self, ref: RequestRef) -> ErrorCode | None:
        """The error code of it."""
        found = self.reply(ref)
        error = getattr(found, "error", None)
        return error if isinstance(error, ErrorCode) else None

    def asked(self, member_id: str) -> list[Request]:
        """What the broker was asked by this connection and has not answered."""
        return [request for request, _ in self.via(member_id).open]

    def answer(self, member_id: str, reply: Reply | None) -> Request:
        """The broker answers the oldest question on this connection."""
        return self.via(member_id).answer(lambda _: reply)

    def at_broker(self, members: Mapping[str, frozenset[TopicPartition]], state: str = "Stable") -> None:
        """The broker describes a classic group of these members, who have joined by the bridge."""
        self.upstream.broker.described = described(members, state)

    def joined(self, *members: str) -> None:
        """These were heard as they joined and synced."""
        for member_id in members:
            via = via_of(RequestRef(0, self.via(member_id).connection, 0))
            self.roster.joins(via, CLIENT, classic_join(member_id))
            sync = SyncGroup(group_id=GROUP, generation=GENERATION, member_id=MemberId(member_id), instance_id=None)
            self.roster.syncs(via, CLIENT, sync)

    def formed(self, members: Mapping[str, frozenset[TopicPartition]]) -> None:
        """A classic group of these members has come to rest at the broker, and all were heard as it formed."""
        self.at_broker(members)
        self.joined(*members)

    def accepts(self, member_id: str, generation: int = GENERATION) -> JoinGroup:
        """The broker answers the JoinGroup that is asked in a member's place: it is a classic member."""
        reply = JoinGroupReply(
            error=ErrorCode.NONE, member_id=MemberId(member_id), generation=generation, protocol_name="range"
        )
        asked = self.answer(member_id, reply)
        assert isinstance(asked, JoinGroup), asked
        return asked

    def assigns(self, member_id: str, assigned: frozenset[TopicPartition]) -> SyncGroup:
        """It answers the SyncGroup that follows: this is what the member has."""
        reply = SyncGroupReply(error=ErrorCode.NONE, assignment=encode_assignment(assigned))
        asked = self.answer(member_id, reply)
        assert isinstance(asked, SyncGroup), asked
        return asked

    def given_id(self, *newcomers: str) -> None:
        """These asked to join without an id, and were given theirs."""
        for member_id in newcomers:
            via = via_of(RequestRef(0, self.via(member_id).connection, 0))
            self.roster.joins(via, CLIENT, classic_join(""))

    async def order(self, to: Road, *members: str) -> MoveProgress:
        """Order a move, and wait until it is refused, begun or over."""
        self.live.start(MoveOrder(GROUP, to, tuple(map(MemberId, members))))
        with trio.fail_after(LONG_S):
            await self._prepared()
        # A give-back asks for nobody before it is written.
        await trio.sleep(0.05)
        return self.progress()

    async def _prepared(self) -> None:
        await trio.sleep(LOOK_PAUSE_S)
        if self.progress().stage is MoveStage.PREPARING:
            await self._prepared()

    def progress(self) -> MoveProgress:
        """The last move."""
        found = self.live.progress(GROUP)
        assert found is not None
        return found

    def road(self, member_id: str = "") -> Road:
        """Where a member's requests go, or those of newcomers."""
        return self.router.road(GROUP, MemberId(member_id))


def described(members: Mapping[str, frozenset[TopicPartition]], state: str = "Stable") -> DescribedGroup:
    """A classic group as its broker describes it: of one that is not stable it shows no bytes."""
    is_stable = state == "Stable"
    return DescribedGroup(
        error=ErrorCode.NONE,
        group_id=GROUP,
        group_state=state,
        protocol_type="consumer",
        protocol_data="range" if is_stable else "",
        members=tuple(
            DescribedMember(
                member_id=MemberId(member_id),
                instance_id=None,
                client_id="client",
                client_host="/127.0.0.1",
                metadata=BLOB if is_stable else b"",
                assignment=encode_assignment(assigned) if is_stable else b"",
            )
            for member_id, assigned in members.items()
        ),
    )


def classic_join(member_id: str, blob: bytes = BLOB, protocol: str = "range") -> JoinGroup:
    """A JoinGroup of a classic client."""
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member_id),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol(protocol, blob),),
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
    )


def no_embedded_groups(broker: FakeBroker, clients: Clients) -> EmbeddedGroups:
    """The bridge's own groups, of which there are none."""
    shard = Shard(settings=EngineSettings(), assignors=registry)
    owner = EmbeddedOwner(shard, Catalog(), Machines(MemberLimits()), counted_ids(count(1)))
    return EmbeddedGroups(owner, broker, TrioClock(), clients, EmbeddedSettings())


@asynccontextmanager
async def moving_world(
    facts: FakeFacts | None = None,
    journal: MemoryJournal | None = None,
    rules: tuple[Rule, ...] = (),
    resume_ms: int = 0,
    ears: MoveEars | None = None,
) -> AsyncIterator[MovingWorld]:
    """Run until the end of the block; with facts and journal of an earlier life it goes on with them."""
    async with upstream_world(journal, resume_ms) as upstream:
        clock, kept = TrioClock(), facts or FakeFacts()
        router, roster = Router(rules), Roster()

        def deliver(ref: RequestRef, reply: GroupReply) -> None:
            world.deliver(ref, reply)

        def unmapped(member: MemberRef, goes_on: MemberId | None) -> None:
            live.unmapped(member, goes_on)

        clients = Clients(deliver, lambda via: known(upstream.vias, via.connection))
        mapped = MappedGroups(Clients(deliver, upstream.groups.names.access), unmapped)
        mapped.settled = router.return_member
        roads: dict[Road, Groups] = {Road.UPSTREAM: upstream.groups, Road.MAPPED: mapped}
        ways = Ways(router, clients.access, clients.deliver, roads, roster)
        moving = roads[Road.MOVING] = MovingGroups(ways, clock.now_ms)
        places = Places(router, mapped, upstream.groups.names, kept)
        around = Around(
            ways=ways,
            upstream=upstream.groups,
            mapped=mapped,
            now_ms=clock.now_ms,
        )
        stays = GroupPlaces(router, upstream.broker, _nowhere, lambda _: False, clock.now_ms)
        embedded = no_embedded_groups(upstream.broker, clients)
        candidates = Candidates(around=around, router=router, roster=roster, broker=upstream.broker, embedded=embedded)
        parts = Parts(
            candidates=candidates,
            stays=stays,
            moving=moving,
            places=places,
            coordinators=EngineCoordinators(),
            clock=clock,
            wall_ms=clock.now_ms,
        )
        live = LiveMoves(parts, Failures())
        live.ears = live.ears if ears is None else ears
        upstream.groups.tell_of_the_gone(live.forgotten)
        world = MovingWorld(upstream, router, mapped, moving, places, roster, kept, live, parts, roads)
        live.resume(tuple(places.restore(dict(kept.kept))))
        async with trio.open_nursery() as nursery:
            live.start_in(nursery)
            yield world
            nursery.cancel_scope.cancel()


def _nowhere(group_id: GroupId) -> Road | None:
    return None


def ref_of(member_id: str) -> MemberRef:
    """A member of the group."""
    return MemberRef(GROUP, MemberId(member_id))
