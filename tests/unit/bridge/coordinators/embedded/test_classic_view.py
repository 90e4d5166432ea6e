"""Classic members of a consumer group as tools know them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from trio.testing import MockClock

from bridge.coordinators.embedded.classic_view import ClassicView
from tests.support.embedded_world import World, embedded_world, join_request, leave_request, native_join
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from tests.support.sketches import whole
from tests.support.work_done import work_of
from translators.dialects.admin import (
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
)
from translators.dialects.classic import JoinGroupReply, LeaveGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import decode_assignment, decode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicPartition

NONE = ErrorCode.NONE
ROUNDS, PAUSE_MS = 20, 2_000
ENTRY = ListedGroup(group_id=GROUP, protocol_type="consumer", group_state="Reconciling", group_type="consumer")


async def described(world: World) -> DescribedGroup:
    """The group as the newest version shows it."""
    asked = DescribeGroups(group_ids=(GROUP,), errors_when_missing=True)
    return (await world.ask(asked, DescribeGroupsReply)).groups[0]


def view_of(world: World) -> ClassicView:
    """The room under test over this world's groups."""
    return ClassicView(world.groups.owner.shard, world.groups.owner.machines)


async def test_states_are_those_of_a_classic_group(autojump_clock: MockClock) -> None:
    """What somebody is called for is a rebalance, in which assignments are shown and subscriptions are not (K6.2)."""
    async with embedded_world() as world:
        joined = await world.join("a")
        assert joined.error is NONE
        assert (await described(world)).group_state == "CompletingRebalance"
        sync = SyncGroup(group_id=GROUP, generation=joined.generation, member_id=MemberId("a"), instance_id=None)
        assert (await world.ask(sync, SyncGroupReply)).error is NONE
        assert (await described(world)).group_state == "Stable"
        world.send(join_request("b"))
        group = await described(world)
        assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
        first, second = group.members
        assert decode_assignment(first.assignment).partitions == {TopicPartition(TOPIC, number) for number in range(6)}
        assert (first.metadata, second.metadata, second.assignment) == (b"", b"", b"")
        await world.ask(leave_request("a", "b"), LeaveGroupReply)
        assert (await described(world)).group_state == "Empty"


def come_to_rest(group: OwnedGroup, clients: Sequence[ClassicClient]) -> None:
    """Have all join, and again whoever is called, until everybody has what it shall have."""
    waiting = list(clients)
    for client in clients:
        client.begin_join()
    for _ in range(ROUNDS):
        for client in [one for one in waiting if one.is_joined]:
            waiting.remove(client)
            client.end_join()
        for client in [one for one in clients if one not in waiting and one.beat() is not NONE]:
            client.begin_join()
            waiting.append(client)
        group.wait(PAUSE_MS)
    assert not waiting


def test_protocol_is_that_of_most_members() -> None:
    """They need none in common here; who does not offer it is shown with what it was answered."""
    group = OwnedGroup()
    clients = [ClassicClient(group, name) for name in ("range", "cooperative-sticky", "cooperative-sticky")]
    come_to_rest(group, clients)
    view = DescribedGroup(error=NONE, group_id=GROUP)
    shown = whole(ClassicView(group.owner.shard, group.owner.machines).described((view, map(_bare, clients))))
    assert (shown.group_state, shown.protocol_data) == ("Stable", "cooperative-sticky")
    assert {decode_subscription(member.metadata).topics for member in shown.members} == {(TOPIC,)}
    assert [decode_assignment(member.assignment).partitions for member in shown.members] == [
        client.owned for client in clients
    ]


def _bare(client: ClassicClient) -> DescribedMember:
    return DescribedMember(
        member_id=client.member_id, instance_id=None, client_id="", client_host="", metadata=b"", assignment=b""
    )


async def test_group_is_listed_as_classic_until_a_member_speaks_the_consumer_protocol(
    autojump_clock: MockClock,
) -> None:
    """Also an empty one that never had such a member; other entries are left alone."""
    async with embedded_world() as world:
        await world.form()
        shown = view_of(world).listed(ENTRY)
        assert (shown.group_state, shown.group_type, shown.protocol_type) == ("Stable", "classic", "consumer")
        other = replace(ENTRY, group_id=GroupId("other"))
        assert view_of(world).listed(other) is other
        await world.ask(leave_request("a"), LeaveGroupReply)
        assert view_of(world).listed(ENTRY).group_state == "Empty"
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        assert view_of(world).listed(ENTRY) is ENTRY
        assert (await world.ask(join_request("a"), JoinGroupReply)).error is NONE
        await world.ask(leave_request("n"), LeaveGroupReply)
        assert view_of(world).listed(ENTRY).group_type == "classic"


def settled(members: int) -> OwnedGroup:
    """So many classic members that have what they shall have."""
    group = OwnedGroup(partitions=members)
    come_to_rest(group, [ClassicClient(group) for _ in range(members)])
    return group


def test_listing_a_group_takes_no_look_at_its_members() -> None:
    """All groups are listed by whoever likes: before 100,000 members that kept everybody waiting for half a second."""
    works: list[int] = []
    for members in (3, 30):
        group = settled(members)
        view = ClassicView(group.owner.shard, group.owner.machines)
        assert view.listed(ENTRY).group_state == "Stable"
        works.append(work_of(partial(view.listed, ENTRY)).lines)
        client = ClassicClient(group)
        client.begin_join()
        assert view.listed(ENTRY).group_state != "Stable"
    assert works[0] == works[1]
