"""Members at peace on road upstream take a short way to their broker and back: whatever happens, nobody can tell it
from the long one.

Each story is told twice, to an owner as it is and to one whose members never take that way.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Never, assert_never

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.machines import Machines, is_settled
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.upstream.coordinator import UpstreamCoordinator
from bridge.session.contracts import BrokerAccess, NoAccess, OnAnswer
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import commit_request, join_request, leave_request
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.upstream_world import INTERVAL_MS, TOPIC_ID, granted, refused, unchanged
from translators.classic_member.states import MemberLimits, State
from translators.dialects.classic import Heartbeat, JoinGroupReply, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import CommitAdmitted, Granted, Inquiry
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, RequestRef, Topic, Via

PARTITIONS = 4
SESSION_MS = 4 * INTERVAL_MS
CONNECTIONS = {MemberId("a"): 1, MemberId("b"): 2}
"""Who speaks by which: a client has a connection of its own."""


@dataclass(slots=True)
class Way:
    """A connection whose questions wait at the broker; an answer that was said before is the same object, as it is
    where its bytes are known.
    """

    connection: int
    asked: list[tuple[int, Request]]
    broker_id: int | None = 1
    open: "deque[tuple[Request, OnAnswer]]" = field(default_factory=deque)
    said: list[Reply] = field(default_factory=list)

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        del api_key
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        del ref, version
        self.asked.append((self.connection, request))
        self.open.append((request, on_answer))

    def say(self, make: Callable[[ConsumerGroupHeartbeat], Reply | None]) -> None:
        """Answer the oldest question, if there is one; what is no heartbeat is not answered."""
        if not self.open:
            return
        request, on_answer = self.open.popleft()
        reply = make(request) if isinstance(request, ConsumerGroupHeartbeat) else None
        if reply is not None and reply not in self.said:
            self.said.append(reply)
        on_answer(None if reply is None else self.said[self.said.index(reply)])

    def break_down(self) -> None:
        """Nobody who asked will be answered."""
        while self.open:
            self.open.popleft()[1](None)


class TheLongWay(Machines):
    """Machines whose members never ask or hear calmly."""

    def ask_calmly(self, key: MemberRef, now_ms: int) -> Inquiry | None:
        """See `Machines`."""
        return None

    def hear_calmly(self, key: MemberRef, answer: Granted, now_ms: int) -> int | None:
        """See `Machines`."""
        return None


class World:
    """The owner of two members, their clients and their broker."""

    def __init__(self, machines: Machines) -> None:
        self.now_ms = 0
        self.heard_calmly = 0
        self.asked: list[tuple[int, Request]] = []
        self.replies: list[tuple[RequestRef, Reply]] = []
        self.generations = dict.fromkeys(CONNECTIONS, 0)
        self.ways = {number: Way(number, self.asked) for number in CONNECTIONS.values()}
        self.lost: set[int] = set()
        self.commits: deque[int] = deque()
        self.machines = machines
        self._refs = count(1)
        catalog = Catalog()
        catalog.update([Topic(TOPIC_ID, TOPIC, PARTITIONS)])
        self.coordinator = UpstreamCoordinator(catalog, self._way, lambda: MemberId("fresh"), lambda: None)
        self.coordinator.knows_topics = True
        self.coordinator.now_ms = lambda: self.now_ms
        self.owner: GroupOwner[Never] = GroupOwner(
            self.coordinator, catalog, machines, SessionBounds(6_000, 1_800_000), farewell_wait_ms=3_000
        )
        self.coordinator.hear_calmly = self._hear_calmly
        machines.watch()

    def see(self) -> object:
        """Everything that anybody can tell of it, once it is known that what is kept of groups is true of members."""
        for group_id, size in self.machines.sizes():
            members = self.machines.members_of(group_id).values()
            assert (size, self.machines.is_settled(group_id)) == (len(members), all(map(is_settled, members)))
        states: dict[MemberRef, State | None] = {key: self.machines.get(key) for key in self.machines}
        coordinator = self.coordinator
        refusals = [*coordinator.refused, *coordinator.hidden]
        changed = tuple(self.machines.take_changed())
        due_ms = self.owner.next_deadline_ms()
        return self.asked, self.replies, states, refusals, changed, due_ms, coordinator.open_questions()

    def send(self, member_id: MemberId, make: Callable[[MemberId, int], Request]) -> None:
        """A request of a member's client; who is told a generation asks for its assignment at once."""
        ref = RequestRef(0, CONNECTIONS[member_id], next(self._refs))
        request = make(member_id, self.generations[member_id])
        self._tell(self.owner.take_turn([Arrival(ref, CLIENT, request)], self.now_ms))  # type: ignore[arg-type]  # a group request

    def commit(self, member_id: MemberId) -> None:
        """A commit of a partition leaves, if it may."""
        ref = RequestRef(0, CONNECTIONS[member_id], next(self._refs))
        request = commit_request(self.generations[member_id], member_id, (0,))
        admitted = self.owner.begin_commit(ref, request, self.now_ms)
        if isinstance(admitted, CommitAdmitted):
            self.commits.append(admitted.commit_id)

    def end_commit(self) -> None:
        """The oldest commit is answered."""
        if self.commits:
            self._tell(self.owner.end_commit(self.commits.popleft(), self.now_ms))

    def lose(self, connection: int) -> None:
        """A client's connection is gone, or is there again."""
        if connection in self.lost:
            self.lost.discard(connection)
            return
        self.lost.add(connection)
        self._tell(self.owner.lose_connection(connection, self.now_ms))
        self.ways[connection].break_down()

    def recover(self) -> None:
        """A turn raised."""
        self._tell(self.owner.recover(self.now_ms))

    def go_on(self, passed_ms: int = 0) -> None:
        """A turn, as the owner's task takes it when it is woken."""
        self.now_ms += passed_ms
        self._tell(self.owner.pass_deadlines(self.now_ms))

    def _way(self, via: Via) -> BrokerAccess:
        return NoAccess() if via.connection in self.lost else self.ways.get(via.connection, NoAccess())

    def _hear_calmly(self, member: MemberRef, number: int, answer: Granted) -> bool:
        is_heard = self.owner.answer_calmly(member, number, answer, self.now_ms) is not None
        self.heard_calmly += is_heard
        return is_heard

    def _tell(self, result: TurnResult) -> None:
        for ref, reply in result.replies:
            self.replies.append((ref, reply))
            if isinstance(reply, JoinGroupReply) and reply.error is ErrorCode.NONE:
                self.generations[reply.member_id] = reply.generation
                self.send(reply.member_id, sync)


def beat(member_id: MemberId, generation: int) -> Heartbeat:
    """That it lives."""
    return Heartbeat(GROUP, generation, member_id, None)


def sync(member_id: MemberId, generation: int) -> SyncGroup:
    """For what it was dealt."""
    return SyncGroup(
        group_id=GROUP,
        generation=generation,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocol_name="range",
    )


@dataclass(frozen=True, slots=True)
class Passes:
    """Time does."""

    ms: int


@dataclass(frozen=True, slots=True)
class Says:
    """The broker answers a connection's oldest question; its epoch is the member's and `ahead`, or it refuses."""

    connection: int
    ahead: int = 0
    partitions: tuple[int, ...] | None = None
    code: ErrorCode = ErrorCode.NONE
    interval_ms: int = INTERVAL_MS
    is_lost: bool = False

    def to(self, asked: ConsumerGroupHeartbeat) -> Reply | None:
        """The answer to a heartbeat."""
        if self.is_lost or self.code is not ErrorCode.NONE:
            return None if self.is_lost else refused(self.code)
        epoch = max(1, asked.member_epoch) + self.ahead if asked.member_epoch >= 0 else asked.member_epoch
        is_full = self.partitions is not None or asked.member_epoch == 0
        reply = granted(epoch, *(self.partitions or ())) if is_full else unchanged(epoch)
        return replace(reply, heartbeat_interval_ms=self.interval_ms)


@dataclass(frozen=True, slots=True)
class Asks:
    """A member's client does."""

    member_id: MemberId
    make: Callable[[MemberId, int], Request] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Commits:
    """A member's client does; without one, the oldest of all is answered."""

    member_id: MemberId | None


@dataclass(frozen=True, slots=True)
class Loses:
    """A connection ends, or comes back."""

    connection: int


@dataclass(frozen=True, slots=True)
class Fails:
    """A turn does, and is tidied up after."""


Happens = Passes | Says | Asks | Commits | Loses | Fails
MEMBERS = st.sampled_from(sorted(CONNECTIONS))
NUMBERS = st.sampled_from(sorted(CONNECTIONS.values()))
CODES = st.sampled_from(
    (
        *(ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        *(ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH),
    )
)
PEACE = st.one_of(st.just(Passes(INTERVAL_MS)), st.builds(Says, NUMBERS), st.builds(Says, NUMBERS))
REQUESTS = st.sampled_from(
    (
        beat,
        beat,
        lambda member_id, _: join_request(member_id),
        lambda member_id, _: leave_request(member_id),
        sync,
    )
)
TROUBLE: st.SearchStrategy[Happens] = st.one_of(
    st.builds(Passes, st.sampled_from((0, 1, 60, 500, 1_000, 4_990, 11_000))),
    st.builds(Says, NUMBERS, st.integers(0, 1), st.sampled_from((None, (), (0,), (0, 1), (2, 3)))),
    st.builds(Says, NUMBERS, code=CODES),
    st.builds(Says, NUMBERS, interval_ms=st.sampled_from((0, 1, 200, INTERVAL_MS))),
    st.builds(Says, NUMBERS, is_lost=st.just(True)),
    st.builds(Asks, MEMBERS, REQUESTS),
    st.builds(Commits, st.one_of(st.none(), MEMBERS)),
    st.builds(Loses, NUMBERS),
    st.just(Fails()),
)


RESTS, CALMS, HIDES = Passes(INTERVAL_MS), Says(1), Says(1, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def tell(world: World, happened: Happens) -> None:
    """Let it happen, and the turn that it wakes the owner for."""
    match happened:
        case Passes(ms):
            world.go_on(ms)
        case Says():
            world.ways[happened.connection].say(happened.to)
        case Asks(member_id, make):
            world.send(member_id, make)
        case Commits(None):
            world.end_commit()
        case Commits(member_id):
            assert member_id is not None
            world.commit(member_id)
        case Loses(connection):
            world.lose(connection)
        case Fails():
            world.recover()
        case _:
            assert_never(happened)
    world.go_on()


def beginning(world: World) -> None:
    """Both join and are dealt two partitions each; by then each was asked for and heard once more."""
    for member_id, connection in CONNECTIONS.items():
        world.send(member_id, lambda name, _: join_request(name, session_timeout_ms=SESSION_MS))
        tell(world, Says(connection, partitions=(2 * connection - 2, 2 * connection - 1)))
    for _ in range(4):
        tell(world, Passes(INTERVAL_MS))
        for connection in CONNECTIONS.values():
            tell(world, Says(connection))
        for member_id in CONNECTIONS:
            tell(world, Asks(member_id, beat))


@settings(max_examples=400, deadline=None)
@example(story=[RESTS, HIDES, CALMS, RESTS, CALMS, RESTS, HIDES, CALMS])
@given(story=st.lists(st.one_of(PEACE, PEACE, TROUBLE), min_size=5, max_size=50))
def test_short_way_can_not_be_told_from_the_long_one(story: list[Happens]) -> None:
    """States, answers, heartbeats to the broker, deadlines and what the journal has to hold are the same all along."""
    short, long = World(Machines(MemberLimits())), World(TheLongWay(MemberLimits()))
    for world in (short, long):
        beginning(world)
    assert short.see() == long.see()
    for happened in story:
        for world in (short, long):
            tell(world, happened)
        assert short.see() == long.see()
    event(f"calm answers: {short.heard_calmly // 10 * 10} and more")


def test_members_at_peace_take_the_short_way() -> None:
    """The property is about something: the answer to every short heartbeat but the first is heard without a turn."""
    world = World(Machines(MemberLimits()))
    beginning(world)
    before = world.heard_calmly
    for _ in range(10):
        for member_id in CONNECTIONS:
            tell(world, Asks(member_id, beat))
        tell(world, Passes(INTERVAL_MS))
        for connection in CONNECTIONS.values():
            tell(world, Says(connection))
    assert world.heard_calmly - before == 20
    assert len({id(request) for _, request in world.asked[-20:]}) == len(CONNECTIONS)
