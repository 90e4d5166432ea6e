"""Take-overs of whose members a broker puts one out, or says so of one that it has switched."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from bridge.wire.codec.registry import error_reply
from tests.support.embedded_world import commit_request
from tests.support.moving_world import GENERATION, MovingWorld, classic_join, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition

TWO_MEMBERS = {name: frozenset({TopicPartition(TOPIC, number)}) for number, name in enumerate("ab")}
NOT_FOUND = refused(ErrorCode.GROUP_ID_NOT_FOUND)
ALIVE = HeartbeatReply(ErrorCode.NONE)


def map_b(world: MovingWorld) -> None:
    """One member's broker is told of it in other words."""
    seat = MappedSeat(member_id=MemberId("b"), generation=GENERATION, seat_id=MemberId("b"), seat_generation=GENERATION)
    world.mapped.put(GROUP, seat)
    world.router.move_member(GROUP, MemberId("b"), Road.MAPPED)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID])
@pytest.mark.parametrize("is_commit", [False, True], ids=["beats", "commits"])
@pytest.mark.parametrize("is_mapped", [False, True], ids=["passes", "mapped"])
async def test_member_whose_broker_put_it_out_is_waited_for_no_more(
    code: ErrorCode, is_commit: bool, is_mapped: bool, autojump_clock: MockClock
) -> None:
    """Its client joins anew, and that waited for the move, which waited two sessions for a member that was none."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        if is_mapped:
            map_b(world)
        await world.order(Road.UPSTREAM)
        world.beat("a")
        asking = commit_request(GENERATION, "b") if is_commit else Heartbeat(GROUP, GENERATION, MemberId("b"), None)
        told = error_reply(asking, code)
        asked, joining = world.send("b", asking), world.send("new", classic_join(""))
        world.answer("b", told)
        assert world.reply(asked) == told
        world.answer("a", NOT_FOUND)
        world.answer("a", granted(GENERATION, 0))
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED), done.count(MemberStage.GONE)) == (MoveStage.DONE, 1, 1)
        assert next(one.detail for one in done.members if one.member_id == "b").startswith("UNKNOWN_MEMBER_ID: its")
        await trio.sleep(0.1)
        assert world.code(joining) is ErrorCode.MEMBER_ID_REQUIRED, "on the group's new road"


async def beat_by_an_older_connection(world: MovingWorld) -> tuple[RequestRef, RequestRef]:
    """While somebody else is asked for, a client beats by one connection and then by another."""
    older = world.send("older of b", Heartbeat(GROUP, GENERATION, MemberId("b"), None))
    newer = world.beat("b")
    world.answer("a", NOT_FOUND)
    world.answer("a", granted(GENERATION, 0))
    world.answer("b", ALIVE)
    assert (world.reply(older), world.reply(newer)) == (None, ALIVE)
    return older, newer


@pytest.mark.parametrize("is_taken", [True, False])
@pytest.mark.parametrize("is_mapped", [False, True], ids=["passes", "mapped"])
async def test_heartbeat_that_its_member_s_switch_has_outrun_ends_nobody(
    is_taken: bool, is_mapped: bool, autojump_clock: MockClock
) -> None:
    """A broker answers 25 to a classic heartbeat of a consumer member: its client joined anew, and what it had was
    nobody's until its session was over, as the bridge went on beating for it. As with an outrun commit its new road
    has the word.
    """
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        if is_mapped:
            map_b(world)
        await world.order(Road.UPSTREAM)
        world.beat("a")
        older, _ = await beat_by_an_older_connection(world)
        if is_taken:
            world.answer("b", unchanged(GENERATION))
        world.answer("older of b", HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID))
        if is_mapped and not is_taken:
            # Its mapping has ended with that word, so that its switch can't be made good any more.
            assert world.code(older) is ErrorCode.UNKNOWN_MEMBER_ID
            assert world.progress().count(MemberStage.GONE) == 1
            return
        if not is_taken:
            assert world.reply(older) is None
            world.answer("b", unchanged(GENERATION))
        assert world.reply(older) == ALIVE
        assert (world.progress().stage, world.progress().count(MemberStage.MOVED)) == (MoveStage.DONE, 2)
        assert world.code(world.beat("b")) is ErrorCode.NONE


async def test_heartbeat_of_who_turns_out_to_be_put_out_is_answered_so(autojump_clock: MockClock) -> None:
    """It waited for the word on its member, which is the same: there is none."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        await world.order(Road.UPSTREAM)
        world.beat("a")
        older, _ = await beat_by_an_older_connection(world)
        world.answer("older of b", HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID))
        assert world.reply(older) is None
        world.answer("b", refused(ErrorCode.UNKNOWN_MEMBER_ID))
        assert world.code(older) is ErrorCode.UNKNOWN_MEMBER_ID
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED), done.count(MemberStage.GONE)) == (MoveStage.DONE, 1, 1)


async def test_stop_that_leaves_nobody_was_in_vain(autojump_clock: MockClock) -> None:
    """All of a thousand were there, asked for before the word came: the move was said to have been stopped."""
    async with moving_world() as world:
        world.at_broker({"a": TWO_MEMBERS["a"]})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        assert world.live.stop(GROUP) is not None
        world.answer("a", granted(GENERATION, 0))
        done = world.progress()
        assert (done.stage, done.verdict) == (MoveStage.DONE, "1 member is on upstream, and none of them was disturbed")
