"""Commits of members that a broker coordinates."""

from dataclasses import replace

from trio.testing import MockClock

from bridge.coordinators.upstream.commits import ASKED_AGAIN_MAX, Flights
from bridge.wire.codec.registry import Request
from tests.support.embedded_world import FakeVia, commit_request, committed, join_request
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import UpstreamWorld, granted, unchanged, upstream_world
from translators.dialects.classic import JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, RequestRef, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, TxnOffsetCommit

ME, ANOTHER = MemberRef(GROUP, MemberId("a")), MemberRef(GROUP, MemberId("b"))
FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


def stale(request: Request) -> OffsetCommitReply:
    """The member's epoch moved meanwhile."""
    return committed(request, ErrorCode.STALE_MEMBER_EPOCH)


async def code_of(world: UpstreamWorld, ref: RequestRef) -> ErrorCode:
    """The one code of a commit's answer."""
    reply = await world.answer(ref, OffsetCommitReply)
    (code,) = {item.error for topic in reply.topics for item in topic.partitions}
    return code


def taken(world: UpstreamWorld) -> OffsetCommit:
    """The commit that the broker was asked; it is answered."""
    request = world.via.answer(committed)
    assert isinstance(request, OffsetCommit)
    return request


async def test_commit_goes_under_the_members_epoch(autojump_clock: MockClock) -> None:
    """The client names its generation, which the broker does not know."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(9, 0))
        ref = world.send(commit_request(generation, "a"))
        assert (taken(world).generation, await code_of(world, ref)) == (9, ErrorCode.NONE)


async def test_partition_that_is_lost_is_not_committed(autojump_clock: MockClock) -> None:
    """A broker takes lost partitions under a current epoch: the next owner's commit would be overwritten."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 1))
        joining = world.send(join_request("a"))
        await world.say(granted(2, 1))
        again = (await world.answer(joining, JoinGroupReply)).generation
        await world.sync("a", again)
        assert again > generation
        ref = world.send(commit_request(generation, "a", (0,)))
        assert await code_of(world, ref) is ErrorCode.ILLEGAL_GENERATION
        assert world.via.open == []


async def test_partition_that_was_never_handed_out_is_refused_without_an_end_of_all(autojump_clock: MockClock) -> None:
    """Who has yet to hear what it was dealt would give up all for 22: it hears that a rebalance goes on (K5.7)."""
    async with upstream_world() as world:
        await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 1))
        joining = world.send(join_request("a"))
        await world.say(granted(2, 1))
        again = (await world.answer(joining, JoinGroupReply)).generation
        early = world.send(commit_request(again, "a", (3,)))
        assert await code_of(world, early) is ErrorCode.REBALANCE_IN_PROGRESS
        await world.sync("a", again)
        late = world.send(commit_request(again, "a", (3,)))
        assert await code_of(world, late) is ErrorCode.ILLEGAL_GENERATION


async def test_stale_epoch_is_asked_again_and_then_by_its_client(autojump_clock: MockClock) -> None:
    """A code above 100 never reaches a classic client."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0))
        ref = world.send(commit_request(generation, "a"))
        for _ in range(ASKED_AGAIN_MAX):
            world.via.answer(stale)
        assert await code_of(world, ref) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.via.open == []


async def test_nothing_is_let_go_while_its_commit_is_on_its_way(autojump_clock: MockClock) -> None:
    """The heartbeat that gives the partition up waits for the commit's answer, on every road (decision 2)."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 1))
        committing = world.send(commit_request(generation, "a", (0,)))
        joining = world.send(join_request("a"))
        assert await world.beat("b", 1) is ErrorCode.UNKNOWN_MEMBER_ID
        assert [type(request) for request, _ in world.via.open] == [OffsetCommit]
        taken(world)
        assert await code_of(world, committing) is ErrorCode.NONE
        assert (await world.say(granted(2, 1))).owned == frozenset()
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


async def test_lost_answer_keeps_partitions_until_it_can_no_longer_land(autojump_clock: MockClock) -> None:
    """The client comes again; what it lets go is told after `commit.drain.ms`."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        ref = world.send(commit_request(generation, "a"))
        world.via.answer(lambda _: None)
        assert await code_of(world, ref) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        joining = world.send(join_request("a"))
        assert (await world.say(granted(1, 0, 1))).owned == frozenset()
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


async def test_others_commit_as_they_are(autojump_clock: MockClock) -> None:
    """KIP-848 members of the group name the broker's own epoch, admins none."""
    async with upstream_world() as world:
        for request in (commit_request(4, "native"), commit_request()):
            ref = world.send(request)
            assert replace(taken(world), topics=request.topics) == request
            assert await code_of(world, ref) is ErrorCode.NONE


async def test_classic_member_that_nobody_knows_is_answered_here(autojump_clock: MockClock) -> None:
    """The broker would answer its version with 35, after which no client comes again."""
    async with upstream_world() as world:
        ref = world.send(replace(commit_request(4, "gone"), knows_member_epoch=False))
        assert await code_of(world, ref) is ErrorCode.UNKNOWN_MEMBER_ID
        assert world.via.open == []


async def test_partition_that_was_never_handed_out_is_not_committed(autojump_clock: MockClock) -> None:
    """A classic group lets that pass, and a broker takes it under a current epoch: it may be another member's."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0))
        ref = world.send(commit_request(generation, "a", (0, 3)))
        assert await code_of(world, ref) is ErrorCode.ILLEGAL_GENERATION


async def test_commit_of_a_left_over_is_answered_as_a_call(autojump_clock: MockClock) -> None:
    """Upon UNKNOWN_MEMBER_ID its client would drop what the broker may still have down for it."""
    async with upstream_world(resume_ms=45_000) as world:
        ref = world.send(replace(commit_request(4, "a"), knows_member_epoch=False))
        assert await code_of(world, ref) is ErrorCode.REBALANCE_IN_PROGRESS


async def test_transaction_under_a_stale_epoch_is_asked_again(autojump_clock: MockClock) -> None:
    """To it a broker says so in the classic word; it comes by another connection than the heartbeat that tells."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0))
        commit = commit_request(generation, "a")
        request = TxnOffsetCommit(
            transactional_id="t",
            producer_id=1,
            producer_epoch=1,
            group_id=commit.group_id,
            generation=generation,
            member_id=commit.member_id,
            instance_id=None,
            topics=commit.topics,
        )
        ref = world.send(request, FakeVia(connection=2))
        via = world.vias[2]
        via.answer(lambda _: committed(commit, ErrorCode.ILLEGAL_GENERATION))
        asked = via.answer(lambda _: committed(commit))
        assert isinstance(asked, TxnOffsetCommit)
        assert (asked.generation, await code_of(world, ref)) == (1, ErrorCode.NONE)


def test_member_lets_go_of_nothing_that_a_commit_of_it_is_on_its_way_for() -> None:
    """Of whatever else, it may; and others may let go of what they like."""
    flights = Flights()
    first, second = flights.begin(ME, frozenset({FIRST})), flights.begin(ME, frozenset({SECOND}))
    assert flights.hold_back(ME, frozenset({FIRST}))
    assert not flights.hold_back(ME, frozenset({FIRST, SECOND}))
    assert not flights.hold_back(ANOTHER, frozenset())
    assert flights.end(second) == ME
    assert not flights.hold_back(ME, frozenset({FIRST}))
    assert flights.is_out(ME)
    assert flights.end(first) == ME
    assert not flights.is_out(ME)


def test_commit_ends_once() -> None:
    """Its answer may come behind its time."""
    flights = Flights()
    number = flights.begin(ME, frozenset({FIRST}))
    assert (flights.end(number), flights.end(number)) == (ME, None)
