"""What operators may do, on a running coordinator."""

from trio.testing import MockClock

from bridge.coordinators.embedded.operators import GroupConversion, Operators, everybody
from bridge.engine.commands import GroupType
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import embedded_world, join_request, native_join
from tests.support.owned_group import GROUP
from translators.dialects.classic import JoinGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, InstanceId, MemberId

NONE = ErrorCode.NONE


async def test_removed_member_is_gone_and_strangers_are_named(autojump_clock: MockClock) -> None:
    """KIP-345: every entry has its own code; the client hears 25 and joins again."""
    async with embedded_world() as world:
        generation = await world.form("a")
        operators = Operators(world.groups)
        reply = await operators.remove_members(GROUP, [MemberId("a"), MemberId("x")], [InstanceId("seat")])
        assert reply is not None
        assert [member.error for member in reply.members] == [
            NONE,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
        ]
        assert await world.beat(generation) is ErrorCode.UNKNOWN_MEMBER_ID
        assert len(world.groups.own) == 0


async def test_everybody_leaves_whatever_protocol_they_speak(autojump_clock: MockClock) -> None:
    """Classic and native members of one group."""
    async with embedded_world() as world:
        await world.form("a")
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        assert {entry.member_id for entry in everybody(world.groups.owner.shard, GROUP)} == {"a", "n"}
        reply = await Operators(world.groups).remove_all_members(GROUP)
        assert reply is not None
        assert [member.error for member in reply.members] == [NONE, NONE]
        assert everybody(world.groups.owner.shard, GROUP) == ()


async def test_classic_group_is_emptied_too(autojump_clock: MockClock) -> None:
    """Its own leader computes; whoever is parked is answered."""
    async with embedded_world(EngineSettings(group_initial_rebalance_delay_ms=0, group_begins_classic=True)) as world:
        promised = await world.ask(join_request(""), JoinGroupReply)
        assert promised.error is ErrorCode.MEMBER_ID_REQUIRED
        joined = await world.join(promised.member_id)
        assert joined.error is NONE
        reply = await Operators(world.groups).remove_all_members(GROUP)
        assert reply is not None
        assert [(member.member_id, member.error) for member in reply.members] == [(joined.member_id, NONE)]


async def test_unknown_group_has_nobody_to_remove(autojump_clock: MockClock) -> None:
    """Not a member that is unknown, but the group."""
    async with embedded_world() as world:
        operators = Operators(world.groups)
        assert await operators.remove_all_members(GroupId("other")) is None
        assert await operators.remove_members(GroupId("other"), [MemberId("a")], []) is None


async def test_order_to_convert_is_carried_out_and_undone(autojump_clock: MockClock) -> None:
    """What it means to each member comes with the answer; nobody has to join again."""
    async with embedded_world() as world:
        generation = await world.form("a")
        operators = Operators(world.groups)
        tried = await operators.convert(GROUP, GroupType.CLASSIC, is_dry_run=True)
        assert tried is not None
        assert (tried.refusal, [one.member_id for one in tried.members], tried.disturbs_all) == ("", ["a"], False)
        assert await operators.convert(GROUP, GroupType.CLASSIC, is_dry_run=False) == tried
        assert await world.beat(generation) is NONE
        back = await operators.convert(GROUP, GroupType.CONSUMER, is_dry_run=False)
        assert back is not None
        assert [(one.member_id, one.loses, one.gains) for one in back.members] == [("a", frozenset(), frozenset())]
        assert await world.beat(generation) is NONE
        assert world.groups.log.conversions == {("classic", "done"): 1, ("consumer", "done"): 1}


async def test_order_that_cannot_be_carried_out_is_told_and_counted(autojump_clock: MockClock) -> None:
    """A dry run counts as nothing."""
    async with embedded_world() as world:
        await world.form("a")
        operators = Operators(world.groups)
        for is_dry_run in (True, False):
            refused = await operators.convert(GROUP, GroupType.CONSUMER, is_dry_run=is_dry_run)
            assert refused == GroupConversion(refusal="group g is a consumer group already")
        assert world.groups.log.conversions == {("consumer", "same-type"): 1}
        assert await operators.convert(GroupId("other"), GroupType.CLASSIC, is_dry_run=False) is None


async def test_order_while_nothing_is_served_is_refused(autojump_clock: MockClock) -> None:
    """The bridge is starting, or its journal can't be written."""
    async with embedded_world() as world:
        await world.form("a")
        world.groups.guard(lambda: Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "not now"))
        refused = await Operators(world.groups).convert(GROUP, GroupType.CLASSIC, is_dry_run=False)
        assert refused is not None
        assert refused.refusal.startswith("the bridge can't do it at the moment")
