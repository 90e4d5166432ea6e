"""Large commits are carried out in pieces, in order, and answered once."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from bridge.coordinators.commit_pieces import PIECE_PARTITIONS, CommitPieces, is_large, merged, pieces_of
from bridge.coordinators.embedded.handover import Handover, Restless
from bridge.coordinators.offset_requests import Commit, refuse_commit
from bridge.session.contracts import BrokerAccess
from bridge.wire.codec.registry import Request
from tests.support.embedded_world import FakeVia, World, commit_request, committed, embedded_world, leave_request
from tests.support.longest_turn import LongestWork
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import UpstreamWorld, granted, unchanged, upstream_world
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, MemberRef, RequestRef, Topic, TopicId, TopicName
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

LOOK_S = 0.001
NONE, UNKNOWN, MISSING = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def commit_of(counts: dict[str, int], generation: int = -1, member_id: str = "") -> OffsetCommit:
    """So many partitions of each topic."""
    topics = tuple(
        TopicCommit(
            name=TopicName(name),
            partitions=tuple(PartitionCommit(partition=number, offset=number + 7) for number in range(count)),
        )
        for name, count in counts.items()
    )
    return OffsetCommit(
        group_id=GROUP, generation=generation, member_id=MemberId(member_id), instance_id=None, topics=topics
    )


def places(message: Commit | OffsetCommitReply) -> list[tuple[str, int]]:
    """What it names, in order."""
    return [(topic.name, item.partition) for topic in message.topics for item in topic.partitions]


def codes(reply: OffsetCommitReply) -> set[ErrorCode]:
    """What it says."""
    return {item.error for topic in reply.topics for item in topic.partitions}


def brokers_word(commit: Commit, missing_from: int) -> OffsetCommitReply:
    """As Kafka 4.3.1 gathers it: what it turns away before it asks the group first, the group's word behind that, each
    topic once; partitions from `missing_from` on are not there, and of none there is nothing to say.
    """
    said: dict[TopicName, list[CommittedPartition]] = {}
    for code, is_wanted in ((MISSING, True), (NONE, False)):
        for name, number in places(commit):
            if (number >= missing_from) is is_wanted:
                said.setdefault(TopicName(name), []).append(CommittedPartition(number, code))
    return OffsetCommitReply(topics=tuple(CommittedTopic(name=one, partitions=tuple(said[one])) for one in said))


@given(
    st.lists(st.integers(0, 2 * PIECE_PARTITIONS + 1), min_size=1, max_size=5),
    st.integers(0, 2 * PIECE_PARTITIONS + 1) | st.just(3 * PIECE_PARTITIONS),
)
def test_pieces_are_the_commit_and_their_answers_its_answer(counts: list[int], missing_from: int) -> None:
    """In order, each within the bound, and all but the last full; what is turned away comes first in the whole."""
    commit = commit_of({f"t{number}": count for number, count in enumerate(counts)})
    pieces = list(pieces_of(commit))
    assert [place for piece in pieces for place in places(piece)] == places(commit)
    weights = [sum(max(1, len(topic.partitions)) for topic in piece.topics) for piece in pieces]
    assert all(weight == PIECE_PARTITIONS for weight in weights[:-1])
    assert 0 < weights[-1] <= PIECE_PARTITIONS
    assert is_large(commit) == (len(pieces) > 1)
    assert merged([brokers_word(piece, missing_from) for piece in pieces]) == brokers_word(commit, missing_from)


def test_commit_of_a_transaction_stays_one_of_the_same() -> None:
    """Its pieces are of one transaction, which takes effect as a whole."""
    plain = commit_of({"t": PIECE_PARTITIONS + 1})
    whole = TxnOffsetCommit(
        transactional_id="tx",
        group_id=GROUP,
        producer_id=3,
        producer_epoch=4,
        topics=plain.topics,
        member_id=MemberId("m"),
    )
    pieces = list(pieces_of(whole))
    assert [len(places(piece)) for piece in pieces] == [PIECE_PARTITIONS, 1]
    assert {replace(piece, topics=()) for piece in pieces if isinstance(piece, TxnOffsetCommit)} == {
        replace(whole, topics=())
    }


def test_longest_throttle_time_is_told() -> None:
    """The broker says one with each piece."""
    replies = [replace(committed(commit_of({"t": 1})), throttle_time_ms=time_ms) for time_ms in (3, 70, 0)]
    assert merged(replies).throttle_time_ms == 70


@dataclass(slots=True)
class Desk:
    """Who carries commits out when the test says so."""

    begun: list[tuple[RequestRef, Commit]] = field(default_factory=list)
    told: list[tuple[RequestRef, GroupReply]] = field(default_factory=list)
    wakes: int = 0
    fails: bool = False
    pieces: CommitPieces = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = CommitPieces(lambda ref, reply: self.told.append((ref, reply)), self._wake)
        self.pieces.begin = self._begin

    def submit(self, number: int, commit: Commit, connection: int = 1) -> RequestRef:
        """A client commits."""
        ref = RequestRef(0, connection, number)
        self.pieces.submit(ref, FakeVia(connection), commit)
        return ref

    def go_on(self) -> None:
        """As many turns as are asked for."""
        while self.wakes:
            self.wakes -= 1
            self.pieces.go_on()

    def answer(self, say: Callable[[Request], OffsetCommitReply] = committed) -> None:
        """The broker's word on what was begun first."""
        ref, commit = self.begun.pop(0)
        self.pieces.deliver(ref, say(commit))

    def _begin(self, ref: RequestRef, way: BrokerAccess, commit: Commit) -> None:
        if self.fails:
            raise ValueError("a bug")
        self.begun.append((ref, commit))

    def _wake(self) -> None:
        self.wakes += 1


SMALL, LARGE = commit_of({"t": PIECE_PARTITIONS}), commit_of({"t": 2 * PIECE_PARTITIONS, "u": 1})


def test_small_commit_goes_on_at_once() -> None:
    """Without a turn of its own."""
    desk = Desk()
    ref = desk.submit(1, SMALL)
    assert desk.begun == [(ref, SMALL)]
    desk.answer()
    assert (desk.told, desk.wakes) == ([(ref, committed(SMALL))], 0)


def test_large_commit_is_begun_piece_by_piece_each_in_a_turn() -> None:
    """The next one when there is an answer to the one before."""
    desk = Desk()
    ref = desk.submit(1, LARGE)
    for number in range(3):
        assert (desk.begun, desk.told) == ([], [])
        desk.pieces.go_on()
        assert len(desk.begun) == 1, number
        desk.pieces.go_on()
        assert len(desk.begun) == 1, "it waits for the answer"
        desk.answer()
    assert desk.told == [(ref, committed(LARGE))]


def test_commits_of_a_group_wait_behind_its_large_one_and_those_of_others_do_not() -> None:
    """Else an older offset would be committed over a newer one, also where a client comes by another connection."""
    desk = Desk()
    large, behind, last = desk.submit(1, LARGE), desk.submit(2, SMALL, connection=2), desk.submit(3, LARGE)
    other = desk.submit(4, replace(SMALL, group_id=GroupId("another")))
    assert [ref for ref, _ in desk.begun] == [other]
    desk.answer()
    for _ in range(3):
        desk.go_on()
        assert [ref for ref, _ in desk.begun] == [large]
        desk.answer()
    desk.go_on()
    assert [ref for ref, _ in desk.begun] == [behind, last], "of one piece, which is begun: the next one may be, too"
    for _ in range(4):
        desk.answer()
        desk.go_on()
    assert [ref for ref, _ in desk.told] == [other, large, behind, last]
    assert desk.submit(5, SMALL) == desk.begun[0][0], "the line is over"


def test_refusals_of_pieces_are_part_of_the_answer() -> None:
    """A member that lost its seat in between is told so of the rest; what the broker has is not taken back."""
    desk = Desk()
    desk.submit(1, LARGE)
    desk.go_on()
    desk.answer()
    desk.go_on()
    for _ in range(2):
        desk.answer(
            lambda piece: refuse_commit(piece, UNKNOWN) if isinstance(piece, OffsetCommit) else committed(piece)
        )
        desk.go_on()
    ((_, reply),) = desk.told
    assert isinstance(reply, OffsetCommitReply)
    assert places(reply) == places(LARGE)
    found = [item.error for topic in reply.topics for item in topic.partitions]
    assert found == [NONE] * PIECE_PARTITIONS + [UNKNOWN] * (PIECE_PARTITIONS + 1)


def test_broker_that_is_away_is_asked_for_the_first_piece_only() -> None:
    """To reach it is tried for ten seconds each time: 24 pieces kept heartbeats of the connection waiting for 4 min."""
    desk = Desk()
    large, behind = desk.submit(1, LARGE), desk.submit(2, SMALL)
    desk.go_on()
    piece = desk.begun[0][1]
    desk.answer(lambda _: refuse_commit(piece, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    desk.go_on()
    ((ref, reply),) = desk.told
    assert isinstance(reply, OffsetCommitReply)
    assert (ref, places(reply), codes(reply)) == (large, places(LARGE), {ErrorCode.COORDINATOR_NOT_AVAILABLE})
    assert [ref for ref, _ in desk.begun] == [behind], "it is tried for itself"


@pytest.mark.parametrize(("name", "topic_id"), [("t", NO_TOPIC_ID), ("", TopicId(b"t" * 16))])
def test_topic_of_which_one_piece_is_refused_is_there_once(name: str, topic_id: TopicId) -> None:
    """The broker's word has name and id of it, a refusal only what its client said."""
    desk, plain = Desk(), commit_of({name: PIECE_PARTITIONS + 1})
    desk.submit(1, replace(plain, topics=tuple(replace(topic, topic_id=topic_id) for topic in plain.topics)))
    desk.go_on()
    _, piece = desk.begun[0]
    both = replace(piece.topics[0], name=TopicName("t"), topic_id=TopicId(b"t" * 16))
    desk.answer(lambda _: refuse_commit(replace(piece, topics=(both,)), NONE))
    desk.go_on()
    _, rest = desk.begun[0]
    desk.answer(lambda _: refuse_commit(rest, UNKNOWN))
    ((_, reply),) = desk.told
    assert isinstance(reply, OffsetCommitReply)
    (topic,) = reply.topics
    assert [item.partition for item in topic.partitions] == list(range(PIECE_PARTITIONS + 1))
    assert [item.error for item in topic.partitions] == [NONE] * PIECE_PARTITIONS + [UNKNOWN]


def test_bug_in_a_piece_is_an_answer_too(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever waits behind it must not wait for ever."""
    desk = Desk(fails=True)
    ref, behind = desk.submit(1, LARGE), desk.submit(2, SMALL)
    desk.go_on()
    assert [told for told, _ in desk.told] == [ref, behind]
    assert all(isinstance(reply, OffsetCommitReply) and len(codes(reply)) == 1 for _, reply in desk.told)
    assert "EB-GROUP-002" in caplog.text


def test_bug_behind_the_answer_to_a_piece_is_no_second_answer(caplog: pytest.LogCaptureFixture) -> None:
    """It would be taken for what became of the whole commit."""
    desk = Desk()

    def begin(ref: RequestRef, way: BrokerAccess, commit: Commit) -> None:
        desk.pieces.deliver(ref, committed(commit))
        raise ValueError("a bug")

    desk.pieces.begin = begin
    ref = desk.submit(1, LARGE)
    behind = desk.submit(2, SMALL)
    desk.go_on()
    assert desk.told == [(ref, committed(LARGE)), (behind, committed(SMALL))]
    assert "EB-GROUP-002" in caplog.text


def test_connection_that_is_gone_begins_nothing_more() -> None:
    """What is on its way is answered to nobody who would wait for it."""
    desk = Desk()
    ref = desk.submit(1, LARGE)
    desk.submit(2, SMALL)
    other = desk.submit(3, LARGE, connection=2)
    desk.go_on()
    desk.pieces.forget(1)
    desk.answer()
    for _ in range(3):
        desk.go_on()
        desk.answer()
    assert [told for told, _ in desk.told] == [ref, other]
    desk.go_on()
    assert desk.begun == []


def test_connection_that_goes_while_it_waits_leaves_the_line_to_others() -> None:
    """Whoever is under way goes on."""
    desk = Desk()
    ref = desk.submit(1, LARGE)
    desk.submit(2, LARGE, connection=2)
    desk.go_on()
    desk.pieces.forget(2)
    desk.pieces.forget(3)
    for _ in range(3):
        desk.answer()
        desk.go_on()
    assert desk.told == [(ref, committed(LARGE))]
    assert (desk.begun, desk.wakes) == ([], 0)


@given(st.lists(st.tuples(st.sampled_from("slwaf"), st.integers(1, 3), st.integers(1, 2)), max_size=30))
def test_whatever_comes_everybody_who_is_there_is_answered_once_and_in_order(story: list[tuple[str, int, int]]) -> None:
    """Small and large commits of two groups by three connections, turns, answers, and connections that end."""
    desk, sent, number = Desk(), list[RequestRef](), 0
    gone = set[int]()
    for what, connection, group in story:
        if what in "sl" and connection not in gone:
            number += 1
            commit = replace(SMALL if what == "s" else LARGE, group_id=GroupId(f"g{group}"))
            sent.append(desk.submit(number, commit, connection))
        elif what == "w":
            desk.go_on()
        elif what == "a" and desk.begun:
            desk.answer()
        elif what == "f":
            gone.add(connection)
            desk.pieces.forget(connection)
    desk.go_on()
    while desk.begun:
        desk.answer()
        desk.go_on()
    told = [ref for ref, _ in desk.told]
    whole = [ref for ref in told if ref.connection not in gone]
    assert sorted(whole) == sorted(ref for ref in sent if ref.connection not in gone)
    assert desk.wakes == 0


# ---------------------------------------------------------------- in its place


async def until_answered(world: World | UpstreamWorld, ref: RequestRef, via: FakeVia) -> list[int]:
    """Answer what the broker is asked until the commit is answered; gives how many partitions each question had."""
    asked = list[int]()
    while ref not in world.replies:
        if via.open:
            question = via.open[0][0]
            assert isinstance(question, OffsetCommit)
            asked.append(len(places(question)))
            via.answer(committed)
        await trio.sleep(LOOK_S)
    return asked


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A member's commit whose first piece is at the broker."""

    world: World
    generation: int
    ref: RequestRef

    async def end(self) -> tuple[list[int], list[ErrorCode]]:
        """How many partitions the broker was asked for at a time, and what its client is told of each."""
        asked = await until_answered(self.world, self.ref, self.world.via)
        reply = await self.world.answer(self.ref, OffsetCommitReply)
        return asked, [item.error for topic in reply.topics for item in topic.partitions]


async def formed(world: World, count: int) -> int:
    """A member is in generation, and the cluster has a topic of so many partitions."""
    world.broker.topics = [Topic(TopicId(b"t" * 16), TOPIC, count)]
    await world.groups.look_at_topics()
    return await world.form()


@asynccontextmanager
async def large_commit(pieces: int = 3) -> AsyncIterator[UnderWay]:
    """A member commits so many pieces at once."""
    count = pieces * PIECE_PARTITIONS
    async with embedded_world() as world:
        generation = await formed(world, count)
        ref = world.send(commit_of({TOPIC: count}, generation, "a"))
        await trio.sleep(LOOK_S)
        assert len(world.via.open) == 1
        yield UnderWay(world, generation, ref)


async def test_member_commits_all_it_has_in_pieces(autojump_clock: MockClock) -> None:
    """Its heartbeat is answered in between, and so is somebody else's commit."""
    async with large_commit() as commit:
        world = commit.world
        assert await world.beat(commit.generation) is NONE
        other = FakeVia(connection=2)
        beside = world.send(replace(commit_request(), group_id=GroupId("another")), other)
        other.answer(committed)
        assert beside in world.replies
        assert await commit.end() == ([PIECE_PARTITIONS] * 3, [NONE] * 3 * PIECE_PARTITIONS)
        assert not world.groups.owner.shard.flights


async def test_what_comes_behind_by_the_same_connection_waits_for_all_pieces(autojump_clock: MockClock) -> None:
    """A member that commits all it has and leaves has committed, and who asks for its offsets reads them."""
    async with large_commit() as commit:
        world = commit.world
        leaving = world.send(leave_request("a"))
        assert await world.beat(commit.generation) is NONE
        assert leaving not in world.replies
        assert await commit.end() == ([PIECE_PARTITIONS] * 3, [NONE] * 3 * PIECE_PARTITIONS)
        assert [one.error for one in (await world.answer(leaving, LeaveGroupReply)).members] == [NONE]


async def test_farewell_behind_a_large_commit_is_said_though_its_connection_went(autojump_clock: MockClock) -> None:
    """It is said once; what was not begun of the commit never is."""
    async with large_commit() as commit:
        world = commit.world
        world.send(leave_request("a"))
        world.groups.disconnected(world.via.connection)
        world.via.answer(committed)
        await trio.sleep(1)
        assert not world.via.open
        assert not world.groups.has_member(GROUP, MemberId("a"))


async def test_member_that_leaves_in_between_commits_the_rest_no_more(autojump_clock: MockClock) -> None:
    """Every piece is judged when its turn comes."""
    async with large_commit() as commit:
        left = commit.world.send(leave_request("a"), FakeVia(connection=2))
        await commit.world.answer(left, LeaveGroupReply)
        told = [NONE] * PIECE_PARTITIONS + [UNKNOWN] * 2 * PIECE_PARTITIONS
        assert await commit.end() == ([PIECE_PARTITIONS], told)


@pytest.mark.parametrize("waits", [False, True], ids=["nothing is served", "the broker has no say"])
async def test_bridge_that_may_serve_no_more_commits_no_more_pieces(waits: bool, autojump_clock: MockClock) -> None:
    """What closes its groups closes them between two pieces, too."""
    closed = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the test closed it")
    async with large_commit() as commit:
        commit.world.groups.guard(lambda: None if waits else closed, lambda: closed if waits else None)
        told = [NONE] * PIECE_PARTITIONS + [closed.code] * 2 * PIECE_PARTITIONS
        assert await commit.end() == ([PIECE_PARTITIONS], told)


async def test_connection_that_ends_in_between_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    """The piece on its way ends with the broker's word; the others are not begun."""
    async with large_commit() as commit:
        world = commit.world
        world.groups.disconnected(world.via.connection)
        world.via.answer(committed)
        await trio.sleep(1)
        assert not world.via.open
        assert not world.groups.owner.shard.flights
        assert world.groups.forwarder.queue.waiting == 0


async def test_group_is_not_handed_over_between_two_pieces(autojump_clock: MockClock) -> None:
    """Whoever took it would refuse the rest, and members that are told so drop what they have."""
    async with large_commit(2) as commit:
        world = commit.world
        world.via.answer(committed)
        assert not world.groups.owner.shard.flights
        assert world.groups.read_handover(GROUP) == Restless("a large commit is on its way to the broker")
        await commit.end()
        await trio.sleep(LOOK_S)
        assert isinstance(world.groups.read_handover(GROUP), Handover)


async def most_in_a_turn(pieces: int) -> int:
    """How much is done at most before others have a turn, while so many pieces are carried out."""
    async with embedded_world() as world:
        generation = await formed(world, pieces * PIECE_PARTITIONS)
        commit = commit_of({TOPIC: pieces * PIECE_PARTITIONS}, generation, "a")
        with LongestWork() as work:
            ref = world.send(commit)
            assert len(await until_answered(world, ref, world.via)) == pieces
    return work.most


async def test_large_commit_keeps_others_no_longer_than_a_small_one(autojump_clock: MockClock) -> None:
    """Whoever else is there waits for one piece of it: a second and more was what 24,000 partitions cost them."""
    assert await most_in_a_turn(12) < 1.3 * await most_in_a_turn(2)


async def test_broker_is_asked_piece_by_piece_on_road_upstream_too(autojump_clock: MockClock) -> None:
    """The same for members whose group a broker coordinates."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, *range(6)))
        await world.say(unchanged(1))
        member = MemberRef(GROUP, MemberId("a"))
        assert world.groups.is_at_rest(member)
        ref = world.send(commit_of({TOPIC: 6, "elsewhere": PIECE_PARTITIONS}, generation, "a"))
        assert not world.groups.is_at_rest(member), "nobody takes it over before all pieces are carried out"
        await trio.sleep(LOOK_S)
        assert world.groups.is_at_rest(member)
        reply = await world.answer(ref, OffsetCommitReply)
        assert len(places(reply)) == 6 + PIECE_PARTITIONS
        assert codes(reply) == {ErrorCode.ILLEGAL_GENERATION}, "what was never handed out is refused"
