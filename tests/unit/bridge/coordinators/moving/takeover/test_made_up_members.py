"""Who is no member anywhere, and says while a group is taken over that it is one."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving.places import FACTS
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from bridge.wire.codec.registry import error_reply
from tests.support.moving_world import GENERATION, MovingWorld, classic_join, described, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused
from translators.dialects.classic import Heartbeat, JoinGroup, SyncGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicPartition

ONE_MEMBER = {"a": frozenset({TopicPartition(TOPIC, 0)})}


def words_of(member_id: str) -> list[Heartbeat | SyncGroup | JoinGroup]:
    """What a classic member may say."""
    beat = Heartbeat(GROUP, GENERATION, MemberId(member_id), None)
    sync = SyncGroup(group_id=GROUP, generation=GENERATION, member_id=MemberId(member_id), instance_id=None)
    return [beat, sync, classic_join(member_id)]


def take_over_a(world: MovingWorld) -> None:
    """The one member of the move goes, and so the move ends."""
    world.beat("a")
    world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
    world.answer("a", granted(GENERATION, 0))
    assert world.progress().stage is MoveStage.DONE


@pytest.mark.parametrize("number", range(3), ids=["beats", "syncs", "joins"])
@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.NOT_COORDINATOR, None]
)
async def test_nothing_is_kept_of_members_that_no_broker_has(
    code: ErrorCode | None, number: int, autojump_clock: MockClock
) -> None:
    """Each that a heartbeat named was given a road of its own, in the journal as well: up to 100,000, of 32 kB each."""
    async with moving_world() as world:
        world.formed(ONE_MEMBER)
        await world.order(Road.UPSTREAM)
        for stranger in ("made-up", "of-nobody"):
            said = words_of(stranger)[number]
            world.send(stranger, said)
            world.answer(stranger, None if code is None else error_reply(said, code))
        take_over_a(world)
        assert (world.road("made-up"), world.router.moved) == (Road.UPSTREAM, {})
        await trio.sleep(1)
        assert "made-up" not in world.facts.kept[FACTS + GROUP]


async def test_newcomer_that_names_the_seat_of_a_member_that_lives_takes_nothing_from_it(
    autojump_clock: MockClock,
) -> None:
    """Anybody may claim a seat: whoever was heard on a connection of its own is taken over all the same."""
    seat, members = InstanceId("seat"), {**ONE_MEMBER, "b": frozenset({TopicPartition(TOPIC, 1)})}
    async with moving_world() as world:
        known = described(members)
        static = tuple(replace(one, instance_id=seat) if one.member_id == "b" else one for one in known.members)
        world.upstream.broker.described = replace(known, members=static)
        world.joined(*members)
        await world.order(Road.UPSTREAM)
        world.send("stranger", replace(classic_join(""), instance_id=seat))
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        world.answer("a", granted(GENERATION, 0))
        world.answer("b", granted(GENERATION, 1))
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED)) == (MoveStage.DONE, 2)


@pytest.mark.parametrize("number", range(3), ids=["beats", "syncs", "joins"])
@pytest.mark.parametrize(
    "code", [ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, "not yet answered"]
)
async def test_member_is_its_broker_s_whatever_strangers_say_of_it(
    code: ErrorCode | str, number: int, autojump_clock: MockClock
) -> None:
    """What its broker says to members alone tells that it is one; a word to another under its id takes nothing."""
    async with moving_world() as world:
        world.formed(ONE_MEMBER)
        await world.order(Road.UPSTREAM)
        said = words_of("late")[number]
        world.send("late", said)
        if isinstance(code, ErrorCode):
            world.answer("late", error_reply(said, code))
        world.send("stranger", words_of("late")[0])
        world.answer("stranger", error_reply(words_of("late")[0], ErrorCode.GROUP_AUTHORIZATION_FAILED))
        take_over_a(world)
        assert (world.road("late"), world.road()) == (Road.PASS, Road.UPSTREAM)
