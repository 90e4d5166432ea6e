"""A group between a broker, which is our own engine, and the bridge's engine: clients that ask, and moves to make."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.adopt import Adopting, AdoptMove
from bridge.coordinators.moving.release import ReleaseMove, Releasing
from bridge.engine.commands import ClassicHeartbeat
from bridge.engine.describe import describe_classic_group
from bridge.engine.settings import EngineSettings
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.round_values import RoundPlayer
from bridge.migration.orders import MemberStage, Obstacle
from bridge.net.clock import TrioClock
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import error_reply
from tests.support.embedded_world import FakeBroker, World, embedded_world
from tests.support.engine_bench import GROUP, IDENTITY, topic
from tests.support.engine_coordinators import EngineCoordinators
from tests.support.round_table import RoundTable
from tests.support.sketches import whole
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef, Via
from translators.dialects.messages import GroupReply, GroupRequest

MEMBERS = 3
BEGINS_CONSUMER = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)


@dataclass(frozen=True, slots=True)
class Held:
    """A request as it came."""

    ref: RequestRef
    client: ClientIdentity
    via: Via
    request: GroupRequest
    at_ms: int


@dataclass(slots=True)
class ClientWay:
    """A client's connection to the broker (`session.contracts.BrokerAccess`); one that is silent answers nothing."""

    broker: EngineCoordinators
    connection: int
    is_silent: bool = False
    asked: int = 0
    """How many heartbeats it has answered."""
    broker_id: int | None = 1

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return 4

    def ask(
        self, ref: RequestRef | None, request: GroupRequest, on_answer: OnAnswer, version: int | None = None
    ) -> None:
        """See `session.contracts.BrokerAccess`; anything but heartbeats stays unanswered."""
        if self.is_silent or not isinstance(request, Heartbeat):
            return
        self.asked += 1
        bench = self.broker.broker
        asked = bench.bench.ref()
        bench.tell(ClassicHeartbeat(asked, request))
        reply = bench.replies[asked]
        assert isinstance(reply, HeartbeatReply)
        on_answer(reply)


@dataclass(slots=True)
class DescribingBroker(FakeBroker):
    """Describes the group as the broker has it."""

    coordinators: EngineCoordinators = field(default_factory=EngineCoordinators)
    errors: list[ErrorCode] = field(default_factory=list)
    """What the next answers are instead."""

    async def describe_group(self, group_id: str) -> DescribedGroup:
        """See `ports.Broker`."""
        if self.errors:
            return DescribedGroup(error=self.errors.pop(0), group_id=GROUP)
        group = self.coordinators.broker.bench.state.classic_groups.get(GROUP)
        if group is None:
            return DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")
        return whole(describe_classic_group(group))


@dataclass(slots=True)
class AdoptedWorld:
    """The two coordinators, the members with their connections, and what was answered."""

    embedded: World
    broker: DescribingBroker
    coordinators: EngineCoordinators
    players: tuple[RoundPlayer, ...]
    mapped: MappedGroups
    ways_of: dict[int, ClientWay]
    replies: dict[RequestRef, GroupReply]
    stages: dict[MemberId, MemberStage] = field(default_factory=dict)
    told: list[tuple[Obstacle, ...]] = field(default_factory=list)
    written: list[frozenset[MemberId]] = field(default_factory=list)
    sequence: "count[int]" = field(default_factory=count)

    @property
    def groups(self) -> EmbeddedGroups:
        """The bridge's own groups."""
        return self.embedded.groups

    def note(self, member_id: MemberId, stage: MemberStage, detail: str) -> None:
        """How far a member has come."""
        self.stages[member_id] = stage

    def to_engine(self, held: Held) -> None:
        """Let a request go to the bridge's own groups."""
        self.groups.submit(held.ref, held.client, held.via, held.request)

    def to_mapped(self, held: Held) -> None:
        """Let a request go to the broker in the words in which it knows its member."""
        self.mapped.submit(held.ref, held.client, held.via, held.request)

    def pass_on(self, held: Held) -> None:
        """Let a request go to the broker."""
        if self.mapped.seats_of(GROUP):
            self.to_mapped(held)
            return

        def heard(reply: GroupReply | None) -> None:
            assert reply is not None
            self.replies[held.ref] = reply

        self.ways_of[held.via.connection].ask(held.ref, held.request, heard)

    def excuse(self, held: Held) -> None:
        """Answer what has waited too long."""
        self.replies[held.ref] = (
            HeartbeatReply(ErrorCode.NONE)
            if isinstance(held.request, Heartbeat)
            else error_reply(held.request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        )

    def clients(self) -> dict[MemberId, ClassicMember]:
        """The members at the broker as their clients know them."""
        generation = self.coordinators.broker.generation
        return {
            one.member_id: ClassicMember(
                member_id=one.member_id,
                instance_id=one.instance_id,
                client=IDENTITY,
                protocols=one.protocols,
                protocol_name="range",
                session_timeout_ms=one.session_timeout_ms,
                rebalance_timeout_ms=one.rebalance_timeout_ms,
                generation=generation,
                using=one.owned,
            )
            for one in self.players
        }

    def adopting(self) -> AdoptMove[Held]:
        """A move to the bridge."""
        around: Adopting[Held] = Adopting(
            pass_on=self.pass_on,
            excuse=self.excuse,
            note=self.note,
            access=lambda via: self.ways_of[via.connection],
            embedded=self.groups,
            broker=self.broker,
            coordinators=self.coordinators,
            now_ms=TrioClock().now_ms,
        )
        return AdoptMove(around, GROUP, self.clients(), self.mapped.seats_of(GROUP))

    def releasing(self, hold_ms: int = 3_000) -> ReleaseMove[Held]:
        """A move to the broker."""
        around: Releasing[Held] = Releasing(
            to_engine=self.to_engine,
            excuse=self.excuse,
            note=self.note,
            tell=self.told.append,
            write=self.write,
            embedded=self.groups,
            mapped=self.mapped,
            broker=self.broker,
            coordinators=self.coordinators,
            clock=TrioClock(),
        )
        return ReleaseMove(around, GROUP, hold_ms)

    def write(self, group_id: GroupId) -> None:
        """Put down where the mapped members are."""
        self.written.append(frozenset(seat.seat_id for seat in self.mapped.seats_of(group_id).values()))

    def beats(self, generation: int | None = None) -> list[Held]:
        """A heartbeat of every member, each by its own connection."""
        known = self.coordinators.broker.generation if generation is None else generation
        return [
            self.held(Heartbeat(GROUP, known, one.member_id, one.instance_id), number)
            for number, one in enumerate(self.players)
        ]

    def held(self, request: GroupRequest, connection: int) -> Held:
        """A request as it comes by a connection."""
        ref = RequestRef(0, connection, next(self.sequence))
        return Held(ref, IDENTITY, Via(0, connection), request, TrioClock().now_ms())

    def codes(self, held: Collection[Held]) -> list[ErrorCode | None]:
        """The codes of the answers to heartbeats; None for one that is not answered."""
        found = [self.replies.get(one.ref) or self.embedded.replies.get(one.ref) for one in held]
        return [reply.error if isinstance(reply, HeartbeatReply) else None for reply in found]


@asynccontextmanager
async def adopted_world(instances: Collection[str] = ()) -> AsyncIterator[AdoptedWorld]:
    """A Stable group of three at the broker, and a bridge that has never heard of it."""
    table = RoundTable()
    players = table.form(MEMBERS, tuple(instances))
    coordinators = EngineCoordinators(table.broker)
    ways_of = {number: ClientWay(coordinators, number) for number in range(MEMBERS)}
    replies: dict[RequestRef, GroupReply] = {}

    def deliver(ref: RequestRef, reply: GroupReply) -> None:
        assert ref not in replies, f"{ref} was answered twice"
        replies[ref] = reply

    def access(via: Via) -> ClientWay:
        return ways_of[via.connection]

    async with embedded_world(BEGINS_CONSUMER) as embedded:
        embedded.broker.topics = [replace(topic("foo", MEMBERS))]
        await embedded.groups.look_at_topics()
        mapped = MappedGroups(Clients(deliver, access), lambda _member, _goes_on: None)
        broker = DescribingBroker(coordinators=coordinators)
        yield AdoptedWorld(embedded, broker, coordinators, players, mapped, ways_of, replies)
