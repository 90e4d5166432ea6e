"""A group that its broker takes for a consumer group of classic members, until a scout has come and gone."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from bridge.coordinators.moving.reseat import Reseating, ReseatMove
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.migration.moves.members import ClassicMember
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable, CoordinatorConnection
from tests.support.adopted_world import AdoptedWorld, Held, adopted_world
from tests.support.embedded_world import FakeBroker
from tests.support.engine_bench import GROUP
from tests.support.engine_coordinators import EngineCoordinators
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, NO_TOPIC_ID, GroupId, MemberId, TopicName
from translators.dialects.messages import GroupReply, GroupRequest

HOLD_MS = 3_000


@dataclass(slots=True)
class Scouting:
    """The group's type at the broker, and what becomes of the scout's next heartbeats."""

    engine: EngineCoordinators
    is_classic: bool = False
    converts: bool = True
    is_in: bool = False
    epochs: list[int] = field(default_factory=list)
    answers: list[ErrorCode | None] = field(default_factory=list)
    """What the next ones are answered, None for nothing; it acts on those that are answered NONE or nothing."""
    answers_most: int | None = None
    """Behind so many it takes heartbeats and answers nothing, nor does it hang up; None: it always answers."""

    async def find_coordinator(self, group_id: GroupId) -> int:
        """See `ports.Coordinators`."""
        return await self.engine.find_coordinator(group_id)

    async def connect_coordinator(self, broker_id: int) -> "ScoutLine":
        """See `ports.Coordinators`."""
        return ScoutLine(self, await self.engine.connect_coordinator(broker_id))

    def reserve(self, connections: int) -> int:
        """See `ports.Coordinators`."""
        return self.engine.reserve(connections)

    def give_back(self, connections: int) -> None:
        """See `ports.Coordinators`."""
        self.engine.give_back(connections)

    def heartbeat(self, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatReply:
        """The broker's word on a heartbeat of the scout; raises BrokerUnreachable."""
        assert (request.member_id, request.subscribed_topic_names) == (SCOUT_ID, ())
        self.epochs.append(request.member_epoch)
        code = self.answers.pop(0) if self.answers else ErrorCode.NONE
        if code is None or code is ErrorCode.NONE:
            self.is_classic = self.is_classic or (self.is_in and self.converts and request.member_epoch == LEAVE_EPOCH)
            self.is_in = request.member_epoch == JOIN_EPOCH
        if code is None:
            raise BrokerUnreachable("the test cut the connection")
        return ConsumerGroupHeartbeatReply(error=code)


@dataclass(frozen=True, slots=True)
class ScoutLine:
    """See `ports.CoordinatorConnection`."""

    scouting: Scouting
    line: CoordinatorConnection

    async def ask(self, request: GroupRequest, client_id: str) -> GroupReply:
        """See `ports.CoordinatorConnection`."""
        if isinstance(request, ConsumerGroupHeartbeat):
            if len(self.scouting.epochs) == self.scouting.answers_most:
                await trio.sleep_forever()
            return self.scouting.heartbeat(request)
        return await self.line.ask(request, client_id)

    def close(self) -> None:
        """See `ports.CoordinatorConnection`."""
        self.line.close()


@dataclass(slots=True)
class ReseatedWorld:
    """The group, its members with their connections, and what the move asks around it."""

    adopted: AdoptedWorld
    scouting: Scouting
    broker: "TypedBroker"
    reconverts: bool | None = True
    writes: bool = True
    writes_s: float = 0.0
    written: dict[MemberId, int] = field(default_factory=dict)
    """The generations of the members for whom the scout was announced."""

    def move(self, *, is_to_be_cleared: bool = False) -> ReseatMove[Held]:
        """A move of all members, who were heard by their connections before."""
        world = self.adopted
        members = world.clients()
        move = ReseatMove(self.ways(), GROUP, members, is_to_be_cleared=is_to_be_cleared)
        for beat in world.beats():
            assert not isinstance(beat.request, ConsumerGroupHeartbeat)
            member = members[list(members)[beat.via.connection]]
            move.know(member.member_id, beat.via, member.generation)
        return move

    def ways(self) -> Reseating[Held]:
        """Who is asked meanwhile."""
        world = self.adopted
        return Reseating(
            pass_on=world.pass_on,
            excuse=world.excuse,
            note=world.note,
            write=world.write,
            now_ms=TrioClock().now_ms,
            begin=self._begin,
            reconverts=self._reconverts,
            access=lambda via: world.ways_of[via.connection],
            mapped=world.mapped,
            broker=self.broker,
            coordinators=self.scouting,
            clock=TrioClock(),
        )

    async def _begin(self, members: Iterable[ClassicMember]) -> bool:
        await trio.sleep(self.writes_s)
        self.written = {one.member_id: one.generation for one in members}
        return self.writes

    async def _reconverts(self) -> bool | None:
        return self.reconverts


@dataclass(slots=True, kw_only=True)
class TypedBroker(FakeBroker):
    """Describes the group by its type; `strangers` are members that the bridge knows nothing of."""

    world: AdoptedWorld
    scouting: Scouting
    strangers: tuple[DescribedConsumerMember, ...] = ()
    unreachable: int = 0
    """How many of the next questions are not answered."""
    errors: list[ErrorCode] = field(default_factory=list)
    """How the next questions are answered."""
    takes_s: list[float] = field(default_factory=list)
    """How long the next questions take to be answered."""

    async def describe_group(self, group_id: str) -> DescribedGroup | DescribedConsumerGroup:
        """See `ports.Broker`."""
        await trio.sleep(self.takes_s.pop(0) if self.takes_s else 0)
        if self.unreachable:
            self.unreachable -= 1
            raise BrokerUnreachable("the test lets nobody in")
        code = self.errors.pop(0) if self.errors else ErrorCode.NONE
        if code is not ErrorCode.NONE:
            return DescribedConsumerGroup(error=code, group_id=GROUP)
        if self.scouting.is_classic:
            return await self.world.broker.describe_group(group_id)
        members = tuple(
            described(one.member_id, tuple(sorted(taken.partition for taken in one.owned)))
            for one in self.world.players
        )
        return DescribedConsumerGroup(
            error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", members=members + self.strangers
        )


def described(member_id: MemberId, partitions: tuple[int, ...], member_type: int = 0) -> DescribedConsumerMember:
    """A member as ConsumerGroupDescribe shows it."""
    assigned = DescribedTopicPartitions(topic_id=NO_TOPIC_ID, topic_name=TopicName("foo"), partitions=partitions)
    return DescribedConsumerMember(
        member_id=member_id,
        instance_id=None,
        rack_id=None,
        member_epoch=1,
        client_id="client",
        client_host="/127.0.0.1",
        subscribed_topic_names=(TopicName("foo"),),
        subscribed_topic_regex=None,
        assignment=(assigned,),
        target_assignment=(assigned,),
        member_type=member_type,
    )


@asynccontextmanager
async def reseated_world() -> AsyncIterator[ReseatedWorld]:
    """A group of three that was given back."""
    async with adopted_world() as world:
        scouting = Scouting(world.coordinators)
        broker = TypedBroker(world=world, scouting=scouting)
        yield ReseatedWorld(world, scouting, broker)
