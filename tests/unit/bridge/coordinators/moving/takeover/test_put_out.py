"""Take-overs of whose members a broker puts one out before its turn."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from bridge.wire.codec.registry import error_reply
from tests.support.embedded_world import commit_request
from tests.support.moving_world import GENERATION, classic_join, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused
from translators.dialects.classic import Heartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition

TWO_MEMBERS = {name: frozenset({TopicPartition(TOPIC, number)}) for number, name in enumerate("ab")}
NOT_FOUND = refused(ErrorCode.GROUP_ID_NOT_FOUND)


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
            seat = MappedSeat(
                member_id=MemberId("b"), generation=GENERATION, seat_id=MemberId("b"), seat_generation=GENERATION
            )
            world.mapped.put(GROUP, seat)
            world.router.move_member(GROUP, MemberId("b"), Road.MAPPED)
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
