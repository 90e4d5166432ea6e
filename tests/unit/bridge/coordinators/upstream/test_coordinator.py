"""A broker as the coordinator of members: static seats, moved coordinators, rights, and who it knows alone."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from tests.support.embedded_world import LOOK_PAUSE_S, FakeVia, join_request, leave_request
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import (
    TOPIC_ID,
    UpstreamWorld,
    granted,
    refused,
    unchanged,
    upstream_world,
)
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeftMember,
)
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition, TopicPartition

SEAT = InstanceId("seat")
ONE, TWO = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
OTHER = 2
"""A second connection."""


def static_join(member_id: str = "") -> JoinGroup:
    """A client with an instance id joins; a newcomer has no member id."""
    return replace(join_request(member_id), instance_id=SEAT)


async def seated(world: UpstreamWorld, via: FakeVia) -> tuple[str, int]:
    """A static member with one partition; gives its id and generation."""
    joining = world.send(static_join(), via)
    asked = await world.say(granted(1, 0), via)
    assert (asked.instance_id, asked.member_epoch) == (SEAT, 0)
    joined = await world.answer(joining, JoinGroupReply)
    await world.sync(joined.member_id, joined.generation, via)
    await world.say(unchanged(1), via)
    return joined.member_id, joined.generation


def holder(member_id: str) -> ConsumerGroupDescribeReply:
    """The broker tells who sits on the seat, beside somebody without one."""
    members = tuple(
        DescribedConsumerMember(
            member_id=MemberId(name),
            instance_id=instance_id,
            rack_id=None,
            member_epoch=4,
            client_id="",
            client_host="",
            subscribed_topic_names=(TOPIC,),
            subscribed_topic_regex=None,
            assignment=(),
            target_assignment=(),
        )
        for name, instance_id in ((member_id, SEAT), ("dynamic", None))
    )
    return ConsumerGroupDescribeReply((DescribedConsumerGroup(error=ErrorCode.NONE, group_id=GROUP, members=members),))


# ---------------------------------------------------------------------- static members


async def test_bounced_static_member_takes_its_seat_by_its_own_connection(autojump_clock: MockClock) -> None:
    """Its former self has none any more: the newcomer says -2 for it, and joins behind that (K1.40)."""
    async with upstream_world() as world:
        before, after = FakeVia(), FakeVia(connection=OTHER)
        member_id, _ = await seated(world, before)
        before.open.clear()
        del world.vias[before.connection]
        world.groups.disconnected(before.connection)
        joining = world.send(static_join(), after)
        farewell = await world.say(unchanged(-2), after)
        assert (farewell.member_id, farewell.member_epoch, farewell.instance_id) == (member_id, -2, SEAT)
        asked = await world.say(granted(1, 0), after)
        assert (asked.member_epoch, asked.instance_id, asked.member_id != member_id) == (0, SEAT, True)
        joined = await world.answer(joining, JoinGroupReply)
        assert await world.sync(joined.member_id, joined.generation, after) == {ONE}
        assert await world.beat(member_id, 1, after) is ErrorCode.FENCED_INSTANCE_ID


async def test_twin_of_a_living_static_member_wins(autojump_clock: MockClock) -> None:
    """Of classic clients the newcomer does; the former one hears that it is fenced (K1.44)."""
    async with upstream_world() as world:
        before, after = FakeVia(), FakeVia(connection=OTHER)
        member_id, generation = await seated(world, before)
        joining = world.send(static_join(), after)
        assert (await world.say(unchanged(-2), before)).member_epoch == -2
        await world.say(granted(1, 0), after)
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE
        beat = Heartbeat(GROUP, generation, MemberId(member_id), SEAT)
        answered = await world.answer(world.send(beat, before), HeartbeatReply)
        assert answered.error is ErrorCode.FENCED_INSTANCE_ID


async def test_seat_of_somebody_unknown_is_asked_for_and_taken(autojump_clock: MockClock) -> None:
    """UNRELEASED_INSTANCE_ID after a restart without a journal, or from a KIP-848 twin: held, and tried again."""
    async with upstream_world() as world:
        joining = world.send(static_join())
        await world.say(refused(ErrorCode.UNRELEASED_INSTANCE_ID))
        assert isinstance(world.via.answer(lambda _: holder("former")), ConsumerGroupDescribe)
        farewell = await world.say(unchanged(-2))
        assert (farewell.member_id, farewell.member_epoch, farewell.instance_id) == ("former", -2, SEAT)
        assert (await world.say(granted(5, 0))).member_epoch == 0
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


async def test_seat_that_the_broker_does_not_tell_of_is_waited_for(autojump_clock: MockClock) -> None:
    """ConsumerGroupDescribe answers 29 if any member's topic is hidden: the former member's session ends by itself."""
    async with upstream_world() as world:
        joining = world.send(static_join())
        hidden = DescribedConsumerGroup(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, group_id=GROUP)
        for _ in range(3):
            await world.say(refused(ErrorCode.UNRELEASED_INSTANCE_ID))
            world.via.answer(lambda _: ConsumerGroupDescribeReply((hidden,)))
        await world.say(granted(5, 0))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


async def test_static_member_that_says_goodbye_leaves_for_good(autojump_clock: MockClock) -> None:
    """A classic LeaveGroup is permanent: -1, never -2."""
    async with upstream_world() as world:
        member_id, _ = await seated(world, world.via)
        leaving = world.send(leave_request(member_id))
        assert (await world.say(unchanged(-1))).member_epoch == -1
        assert (await world.answer(leaving, LeaveGroupReply)).error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("at_broker", "to_client"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION),
        (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
async def test_fenced_static_member_hears_the_classic_word(
    at_broker: ErrorCode, to_client: ErrorCode, autojump_clock: MockClock
) -> None:
    """Codes above 100 never leak, a real duplicate ends for good, and nobody is called who has lost its seat."""
    async with upstream_world() as world:
        member_id, generation = await seated(world, world.via)
        await world.say(refused(at_broker))
        beat = Heartbeat(GROUP, generation, MemberId(member_id), SEAT)
        assert (await world.answer(world.send(beat), HeartbeatReply)).error is to_client


# ---------------------------------------------------------------------- coordinators that move


async def test_client_hears_that_its_coordinator_moved_and_keeps_everything(autojump_clock: MockClock) -> None:
    """Its heartbeats are answered here: nobody else would tell it. At the new one seat and generation go on."""
    async with upstream_world() as world:
        old, new = FakeVia(), FakeVia(connection=OTHER, broker_id=2)
        generation = await world.form("a", granted(3, 0, 1), old)
        await world.say(unchanged(3), old)
        await world.say(refused(ErrorCode.NOT_COORDINATOR), old)
        await heard()
        assert await world.beat("a", generation, old) is ErrorCode.NOT_COORDINATOR
        assert await world.beat("a", generation, new) is ErrorCode.NONE
        told = await world.say(unchanged(3), new)
        assert (told.member_epoch, {one.partition for one in told.owned or ()}) == (3, {0, 1})
        await heard()
        assert await world.beat("a", generation, new) is ErrorCode.NONE


async def heard() -> None:
    """Let the owner hear what has come."""
    await trio.sleep(LOOK_PAUSE_S)


async def test_join_at_a_broker_that_coordinates_no_more_is_sent_on(autojump_clock: MockClock) -> None:
    """A newcomer, and a member that was called: neither waits for its rebalance timeout at the wrong broker."""
    async with upstream_world() as world:
        joining = world.send(join_request("a"))
        await world.say(refused(ErrorCode.NOT_COORDINATOR))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NOT_COORDINATOR
        generation = await world.form("a", granted(3, 0, 1))
        await world.say(unchanged(3))
        again = world.send(join_request("a"))
        await world.say(refused(ErrorCode.NOT_COORDINATOR))
        assert (await world.answer(again, JoinGroupReply)).error is ErrorCode.NOT_COORDINATOR
        new = FakeVia(connection=OTHER, broker_id=2)
        joining = world.send(join_request("a"), new)
        await world.say(granted(3, 0, 1), new)
        joined = await world.answer(joining, JoinGroupReply)
        assert joined.error is ErrorCode.NONE
        assert joined.generation >= generation


async def test_coordinator_that_loads_is_waited_out(autojump_clock: MockClock) -> None:
    """A broker that starts again: seat and generation stay, the client notices nothing."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(3, 0))
        await world.say(unchanged(3))
        for code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            await world.say(refused(code))
            assert await world.beat("a", generation) is ErrorCode.NONE
        told = await world.say(granted(3, 0))
        assert (told.member_epoch, told.subscribed_topic_names) == (3, (TOPIC,))
        assert await world.beat("a", generation) is ErrorCode.NONE


async def test_what_is_taken_back_before_its_client_used_it_is_said_to_be_given_up(autojump_clock: MockClock) -> None:
    """A broker waits for that, until the rebalance timeout; what the member owns has not changed meanwhile."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(3, 0))
        await world.say(unchanged(3))
        told = []
        for answer in (granted(4, 0, 1), granted(4, 0, 1), granted(4, 0), granted(4, 0), unchanged(4)):
            told.append((await world.say(answer)).owned)
            if world.via.open:
                assert isinstance(world.via.answer(lambda _: None), ConsumerGroupDescribe)
            await world.beat("a", generation)
        all_that_is_used = frozenset({TopicIdPartition(TOPIC_ID, 0)})
        assert told == [None, all_that_is_used, None, all_that_is_used, None]


# ---------------------------------------------------------------------- rights


async def test_member_whose_rights_were_taken_goes_on_and_that_is_said_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka checks the topics that a heartbeat names: from then on it names none, and still says what was let go."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        joining = world.send(join_request("a"))
        assert (await world.say(refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED))).subscribed_topic_names == (TOPIC,)
        told = await world.say(granted(2, 0))
        assert (told.subscribed_topic_names, told.owned) == (None, frozenset())
        joined = await world.answer(joining, JoinGroupReply)
        assert joined.generation > generation
        assert await world.sync("a", joined.generation) == {ONE}
        assert await world.beat("a", joined.generation) is ErrorCode.NONE
        await world.say(refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        assert (await world.say(unchanged(2))).subscribed_topic_names is None
        for _ in range(2):
            assert await world.beat("a", joined.generation) is ErrorCode.NONE
            assert (await world.say(unchanged(2))).owned is None
        assert await world.beat("a", joined.generation) is ErrorCode.NONE
    assert len([line for line in caplog.messages if "EB-GROUP-010" in line]) == 1


async def test_newcomer_without_rights_is_refused(autojump_clock: MockClock) -> None:
    """It has nothing yet that could go on."""
    async with upstream_world() as world:
        joining = world.send(join_request("a"))
        await world.say(refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.TOPIC_AUTHORIZATION_FAILED


# ---------------------------------------------------------------------- members that only the broker knows


async def test_member_without_a_machine_is_the_brokers_to_remove(autojump_clock: MockClock) -> None:
    """An admin removes a KIP-848 member beside a translated one: each is answered by who knows it."""
    async with upstream_world() as world:
        await world.form("a", granted(1, 0))
        await world.say(unchanged(1))
        leaving = world.send(leave_request("a", "native"))
        await heard()
        assert {type(request) for request, _ in world.via.open} == {ConsumerGroupHeartbeat, LeaveGroup}
        left = LeftMember(member_id=MemberId("native"), instance_id=None, error=ErrorCode.NONE)
        for request, take in world.via.open:
            is_leave = not isinstance(request, ConsumerGroupHeartbeat)
            take(LeaveGroupReply(error=ErrorCode.NONE, members=(left,)) if is_leave else unchanged(-1))
        reply = await world.answer(leaving, LeaveGroupReply)
        assert [one.member_id for one in reply.members] == ["a", "native"]
        assert {one.error for one in reply.members} == {ErrorCode.NONE}


async def test_leave_whose_answer_is_lost_is_to_be_said_again(autojump_clock: MockClock) -> None:
    """Nobody knows what became of it."""
    async with upstream_world() as world:
        leaving = world.send(leave_request("native"))
        await heard()
        world.via.answer(lambda _: None)
        assert (await world.answer(leaving, LeaveGroupReply)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
