"""Commits of a translated member meet a broker that takes its partitions away and gives others back, at any pace: none
of them reaches the broker for a partition that is somebody else's there.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum, auto
from itertools import count
from typing import Never, assert_never

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.machines import Machines
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.upstream.commits import CommitWays, UpstreamCommits
from bridge.coordinators.upstream.coordinator import UpstreamCoordinator
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import commit_request, committed, join_request
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.upstream_world import TOPIC_ID, described, granted
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroupReply, Protocol, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import COOPERATIVE, Subscription, decode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, Topic, TopicPartition, Via
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

ALL = frozenset(range(4))
MEMBER = MemberId("a")
OWN, PRODUCERS = 1, 2
"""The connections of the member, and of its transactional producer: a broker takes their requests in any order."""
STEP_MS = 5_000


def parts(partitions: frozenset[int]) -> frozenset[TopicPartition]:
    """By name."""
    return frozenset(TopicPartition(TOPIC, one) for one in partitions)


@dataclass(slots=True)
class BrokerModel:
    """A group of one member and of others who wait for what it lets go; `held` is not free for them."""

    target: frozenset[int] = ALL
    held: frozenset[int] = frozenset()
    epoch: int = 1
    stale: int = 0
    """So many commits are told that the epoch has moved."""
    queues: dict[int, deque[tuple[Request, OnAnswer]]] = field(
        default_factory=lambda: {OWN: deque(), PRODUCERS: deque()}
    )
    landed: int = 0

    def be_ahead(self) -> None:
        """The next commit is told that the epoch has moved."""
        self.stale += 1

    def take(self, connection: int) -> None:
        """Answer the next request of a connection."""
        if self.queues[connection]:
            request, on_answer = self.queues[connection].popleft()
            on_answer(self._answer(request))

    def _answer(self, request: Request) -> Reply:
        if isinstance(request, ConsumerGroupHeartbeat):
            return self._beat(request)
        if isinstance(request, ConsumerGroupDescribe):
            return described({MEMBER: tuple(self.target)})
        assert isinstance(request, OffsetCommit | TxnOffsetCommit), request
        wanted = {item.partition for topic in request.topics for item in topic.partitions}
        if self.stale:
            self.stale -= 1
            plain = isinstance(request, OffsetCommit)
            return told(request, ErrorCode.STALE_MEMBER_EPOCH if plain else ErrorCode.ILLEGAL_GENERATION)
        assert wanted <= self.held, f"{wanted} were committed, {set(self.held)} are the member's"
        self.landed += 1
        return told(request, ErrorCode.NONE)

    def _beat(self, request: ConsumerGroupHeartbeat) -> Reply:
        if request.member_epoch == 0:
            self.held = self.target
        elif request.owned is not None:
            owned = {one.partition for one in request.owned}
            self.held = frozenset(one for one in self.held if one in self.target or one in owned)
        if self.held.issubset(self.target):
            self.held = self.target
        return granted(self.epoch, *(self.held & self.target))


def told(request: OffsetCommit | TxnOffsetCommit, code: ErrorCode) -> Reply:
    """One code for all."""
    return committed(replace(commit_request(), topics=request.topics), code)


@dataclass(slots=True)
class Way:
    """A connection whose requests wait at the broker."""

    broker: BrokerModel
    connection: int
    broker_id: int | None = 1

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        self.broker.queues[self.connection].append((request, on_answer))


class World:
    """The owner of one member on road upstream, its client, and its broker."""

    def __init__(self, *, is_cooperative: bool) -> None:
        self.broker = BrokerModel()
        self.now_ms = 0
        self.generations = [0]
        self.assigned: frozenset[int] = frozenset()
        self.is_called = False
        self._is_cooperative = is_cooperative
        self._refs = count(1)
        self._waiting: dict[RequestRef, Callable[[Reply], None]] = {}
        catalog = Catalog()
        catalog.update([Topic(TOPIC_ID, TOPIC, len(ALL))])
        machines = Machines(MemberLimits())
        self._coordinator = UpstreamCoordinator(catalog, self._way, lambda: MemberId("fresh"), lambda: None)
        self._coordinator.knows_topics = True
        self._coordinator.now_ms = lambda: self.now_ms
        self._owner: GroupOwner[Never] = GroupOwner(
            self._coordinator, catalog, machines, SessionBounds(6_000, 1_800_000)
        )
        ways = CommitWays(
            begin=lambda ref, request: self._owner.begin_commit(ref, request, self.now_ms),
            end=lambda commit_id: self._tell(self._owner.end_commit(commit_id, self.now_ms)),
            deliver=self._deliver,
            due_changed=lambda: None,
            is_left_over=lambda _: False,
        )
        self._commits = UpstreamCommits(catalog, machines, ways, 5_000, lambda: self.now_ms)

    def join(self) -> None:
        """The client joins with what it keeps; a cooperative one says so."""
        owned = parts(self.assigned) if self._is_cooperative else frozenset()
        if not self._is_cooperative:
            self.assigned = frozenset()
        said = Subscription(version=1, topics=(TOPIC,), owned=owned)
        name = COOPERATIVE if self._is_cooperative else "range"
        request = replace(
            join_request(MEMBER, session_timeout_ms=600_000), protocols=(Protocol(name, encode_subscription(said)),)
        )
        self._send(request, self._joined)

    def beat(self) -> None:
        """A heartbeat in the newest generation; who is called joins again, a cooperative loser after its revocation."""
        self._send(Heartbeat(GROUP, self.generations[-1], MEMBER, None), self._beaten)

    def commit(self, partitions: frozenset[int], age: int, *, is_transactional: bool) -> None:
        """A commit under one of the newest generations."""
        generation = self.generations[max(0, len(self.generations) - 1 - age)]
        plain = commit_request(generation, MEMBER, tuple(sorted(partitions)))
        connection = PRODUCERS if is_transactional else OWN
        request: OffsetCommit | TxnOffsetCommit = plain
        if is_transactional:
            request = TxnOffsetCommit(
                transactional_id="t",
                producer_id=1,
                producer_epoch=1,
                group_id=GROUP,
                generation=generation,
                member_id=MEMBER,
                instance_id=None,
                topics=plain.topics,
            )
        ref = RequestRef(0, connection, next(self._refs))
        self._waiting[ref] = lambda _: None
        self._commits.submit(ref, self._way(Via(0, connection)), request)

    def pass_time(self) -> None:
        """Whatever is due is done."""
        self.now_ms += STEP_MS
        self._tell(self._owner.pass_deadlines(self.now_ms))

    def broker_answers(self, connection: int) -> None:
        """One answer comes."""
        self.broker.take(connection)
        self._tell(self._owner.pass_deadlines(self.now_ms))

    def be_quiet(self) -> None:
        """An interval in which nothing is late: whoever has to join again has done so."""
        self.pass_time()
        self.broker_answers(OWN)
        self.beat()
        for _ in range(3):
            self.broker_answers(OWN)

    def _way(self, via: Via) -> Way:
        return Way(self.broker, via.connection)

    def _send(self, request: Request, take: Callable[[Reply], None]) -> None:
        ref = RequestRef(0, OWN, next(self._refs))
        self._waiting[ref] = take
        assert not isinstance(request, OffsetCommit)
        self._tell(self._owner.take_turn([Arrival(ref, CLIENT, request)], self.now_ms))  # type: ignore[arg-type]  # a group request

    def _tell(self, result: TurnResult) -> None:
        for ref, reply in result.replies:
            self._deliver(ref, reply)

    def _deliver(self, ref: RequestRef, reply: Reply) -> None:
        self._waiting.pop(ref)(reply)

    def _joined(self, reply: Reply) -> None:
        assert isinstance(reply, JoinGroupReply)
        if reply.error is not ErrorCode.NONE:
            return
        generation = reply.generation
        name = COOPERATIVE if self._is_cooperative else "range"
        sync = SyncGroup(
            group_id=GROUP,
            generation=generation,
            member_id=MEMBER,
            instance_id=None,
            protocol_type="consumer",
            protocol_name=name,
        )
        self.generations.append(generation)
        self._send(sync, self._synced)

    def _synced(self, reply: Reply) -> None:
        assert isinstance(reply, SyncGroupReply)
        if reply.error is ErrorCode.NONE:
            self.assigned = frozenset(one.partition for one in decode_assignment(reply.assignment).partitions)
            self.is_called = False

    def _beaten(self, reply: Reply) -> None:
        assert isinstance(reply, HeartbeatReply)
        if reply.error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()


class Step(StrEnum):
    """What happens beside commits and new targets."""

    BEAT = auto()
    JOIN = auto()
    TIME = auto()
    OWN_ANSWER = auto()
    PRODUCERS_ANSWER = auto()
    STALE = auto()
    QUIET_WHILE = auto()


@dataclass(frozen=True, slots=True)
class Retarget:
    """The broker deals anew."""

    target: frozenset[int]


@dataclass(frozen=True, slots=True)
class Commits:
    """The client commits, under its newest generation or an older one."""

    partitions: frozenset[int]
    age: int
    is_transactional: bool


STEPS: Mapping[Step, Callable[[World], None]] = {
    Step.BEAT: World.beat,
    Step.JOIN: World.join,
    Step.TIME: World.pass_time,
    Step.OWN_ANSWER: lambda world: world.broker_answers(OWN),
    Step.PRODUCERS_ANSWER: lambda world: world.broker_answers(PRODUCERS),
    Step.STALE: lambda world: world.broker.be_ahead(),
    Step.QUIET_WHILE: World.be_quiet,
}
Action = Step | Retarget | Commits
SOME = st.frozensets(st.sampled_from(sorted(ALL)))
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.sampled_from((*Step, Step.BEAT, Step.OWN_ANSWER, Step.OWN_ANSWER, Step.QUIET_WHILE)),
    st.builds(Retarget, SOME),
    st.builds(Commits, SOME.filter(bool), st.integers(0, 2), st.booleans()),
)


@settings(max_examples=400, deadline=None)
@given(is_cooperative=st.booleans(), actions=st.lists(ACTIONS, min_size=20, max_size=60))
def test_no_commit_reaches_the_broker_for_a_partition_that_is_lost(is_cooperative: bool, actions: list[Action]) -> None:
    """Whatever the client commits, in whatever generation, and however late its producer's connection is served."""
    world = World(is_cooperative=is_cooperative)
    world.join()
    for _ in range(3):
        world.broker_answers(OWN)
    for action in actions:
        match action:
            case Retarget(target):
                world.broker.target = target
                world.broker.epoch += 1
            case Commits(partitions, age, is_transactional):
                world.commit(partitions, age, is_transactional=is_transactional)
            case Step():
                STEPS[action](world)
            case _:
                assert_never(action)


def test_model_takes_commits() -> None:
    """The property is about something: an own partition's commit lands, by both connections."""
    world = World(is_cooperative=True)
    world.join()
    for _ in range(3):
        world.broker_answers(OWN)
    world.commit(frozenset({0, 1}), 0, is_transactional=False)
    world.commit(frozenset({2}), 0, is_transactional=True)
    for connection in (OWN, PRODUCERS):
        world.broker_answers(connection)
    assert world.broker.landed == 2
