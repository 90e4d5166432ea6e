"""The owner of groups serves a coordinator that is not the engine, from the first JoinGroup to the last LeaveGroup."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import trio
from trio.testing import MockClock

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.arrivals import Arrival, MembershipRequest
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.machines import Machines
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.owner_task import OwnerState, OwnerTask
from bridge.net.clock import TrioClock
from bridge.supervision import Failures
from bridge.wire.codec.registry import error_reply
from tests.support.embedded_world import commit_request, join_request, leave_request
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.stand_in_coordinator import StandInCoordinator
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.coordinator import CommitAdmitted, DepartReason
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import ClientIdentity, MemberId, MemberRef, RequestRef, TopicPartition, Via
from translators.dialects.messages import GroupReply, GroupRequest

MEMBER = MemberRef(GROUP, MemberId("m"))
ONE, TWO = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
BEATS_MAX = 10
BOUNDS = SessionBounds(6_000, 300_000)


@dataclass(slots=True)
class Plain:
    """`owner_task.Turning` of a coordinator that needs nothing around its turns."""

    replies: dict[RequestRef, GroupReply]

    def begins(self) -> None:
        """See `Turning`."""

    def revived(self) -> None:
        """See `Turning`."""

    def released(self) -> None:
        """See `Turning`."""

    def refuse(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, refusal: Refusal) -> None:
        """See `Turning`."""
        self.replies[ref] = error_reply(request, refusal.code)

    def next_due_ms(self) -> int | None:
        """See `Turning`."""
        return None

    def pass_due(self, now_ms: int) -> None:
        """See `Turning`."""


@dataclass(slots=True)
class Served:
    """An owner's task over a stand-in, with the answers that left."""

    task: OwnerTask[str]
    coordinator: StandInCoordinator
    replies: dict[RequestRef, GroupReply]
    sequence: "count[int]" = field(default_factory=lambda: count(1))

    async def send(self, request: MembershipRequest, connection: int = 1) -> RequestRef:
        """Queue a request and let the owner take its turn."""
        ref = RequestRef(0, connection, next(self.sequence))
        self.task.ledger.expect(ref, request)
        self.task.queue(Arrival(ref, CLIENT, request))
        await trio.testing.wait_all_tasks_blocked()
        return ref

    async def hear(self) -> None:
        """Let the owner hear what the coordinator has to say by itself."""
        self.task.wake()
        await trio.testing.wait_all_tasks_blocked()

    async def form(self, *partitions: TopicPartition) -> int:
        """Join and sync; gives the generation."""
        ref = await self.send(join_request(MEMBER.member_id))
        assert ref not in self.replies, "the coordinator has not answered yet"
        self.coordinator.grant(partitions, epoch=1)
        await self.hear()
        joined = self.replies[ref]
        assert isinstance(joined, JoinGroupReply)
        assert joined.error is ErrorCode.NONE
        assert await self.sync(joined.generation) == frozenset(partitions)
        return joined.generation

    async def sync(self, generation: int) -> frozenset[TopicPartition]:
        """What SyncGroup hands out."""
        request = SyncGroup(
            group_id=GROUP, generation=generation, member_id=MEMBER.member_id, instance_id=None, assignments=()
        )
        reply = self.replies[await self.send(request)]
        assert isinstance(reply, SyncGroupReply)
        assert reply.error is ErrorCode.NONE
        return decode_assignment(reply.assignment).partitions

    async def beat(self, generation: int, connection: int = 1) -> ErrorCode:
        """What a heartbeat is answered."""
        reply = self.replies[await self.send(Heartbeat(GROUP, generation, MEMBER.member_id, None), connection)]
        assert isinstance(reply, HeartbeatReply)
        return reply.error


@asynccontextmanager
async def served(journal: MemoryJournal | None = None) -> AsyncIterator[Served]:
    """Run an owner over a stand-in until the end of the block."""
    coordinator, machines = StandInCoordinator(), Machines(MemberLimits())
    owner = GroupOwner[str](coordinator, Catalog(), machines, BOUNDS)
    replies: dict[RequestRef, GroupReply] = {}

    def deliver(ref: RequestRef, reply: GroupReply) -> None:
        assert ref not in replies, f"{ref} was answered twice"
        replies[ref] = reply

    task = OwnerTask(owner, TrioClock(), deliver, Failures(), Plain(replies))
    if journal is not None:
        task.keep(journal, lambda: coordinator.journal)
    async with trio.open_nursery() as nursery:
        task.start(nursery)
        await trio.testing.wait_all_tasks_blocked()
        yield Served(task, coordinator, replies)
        nursery.cancel_scope.cancel()


async def test_member_joins_syncs_lives_and_leaves(autojump_clock: MockClock) -> None:
    """One question to join, none to live, a farewell to leave; each by the member's connection."""
    async with served() as world:
        generation = await world.form(ONE)
        assert await world.beat(generation) is ErrorCode.NONE
        left = await world.send(leave_request(MEMBER.member_id))
        assert isinstance(world.replies[left], LeaveGroupReply)
        assert [via for _, via, _ in world.coordinator.open] == [Via(0, 1)]
        assert world.coordinator.let_go().reason is DepartReason.LEFT
        await world.hear()
        assert len(world.task.owner.machines) == 0
        assert world.coordinator.released == [(MEMBER, DepartReason.LEFT)]


async def test_call_makes_the_member_ask_and_join_again(autojump_clock: MockClock) -> None:
    """News come at any time; the client hears of them by its next heartbeat, and gets the new assignment."""
    async with served() as world:
        generation = await world.form(ONE)
        world.coordinator.call(MEMBER)
        await world.hear()
        assert world.coordinator.grant({ONE, TWO}, epoch=2).owned == {ONE}
        await world.hear()
        codes: list[ErrorCode] = []
        while ErrorCode.REBALANCE_IN_PROGRESS not in codes:
            assert len(codes) < BEATS_MAX, codes
            await trio.sleep(1)
            codes.append(await world.beat(generation))
        rejoin = await world.send(join_request(MEMBER.member_id))
        world.coordinator.grant({ONE, TWO}, epoch=2)
        await world.hear()
        joined = world.replies[rejoin]
        assert isinstance(joined, JoinGroupReply)
        assert await world.sync(joined.generation) == {ONE, TWO}


async def test_fenced_member_learns_that_it_is_gone(autojump_clock: MockClock) -> None:
    """Never REBALANCE_IN_PROGRESS, which would let it go on (decision 15)."""
    async with served() as world:
        generation = await world.form(ONE)
        world.coordinator.fence(MEMBER, ErrorCode.FENCED_MEMBER_EPOCH)
        await world.hear()
        assert await world.beat(generation) in {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}


async def test_question_goes_by_the_connection_that_was_heard_last(autojump_clock: MockClock) -> None:
    """A member outlives its connection; what was asked by the old one is never answered, and is asked again."""
    async with served() as world:
        generation = await world.form(ONE)
        assert await world.beat(generation, connection=7) is ErrorCode.NONE
        world.coordinator.call(MEMBER)
        await world.hear()
        assert [via for _, via, _ in world.coordinator.open] == [Via(0, 7)]


async def test_native_heartbeat_and_commit_go_through_the_same_port(autojump_clock: MockClock) -> None:
    """A KIP-848 client is answered by the coordinator itself; a commit is judged at once and ends later."""
    async with served() as world:
        native = ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId("n"), member_epoch=3)
        reply = world.replies[await world.send(native)]
        assert reply == ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=3)
        generation = await world.form(ONE)
        commit = commit_request(generation, MEMBER.member_id)
        begun = world.task.begin_commit(RequestRef(0, 1, 99), commit)
        assert begun == CommitAdmitted(99)
        world.task.end_commit(99)
        assert world.coordinator.ended_commits == [99]


async def test_orders_are_its_own_and_members_survive_a_restart(autojump_clock: MockClock) -> None:
    """The journal has the member's part; the coordinator's part is its own."""
    journal = MemoryJournal()
    async with served(journal) as world:
        generation = await world.form(ONE)
        world.task.order_at_once("look again")
        assert world.coordinator.orders == ["look again"]
    async with served(journal) as world:
        assert await world.beat(generation) is ErrorCode.NONE


async def test_owner_tells_what_it_measures_of_queue_turns_and_loads(autojump_clock: MockClock) -> None:
    """A request waits, takes its turn, and is counted once; who goes back to the journal loads until it is back."""
    async with served(MemoryJournal()) as world:
        task = world.task
        states = [task.state]
        assert sum(task.times.loading.counts) == 1
        turns = sum(task.times.processing.counts)
        task.queue(Arrival(RequestRef(0, 1, 98), CLIENT, join_request(MEMBER.member_id)))
        assert task.queue_size == 1
        await trio.testing.wait_all_tasks_blocked()
        assert task.queue_size == 0
        assert sum(task.times.queue.counts) == 1
        assert sum(task.times.processing.counts) > turns
        assert task.ledger.go_back()
        states.append(task.state)
        task.queue(Arrival(RequestRef(0, 1, 99), CLIENT, leave_request(MEMBER.member_id)))
        await trio.testing.wait_all_tasks_blocked()
        states.append(task.state)
        assert states == [OwnerState.ACTIVE, OwnerState.LOADING, OwnerState.ACTIVE]
        assert sum(task.times.loading.counts) == 2
        assert sum(task.times.queue.counts) == 1, "what was refused had no turn"
