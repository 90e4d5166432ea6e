"""A group is read for another coordinator, given up, and taken in again: its clients hear of nothing."""

from dataclasses import replace

import pytest
import trio

from bridge.coordinators.embedded.handover import Handover, Restless
from bridge.engine.commands import GroupType
from bridge.engine.outcome import Converted, NotConverted, Unready
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import World, commit_request, committed, embedded_world, join_request, native_join
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import JoinGroupReply, MemberAssignment, Protocol, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition
from translators.dialects.offsets import OffsetCommitReply

KINDS = {
    GroupType.CONSUMER: EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0),
    GroupType.CLASSIC: EngineSettings(
        group_initial_rebalance_delay_ms=0, departure_wait_ms=0, group_begins_classic=True
    ),
}


async def test_member_goes_from_coordinator_to_coordinator(autojump_clock: trio.testing.MockClock) -> None:
    """Its id, its generation and what it has are what they were."""
    async with embedded_world(KINDS[GroupType.CONSUMER]) as world:
        generation = await world.form("a")
        read = world.groups.read_handover(GROUP)
        assert isinstance(read, Handover)
        (seat,) = read.seats
        everything = frozenset(TopicPartition(TOPIC, number) for number in range(6))
        assert (seat.member_id, seat.generation, seat.using) == ("a", generation, everything)

        given = await world.groups.give_up(GROUP)
        assert given == Converted(GROUP, GroupType.CONSUMER, 1, rebalances=False)
        assert not world.groups.holds(GROUP)
        assert not len(world.groups.owner.machines)
        assert await world.beat(generation) is ErrorCode.UNKNOWN_MEMBER_ID

        taken = await world.groups.adopt(GROUP, read, generation, "range")
        assert taken == Converted(GROUP, GroupType.CONSUMER, 1, rebalances=False)
        assert await world.beat(generation) is ErrorCode.NONE
        again = world.groups.read_handover(GROUP)
        assert isinstance(again, Handover)
        assert again.seats[0].session_deadline_ms > seat.session_deadline_ms
        assert again.seats == (replace(seat, session_deadline_ms=again.seats[0].session_deadline_ms),)


async def enter(world: World) -> tuple[MemberId, int]:
    """A member of a group of either kind joins and syncs; gives its id and its generation."""
    promised = await world.ask(join_request(""), JoinGroupReply)
    joined = promised
    if promised.error is ErrorCode.MEMBER_ID_REQUIRED:
        joined = await world.join(promised.member_id)
    assert joined.error is ErrorCode.NONE
    sync = SyncGroup(group_id=GROUP, generation=joined.generation, member_id=joined.member_id, instance_id=None)
    assert (await world.ask(sync, SyncGroupReply)).error is ErrorCode.NONE
    return joined.member_id, joined.generation


async def test_classic_group_is_read_as_its_leader_dealt_it(autojump_clock: trio.testing.MockClock) -> None:
    """Here the leader brought nothing."""
    async with embedded_world(KINDS[GroupType.CLASSIC]) as world:
        member_id, generation = await enter(world)
        read = world.groups.read_handover(GROUP)
        assert isinstance(read, Handover)
        assert [(one.member_id, one.generation, one.using) for one in read.seats] == [
            (member_id, generation, frozenset())
        ]
        assert read.leader == member_id


@pytest.mark.parametrize(("had", "is_at_rest"), [(3, False), (2, True), (0, True)])
async def test_classic_group_with_a_member_that_has_yet_to_let_go_is_restless(
    had: int, is_at_rest: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Its client may use what it was not dealt until it joins again, however stable the group is."""
    async with embedded_world(KINDS[GroupType.CLASSIC]) as world:
        promised = await world.ask(join_request(""), JoinGroupReply)
        owned = frozenset(TopicPartition(TOPIC, number) for number in range(had))
        said = encode_subscription(Subscription(version=1, topics=(TOPIC,), owned=owned))
        joins = replace(join_request(promised.member_id), protocols=(Protocol("cooperative-sticky", said),))
        joined = await world.ask(joins, JoinGroupReply)
        dealt = encode_assignment(frozenset(TopicPartition(TOPIC, number) for number in range(2)))
        sync = SyncGroup(
            group_id=GROUP,
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=None,
            assignments=(MemberAssignment(joined.member_id, dealt),),
        )
        assert (await world.ask(sync, SyncGroupReply)).error is ErrorCode.NONE
        assert isinstance(world.groups.read_handover(GROUP), Handover if is_at_rest else Restless)


@pytest.mark.parametrize("kind", GroupType)
async def test_group_that_rebalances_is_restless(kind: GroupType, autojump_clock: trio.testing.MockClock) -> None:
    """Somebody has joined and not synced."""
    async with embedded_world(KINDS[kind]) as world:
        await enter(world)
        promised = await world.ask(join_request(""), JoinGroupReply)
        world.send(join_request(promised.member_id))
        await trio.sleep(0.1)
        assert isinstance(world.groups.read_handover(GROUP), Restless)


async def test_commit_on_its_way_is_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    """A simple commit would be refused by a broker that has members of the group."""
    async with embedded_world(KINDS[GroupType.CONSUMER]) as world:
        generation = await world.form("a")
        ref = world.send(commit_request(generation, "a"))
        assert isinstance(world.groups.read_handover(GROUP), Restless)
        world.via.answer(committed)
        await world.answer(ref, OffsetCommitReply)
        assert isinstance(world.groups.read_handover(GROUP), Handover)


async def test_consumer_protocol_members_have_no_seat(autojump_clock: trio.testing.MockClock) -> None:
    """A classic group at a broker can't have them."""
    async with embedded_world(KINDS[GroupType.CONSUMER]) as world:
        await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
        refused = world.groups.read_handover(GROUP)
        assert isinstance(refused, NotConverted)
        assert refused.reason is Unready.CONSUMER_MEMBERS


async def test_nothing_is_taken_in_while_nothing_may_be_served(autojump_clock: trio.testing.MockClock) -> None:
    """The cluster authenticates its clients, and the bridge can't ask."""
    async with embedded_world(is_open=False) as world:
        assert await world.groups.adopt(GROUP, Handover(()), 1, "range") is None
        assert not world.groups.holds(GROUP)
