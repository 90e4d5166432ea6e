"""One world of moves: clients behind the bridge and beside it, its lives, operators, and a broker that coordinates."""

from functools import partial
from random import Random

import trio

from bridge.engine.model import Phase as GroupPhase
from bridge.engine.settings import EngineSettings
from bridge.migration.orders import MemberStage, MoveOrder, MoveProgress
from bridge.migration.route import Road, Rule
from tests.support.moves_simulation.bridge_life import BridgeLife, KeptJournal, Outlives
from tests.support.moves_simulation.broker import BrokerLine, SimulatedBroker
from tests.support.moves_simulation.clients import make_actor
from tests.support.moves_simulation.kafka_group import KafkaGroup
from tests.support.moves_simulation.schedule import Conditions
from tests.support.moves_simulation.timeline import TrioTimeline
from tests.support.simulation.actor import GROUP, Actor, Outside, Role
from tests.support.simulation.cluster import Topics
from tests.support.simulation.network import Network
from tests.support.simulation.oracle import InvariantBroken, Oracle
from tests.support.simulation.profiles import PROFILES
from translators.dialects.classic import HeartbeatReply, JoinGroup, JoinGroupReply, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, RequestRef, TopicName, TopicPartition
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit

TOPIC = TopicName("orders")
CONSUMER_SESSION_MS = 20_000
CONSUMER_HEARTBEAT_MS = 2_000
SHORTEST_SESSION_MS = 10_000
HOLD_MAX_MS = SHORTEST_SESSION_MS // 3 + 1_500
"""A third of the shortest session; a look, and what the ways to and from the broker take."""
DIRECT_LINES = 1_000_000
"""From here on lines are numbered that do not come by the bridge."""


class MovesWorld:
    """Everything there is; runs in the nursery that it is given."""

    def __init__(self, conditions: Conditions, seed: int, nursery: trio.Nursery) -> None:
        self.conditions, self.seed = conditions, seed
        self.broken: InvariantBroken | None = None
        self.is_over = trio.Event()
        self.timeline = TrioTimeline(self.fail)
        self.oracle = Oracle(lambda: self.timeline.now_ms)
        self.topics = Topics()
        self.topics.create(TOPIC, conditions.partitions)
        self.network = Network(self.timeline, seed, conditions.latency_ms, self._arrive, self._lose_connection)
        self.detour = Network(self.timeline, seed + 1, conditions.latency_ms, self._reach_broker, self._lose_detour)
        settings = EngineSettings(
            group_initial_rebalance_delay_ms=conditions.initial_delay_ms,
            group_consumer_session_timeout_ms=CONSUMER_SESSION_MS,
            group_consumer_heartbeat_interval_ms=CONSUMER_HEARTBEAT_MS,
            departure_wait_ms=0,
        )
        group = KafkaGroup(conditions.release, settings, self.topics.all())
        group.on_left_behind = self._leave_behind
        self.broker = SimulatedBroker(self.timeline, seed, group, self.topics, self._land)
        self.broker.latency_ms, self.broker.loses = conditions.broker_latency_ms, conditions.loses
        self.fleet: dict[int, Actor] = {}
        self.commits_landed = self.orders = self.lives = 0
        self.verdicts: list[MoveProgress] = []
        self.life: BridgeLife | None = None
        self._last_life: BridgeLife | None = None
        self._actors: dict[int, Actor] = {}
        self._detour_lines: dict[int, BrokerLine] = {}
        self._asked: dict[RequestRef, tuple[int, bool]] = {}
        self._nursery = nursery
        self._outlives = Outlives(
            broker=self.broker,
            embedded_journal=KeptJournal(),
            upstream_journal=KeptJournal(),
            rules=() if conditions.begins is Road.PASS else (Rule(GROUP, conditions.begins),),
            answer=self._answer,
            owner_of=self.network.client_of,
            chance=Random(f"bridge {seed}"),
            engine=EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0),
        )

    def _leave_behind(self, seat_id: MemberId) -> None:
        for actor in self.fleet.values():
            if self._seat_id(actor) == seat_id:
                self.oracle.leave_behind(actor.role.number)

    def _seat_id(self, actor: Actor) -> MemberId:
        """As whom the broker knows a client: by the mapping of the bridge, also of one that is dead by now."""
        life = self._last_life
        seat = None if life is None else life.mapped.seat(GROUP, actor.member_id)
        return actor.member_id if seat is None else seat.seat_id

    def fail(self, problem: Exception) -> None:
        """A law was broken, or something raised."""
        if self.broken is None:
            if isinstance(problem, InvariantBroken):
                self.broken = problem
            else:
                self.broken = InvariantBroken("nothing raises", repr(problem))
                self.broken.__cause__ = problem
        self.is_over.set()

    # ------------------------------------------------------------------ what can be done

    def living(self) -> list[Actor]:
        """The clients that are alive, in the order of their places."""
        return [self.fleet[place] for place in sorted(self.fleet) if self.fleet[place].is_alive]

    def start(self, place: int, name: str) -> None:
        """Start a client at a place where none lives."""
        if place in self.fleet and self.fleet[place].is_alive:
            return
        if place in self.conditions.direct_places and self._is_embedded():
            # To such a client the broker gives everything, which is why nobody may come by another way then.
            return
        profile = PROFILES[name]
        is_static = place in self.conditions.static_places and profile.may_be_static
        role = Role(
            number=len(self._actors) + 1,
            place=place,
            profile=profile,
            topics=(TOPIC,),
            instance_id=InstanceId(f"instance-{place}") if is_static else None,
            session_ms=CONSUMER_SESSION_MS if profile.is_native else profile.session_ms,
        )
        network = self.detour if place in self.conditions.direct_places else self.network
        outside = Outside(self.timeline, self.oracle, network, self.seed)
        actor = make_actor(role, outside, self.topics, self.broker.offsets)
        self.fleet[place] = self._actors[role.number] = actor
        actor.note("starts beside the bridge" if network is self.detour else "starts")
        actor.start()

    def _is_embedded(self) -> bool:
        """Whether the group is the bridge's own, or on its way to be; while no bridge runs that is not known."""
        life = self.life
        if life is None or life.embedded.holds(GROUP) or life.router.road_by_rule(GROUP) is Road.EMBEDDED:
            return True
        moves = life.live.all()
        return any(not one.stage.has_ended and one.order.destination is Road.EMBEDDED for one in moves)

    async def begin_life(self) -> None:
        """Start the bridge."""
        life = BridgeLife(self.lives, self._outlives)
        self.lives += 1
        await self._nursery.start(life.run)
        self.life = self._last_life = life
        self.oracle.note("bridge", f"life {self.lives} begins")

    def kill_bridge(self, down_ms: int) -> None:
        """End it in the middle of whatever it does; it comes again."""
        life, self.life = self.life, None
        if life is None:
            return
        self.oracle.note("bridge", "is killed")
        self.check_tasks(life)
        life.kill()
        self.network.cut_all()
        self._asked.clear()
        self.timeline.after(down_ms, lambda: self._nursery.start_soon(self.begin_life))

    def check_tasks(self, life: BridgeLife) -> None:
        """No task of the bridge failed."""
        if life.failures():
            raise InvariantBroken("nothing raises", f"tasks failed: {life.failures()}")

    def order(self, to: Road, places: tuple[int, ...]) -> None:
        """An operator orders a move of the group, or of some of its members."""
        if self.life is None:
            return
        members = tuple(self.fleet[place].member_id for place in places if place in self.fleet)
        named = tuple(MemberId(one) for one in members if one)
        if places and not named:
            return
        self.orders += 1
        self.oracle.note("operator", f"orders a move to {to} of {named or 'the group'}")
        self.life.live.start(MoveOrder(GROUP, to, named))

    def stop(self) -> None:
        """An operator stops the move."""
        if self.life is not None:
            self.oracle.note("operator", "stops the move")
            self.life.live.stop(GROUP)

    def busy_broker(self, for_ms: int) -> None:
        """The coordinator is elsewhere, or loads, for a while."""
        rng = Random(f"busy {self.seed} {self.timeline.now_ms}")
        self.broker.group.busy = rng.choice((ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        self.oracle.note("broker", f"says {self.broker.group.busy.name} for {for_ms} ms")
        self.timeline.after(for_ms, self._unbusy)

    def _unbusy(self) -> None:
        if self.broker.group.busy is not None:
            self.broker.group.load(self.timeline.now_ms)

    def kill_broker(self) -> None:
        """The broker dies and is there again; all connections through the bridge and beside it are gone."""
        self.oracle.note("broker", "is killed")
        self.broker.die()
        for actor in self.living():
            actor.outside.network.cut(actor.role.number)

    def hang_broker(self, for_ms: int) -> None:
        """The broker answers nobody for so long, and hangs up on nobody: whoever it has not heard for a session may be
        told that he is none, and what he had be given to others.
        """
        self.oracle.lose_memory(self.timeline.now_ms + SHORTEST_SESSION_MS)
        self.oracle.note("broker", f"hangs for {for_ms} ms")
        self.broker.hang(for_ms)

    def heal(self) -> None:
        """Faults stop."""
        self._unbusy()
        self.broker.loses = 0
        for actor in self.living():
            actor.outside.network.lag(actor.role.number, 0, 0)

    # ------------------------------------------------------------------ what happens

    def _arrive(self, ref: RequestRef, client: int, request: GroupRequest) -> None:
        if self.life is None:
            self.network.cut(client)
            return
        parks = isinstance(request, JoinGroup | SyncGroup)
        # What comes behind a parked request of its connection is the broker's to answer only behind that one.
        is_behind = parks or any(
            one.connection == ref.connection and parked for one, (_, parked) in self._asked.items()
        )
        self._asked[ref] = (self.timeline.now_ms, is_behind)
        self._hear(client, request)
        self.life.arrive(ref, self._actors[client].identity, request)

    def _lose_connection(self, connection: int) -> None:
        self._asked = {ref: asked for ref, asked in self._asked.items() if ref.connection != connection}
        if self.life is not None:
            self.life.lose_connection(connection)

    def _answer(self, ref: RequestRef, reply: GroupReply) -> None:
        try:
            self._check_hold(ref)
            client = self.network.client_of(ref.connection)
            self._revive(client, reply)
            is_own_word = self.timeline.now_ms < self.broker.hangs_until_ms
            if is_own_word and reply == HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID):
                self.timeline.after(1, partial(self._check_given_up, self._actors[client].member_id))
            self.network.answer(ref, reply)
        except InvariantBroken as broken:
            self.fail(broken)

    def _check_given_up(self, member_id: MemberId) -> None:
        """Its client, whom the bridge told so by itself, joins anew: a move that waited for its former self had that
        wait, too.
        """
        for move in () if self.life is None else self.life.live.all():
            waited_for = {
                one.member_id for one in move.members if one.stage in (MemberStage.WAITING, MemberStage.MOVING)
            }
            if not move.stage.has_ended and member_id in waited_for:
                raise InvariantBroken("no move waits for who was told to join anew", member_id)

    def _check_hold(self, ref: RequestRef) -> None:
        """Nothing but a JoinGroup or SyncGroup, and what comes behind one, is held for longer than its bound."""
        asked = self._asked.pop(ref, None)
        if asked is None:
            return
        since_ms, parks = asked
        held_ms = self.timeline.now_ms - since_ms
        if not parks and held_ms > HOLD_MAX_MS and since_ms >= self.broker.hangs_until_ms:
            raise InvariantBroken("no request is held beyond its bound", f"{ref} for {held_ms} ms")

    def _hear(self, client: int, request: GroupRequest) -> None:
        """A commit keeps a session alive on some roads only, and SyncGroup of who comes late to it on none (K1.62)."""
        is_late = isinstance(request, SyncGroup) and self._is_stable()
        if not is_late and not isinstance(request, OffsetCommit):
            self.oracle.hear(client)

    def _is_stable(self) -> bool:
        """Whether it is a classic group, wherever it lives, that has what its leader dealt."""
        engine = None if self.life is None else self.life.embedded.owner.shard.classic_groups.get(GROUP)
        return any(one is not None and one.phase is GroupPhase.STABLE for one in (engine, self.broker.group.classic))

    def _revive(self, client: int, reply: GroupReply) -> None:
        if isinstance(reply, JoinGroupReply | ConsumerGroupHeartbeatReply) and reply.error is ErrorCode.NONE:
            self.oracle.revive(client)

    def _reach_broker(self, ref: RequestRef, client: int, request: GroupRequest) -> None:
        """A request that comes by another way than the bridge."""
        self._hear(client, request)
        line = self._detour_lines.get(ref.connection)
        if line is None:
            line = self.broker.connect(self._actors[client].identity, client)
            self._detour_lines[ref.connection] = line

        def heard(reply: GroupReply | None) -> None:
            if reply is not None:
                self._revive(client, reply)
                self.detour.answer(ref, reply)

        self.broker.send(line, request, heard)

    def _lose_detour(self, connection: int) -> None:
        line = self._detour_lines.pop(connection, None)
        if line is not None:
            self.broker.close(line)

    def _land(self, line: BrokerLine, partition: TopicPartition, offset: int) -> None:
        """A commit is in the broker: it is not behind the last one, and nobody else may be using its partition."""
        self.commits_landed += 1
        owner = line.owner
        committed = self.broker.offsets.get(partition, 0)
        if owner is None or self._actors[owner].role.profile.is_native:
            # Of a consumer member Kafka itself looks at the epoch only.
            return
        name = self._actors[owner].role.name
        # Behind a JoinGroup that waits a broker leaves requests of the same connection unread, and reads them later
        # though their client has gone on by another one: so it is without a bridge, too.
        if offset < committed and line.is_open:
            raise InvariantBroken("no commit goes back", f"{partition} from {committed} to {offset} by {name}")
        rivals = [
            self.oracle.standings[holder].name
            for holder in self.oracle.holders(partition)
            if holder != owner and not self.oracle.is_excused(holder)
        ]
        if rivals:
            raise InvariantBroken("no commit lands after its partition's release", f"{partition} of {name}: {rivals}")
