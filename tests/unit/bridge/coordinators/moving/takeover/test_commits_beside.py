"""Commits that come by a connection of their own while their member is taken over by another."""

import pytest
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from tests.support.embedded_world import commit_request, committed
from tests.support.moving_world import GENERATION, MovingWorld, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
OUTRUN = [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.STALE_MEMBER_EPOCH]


def codes_of(world: MovingWorld, commit: RequestRef) -> set[ErrorCode] | None:
    """What a client was told of its commit."""
    reply = world.reply(commit)
    if reply is None:
        return None
    assert isinstance(reply, OffsetCommitReply)
    return {item.error for topic in reply.topics for item in topic.partitions}


def answer_commit(world: MovingWorld, code: ErrorCode) -> OffsetCommit:
    """The broker's word on the oldest commit by the connection of commits."""
    (asked, *_) = world.asked("commits of a")
    assert isinstance(asked, OffsetCommit)
    world.answer("commits of a", committed(asked, code))
    return asked


async def commit_before_the_first_heartbeat(world: MovingWorld) -> RequestRef:
    """While somebody else is asked for a member that nobody has heard commits, and beats by another connection."""
    world.at_broker({"b": ONE, "a": ZERO})
    world.joined("b")
    await world.order(Road.UPSTREAM)
    commit = world.send("commits of a", commit_request(GENERATION, "a"))
    assert len(world.asked("commits of a")) == 1
    world.beat("a")
    return commit


@pytest.mark.parametrize("code", OUTRUN)
@pytest.mark.parametrize("is_taken", [True, False])
async def test_commit_that_its_member_s_switch_has_outrun_is_asked_for_again(
    code: ErrorCode, is_taken: bool, autojump_clock: MockClock
) -> None:
    """Of a consumer member brokers take no commit below version 9: 35 ends Java's clients and others."""
    async with moving_world() as world:
        commit = await commit_before_the_first_heartbeat(world)
        world.answer("b", granted(GENERATION, 1))
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        if is_taken:
            world.answer("a", unchanged(GENERATION))
        answer_commit(world, code)
        assert (codes_of(world, commit), len(world.asked("commits of a"))) == (None, int(is_taken))
        if not is_taken:
            world.answer("a", unchanged(GENERATION))
        assert answer_commit(world, ErrorCode.NONE).generation == GENERATION
        assert codes_of(world, commit) == {ErrorCode.NONE}
        assert world.progress().stage is MoveStage.DONE


async def test_commit_of_a_mapped_member_is_asked_for_again_too(autojump_clock: MockClock) -> None:
    """Its broker knows it by another generation, and by another epoch then."""
    async with moving_world() as world:
        seat = MappedSeat(
            member_id=MemberId("a"), generation=GENERATION, seat_id=MemberId("seat"), seat_generation=GENERATION + 3
        )
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.at_broker({"b": ONE, "seat": ZERO})
        world.joined("b")
        await world.order(Road.UPSTREAM)
        commit = world.send("commits of a", commit_request(GENERATION, "a"))
        world.beat("a")
        world.answer("b", granted(GENERATION, 1))
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        world.answer("a", unchanged(GENERATION + 3))
        assert answer_commit(world, ErrorCode.UNSUPPORTED_VERSION).member_id == "seat"
        assert codes_of(world, commit) is None
        assert answer_commit(world, ErrorCode.NONE).generation == GENERATION + 3
        assert codes_of(world, commit) == {ErrorCode.NONE}


@pytest.mark.parametrize("code", [*OUTRUN, ErrorCode.ILLEGAL_GENERATION, ErrorCode.NONE])
async def test_word_on_the_commit_of_a_classic_member_is_its_client_s(
    code: ErrorCode, autojump_clock: MockClock
) -> None:
    """Whatever it is: nobody was switched."""
    async with moving_world() as world:
        commit = await commit_before_the_first_heartbeat(world)
        world.answer("b", refused(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        answer_commit(world, code)
        assert (codes_of(world, commit), world.asked("commits of a")) == ({code}, [])


async def test_commit_whose_connection_is_lost_is_to_be_sent_again(autojump_clock: MockClock) -> None:
    """As by any coordinator that can't be reached."""
    async with moving_world() as world:
        commit = await commit_before_the_first_heartbeat(world)
        world.answer("commits of a", None)
        assert codes_of(world, commit) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


async def test_commit_of_a_member_that_nobody_heard_has_it_asked_for_once_it_is_known_how(
    autojump_clock: MockClock,
) -> None:
    """Nothing of it is on its way by another connection that anybody knows; it would be waited for until it beats."""
    async with moving_world() as world:
        world.at_broker({"a": ZERO, "b": ONE, "c": frozenset({TopicPartition(TOPIC, 2)})})
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        world.answer("a", granted(GENERATION, 0))
        assert len(world.asked("b")) == 1, "it is known that the broker takes them"
        commit = world.send("commits of c", commit_request(GENERATION, "c"))
        (asked,) = world.asked("commits of c")
        assert isinstance(asked, ConsumerGroupHeartbeat)
        assert (asked.member_id, asked.member_epoch, codes_of(world, commit)) == ("c", GENERATION, None)
        world.answer("b", granted(GENERATION, 1))
        world.answer("commits of c", granted(GENERATION, 2))
        assert world.progress().count(MemberStage.MOVED) == 3
