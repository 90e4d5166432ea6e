"""What admins and fetching clients see: our groups, the broker's, each once and in the order asked."""

from dataclasses import replace
from functools import partial

import pytest
from trio.testing import MockClock

from bridge.coordinators.embedded import views
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import (
    World,
    embedded_world,
    join_request,
    leave_request,
    native_join,
    told_of_topics,
)
from tests.support.owned_group import GROUP, TOPIC
from tests.support.scripted_broker import ALL_OPERATIONS
from translators.dialects.admin import (
    NO_OPERATIONS,
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.classic import JoinGroupReply, LeaveGroupReply
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
)
from translators.dialects.consumer_protocol import decode_assignment, decode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TopicOffsets,
)

NONE, LOST, MISSING = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_ID_NOT_FOUND
OLD = GroupId("known-to-the-broker")


def listed(group_id: GroupId, state: str = "Empty", group_type: str = "Classic") -> ListedGroup:
    """One entry of a list."""
    return ListedGroup(group_id=group_id, protocol_type="consumer", group_state=state, group_type=group_type)


async def test_fleet_of_classic_members_is_a_classic_group_to_every_tool(autojump_clock: MockClock) -> None:
    """As Kafka shows one: in every version, with each one's own subscription; no consumer group is there (69).

    Lag monitors ask in version 6 and take Dead for a group without members.
    """
    async with embedded_world() as world:
        await world.form()
        newest = DescribeGroups(group_ids=(GROUP,), errors_when_missing=True)
        for asked in (DescribeGroups(group_ids=(GROUP,)), newest):
            (group,) = (await world.ask(asked, DescribeGroupsReply)).groups
            assert (group.error, group.group_state, group.protocol_type) == (NONE, "Stable", "consumer")
            assert group.protocol_data == "range"
            (member,) = group.members
            assert decode_assignment(member.assignment).partitions == {TopicPartition(TOPIC, n) for n in range(6)}
            assert member.metadata == join_request("a").protocols[0].metadata
        (unknown,) = (await world.ask(ConsumerGroupDescribe((GROUP,)), ConsumerGroupDescribeReply)).groups
        assert unknown.error is MISSING
        await world.ask(leave_request("a"), LeaveGroupReply)
        (group,) = (await world.ask(newest, DescribeGroupsReply)).groups
        assert (group.error, group.group_state, group.protocol_data, group.members) == (NONE, "Empty", "", ())


async def test_group_with_a_member_of_the_consumer_protocol_is_one_to_tools(autojump_clock: MockClock) -> None:
    """Before version 6 a classic view that kafka-consumer-groups can read, then 69, as in Kafka (decision 22)."""
    async with embedded_world() as world:
        await world.form()
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        (group,) = (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups
        assert (group.error, group.protocol_type, len(group.members)) == (NONE, "consumer", 2)
        assert decode_assignment(group.members[0].assignment).partitions
        assert decode_subscription(group.members[0].metadata).topics == (TOPIC,)
        later = DescribeGroups(group_ids=(GROUP,), errors_when_missing=True)
        assert (await world.ask(later, DescribeGroupsReply)).groups[0].error is MISSING
        (described,) = (await world.ask(ConsumerGroupDescribe((GROUP,)), ConsumerGroupDescribeReply)).groups
        assert [member.member_type for member in described.members] == [0, 1]


async def test_descriptions_come_in_the_order_asked(autojump_clock: MockClock) -> None:
    """A group of the embedded road that the engine never met is the broker's to describe."""
    async with embedded_world() as world:
        await world.form()
        ref = world.send(DescribeGroups(group_ids=(OLD, GROUP)))
        world.via.answer(
            lambda _: DescribeGroupsReply(groups=(DescribedGroup(error=NONE, group_id=OLD, group_state="Empty"),))
        )
        reply = await world.answer(ref, DescribeGroupsReply)
        assert [(group.group_id, group.group_state) for group in reply.groups] == [(OLD, "Empty"), (GROUP, "Stable")]


@pytest.mark.parametrize(("has_api", "expected"), [(True, (LOST, "")), (False, (NONE, "Dead"))])
async def test_group_that_the_broker_says_nothing_of(
    has_api: bool, expected: tuple[ErrorCode, str], autojump_clock: MockClock
) -> None:
    """A lost broker is asked again; one without DescribeGroups has no groups."""
    async with embedded_world() as world:
        if not has_api:
            del world.via.versions[ApiKey.DESCRIBE_GROUPS]
        ref = world.send(DescribeGroups(group_ids=(OLD,)))
        if has_api:
            world.via.answer(lambda _: None)
        (group,) = (await world.answer(ref, DescribeGroupsReply)).groups
        assert (group.error, group.group_state) == expected


@pytest.mark.parametrize(("has_api", "expected"), [(True, LOST), (False, MISSING)])
async def test_consumer_group_that_the_broker_says_nothing_of(
    has_api: bool, expected: ErrorCode, autojump_clock: MockClock
) -> None:
    """69 makes tools ask for a classic group, so it is said only where it is true."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        if has_api:
            world.via.versions[ApiKey.CONSUMER_GROUP_DESCRIBE] = 1
        ref = world.send(ConsumerGroupDescribe((OLD, GROUP)))
        if has_api:
            world.via.answer(lambda _: None)
        reply = await world.answer(ref, ConsumerGroupDescribeReply)
        assert [group.error for group in reply.groups] == [expected, NONE]
        assert reply.groups[1].members[0].member_type == 1


async def test_answer_does_not_grow_with_how_often_a_group_is_named(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """One member with a megabyte of metadata, named 10,000 times, was an answer of 10 GB. Kafka's tools ask again for
    those of whom the answer says so; a group that is longer than any answer alone is shown all the same.
    """
    monkeypatch.setattr(views, "ANSWER_BYTES_MAX", 2_000)
    again = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    async with embedded_world() as world:
        await world.form()
        (whole,) = (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups
        groups = (await world.ask(DescribeGroups(group_ids=(GROUP,) * 100), DescribeGroupsReply)).groups
        assert {group.error for group in groups} == {NONE, again}
        assert (groups[0], {len(group.members) for group in groups[50:]}) == (whole, {0})
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        monkeypatch.setattr(views, "ANSWER_BYTES_MAX", 1)
        described = (await world.ask(ConsumerGroupDescribe((GROUP,) * 3), ConsumerGroupDescribeReply)).groups
        assert [(one.error, len(one.members)) for one in described] == [(NONE, 2), (again, 0), (again, 0)]


def say_topics_seen(asked: Request) -> Reply:
    """The broker's word that whoever asks may describe all topics."""
    assert isinstance(asked, OffsetFetch)
    return OffsetFetchReply(groups=tuple(told_of_topics(group) for group in asked.groups))


@pytest.mark.parametrize(
    ("ask", "heard"),
    [(DescribeGroups, DescribeGroupsReply), (ConsumerGroupDescribe, ConsumerGroupDescribeReply)],
)
async def test_who_asks_what_it_may_do_with_our_group_is_told_what_the_broker_says(
    ask: type[DescribeGroups | ConsumerGroupDescribe],
    heard: type[DescribeGroupsReply | ConsumerGroupDescribeReply],
    autojump_clock: MockClock,
) -> None:
    """The broker has the authorizer; Kafka 4.3.1 without one answers 3400."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        world.via.operations = None
        ref = world.send(ask(group_ids=(GROUP,), include_authorized_operations=True))
        shown = DescribedGroup(error=NONE, group_id=GROUP, group_state="Dead", authorized_operations=3400)
        asked = world.via.answer(lambda _: DescribeGroupsReply(groups=(shown,)))
        assert asked == DescribeGroups(group_ids=(GROUP,), include_authorized_operations=True)
        world.via.answer(say_topics_seen)
        (group,) = (await world.answer(ref, heard)).groups
        assert (group.error, group.authorized_operations, len(group.members)) == (NONE, 3400, 1)


async def test_operations_stay_open_where_the_group_is_not_shown_or_the_broker_does_not_say(
    autojump_clock: MockClock,
) -> None:
    """Version 6 shows no consumer group, so it has none; a lost broker may have denied the description."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        world.via.operations = None
        request = DescribeGroups(group_ids=(GROUP,), include_authorized_operations=True)
        hidden = world.send(replace(request, errors_when_missing=True))
        shown = DescribedGroup(error=NONE, group_id=GROUP, group_state="Dead", authorized_operations=3400)
        world.via.answer(lambda _: DescribeGroupsReply(groups=(shown,)))
        world.via.answer(say_topics_seen)
        unsaid = world.send(request)
        world.via.answer(lambda _: None)
        groups = [(await world.answer(ref, DescribeGroupsReply)).groups[0] for ref in (hidden, unsaid)]
        assert [(one.error, one.authorized_operations) for one in groups] == [
            (MISSING, NO_OPERATIONS),
            (LOST, NO_OPERATIONS),
        ]


async def test_broker_that_knows_no_operations_is_not_asked_for_them(autojump_clock: MockClock) -> None:
    """DescribeGroups has the question from version 3 on; an older one tells whether it may be described."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        request = DescribeGroups(group_ids=(GROUP,), include_authorized_operations=True)
        for version, wanted in ((2, NO_OPERATIONS), (3, ALL_OPERATIONS)):
            world.via.versions[ApiKey.DESCRIBE_GROUPS] = version
            (group,) = (await world.answer(world.send(request), DescribeGroupsReply)).groups
            assert (world.via.open, group.authorized_operations) == ([], wanted)


async def list_groups(world: World, request: ListGroups, *theirs: ListedGroup) -> list[tuple[str, str]]:
    """Names and states of what a client is shown; the broker is asked without the client's filters."""
    ref = world.send(request)
    assert world.via.answer(lambda _: ListGroupsReply(error=NONE, groups=theirs)) == ListGroups()
    reply = await world.answer(ref, ListGroupsReply)
    return [(group.group_id, group.group_state) for group in reply.groups]


async def test_embedded_group_is_listed_once_on_its_coordinators_listener(autojump_clock: MockClock) -> None:
    """Ours stands in the broker's place, and shows as classic while all its members are (decision 22).

    Filters apply after merging, and a broker that names no types has classic groups.
    """
    async with embedded_world() as world:
        await world.form()
        theirs = (listed(GROUP), listed(OLD, group_type=""))
        assert await list_groups(world, ListGroups(), *theirs) == [(OLD, "Empty"), (GROUP, "Stable")]
        assert await list_groups(world, ListGroups(states=(" STABLE",)), *theirs) == [(GROUP, "Stable")]
        assert await list_groups(world, ListGroups(types=("classic",)), *theirs) == [(OLD, "Empty"), (GROUP, "Stable")]
        assert await list_groups(world, ListGroups(types=("classic ",)), *theirs) == []
        assert await list_groups(world, ListGroups(types=("consumer",)), *theirs) == []
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        assert await list_groups(world, ListGroups(types=("Consumer",)), *theirs) == [(GROUP, "Reconciling")]
        world.groups.locate_coordinators(lambda _: 2)
        assert await list_groups(world, ListGroups(), *theirs) == [(OLD, "Empty")]


async def test_embedded_group_is_listed_on_the_bootstrap_listener(autojump_clock: MockClock) -> None:
    """A tool that asks nobody else would not hear of it: which broker answers there, nobody knows."""
    async with embedded_world() as world:
        await world.form()
        world.via.broker_id = None
        for coordinator in (None, 1, 2):
            world.groups.locate_coordinators(partial(coordinator_of, coordinator))
            assert await list_groups(world, ListGroups(), listed(OLD)) == [(OLD, "Empty"), (GROUP, "Stable")]


def coordinator_of(node_id: int | None, _group_id: GroupId) -> int | None:
    """Whoever stands for every group."""
    return node_id


async def test_group_deleted_on_the_bootstrap_listener_is_deleted_at_its_coordinator(autojump_clock: MockClock) -> None:
    """The broker there may be another one: it says so, and the second try, at the right one, finishes it."""
    async with embedded_world() as world:
        await world.form()
        await world.ask(leave_request("a"), LeaveGroupReply)
        world.via.broker_id = None
        ref = world.send(DeleteGroups((GROUP,)))
        world.via.answer(lambda _: deleted(ErrorCode.NOT_COORDINATOR))
        assert await world.answer(ref, DeleteGroupsReply) == deleted(ErrorCode.NOT_COORDINATOR)
        world.via.broker_id = 1
        ref = world.send(DeleteGroups((GROUP,)))
        world.via.answer(lambda _: deleted(NONE))
        assert await world.answer(ref, DeleteGroupsReply) == deleted(NONE)


async def test_embedded_group_is_described_on_the_bootstrap_listener(autojump_clock: MockClock) -> None:
    """Whoever asks and wherever: the bridge knows it."""
    async with embedded_world() as world:
        await world.form()
        world.via.broker_id = None
        world.groups.locate_coordinators(partial(coordinator_of, 2))
        (group,) = (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups
        assert (group.error, group.group_state) == (NONE, "Stable")


async def test_list_of_a_lost_broker_is_asked_again(autojump_clock: MockClock) -> None:
    """Half a list is none."""
    async with embedded_world() as world:
        ref = world.send(ListGroups())
        world.via.answer(lambda _: None)
        assert (await world.answer(ref, ListGroupsReply)).error is LOST


def deleted(code: ErrorCode) -> Reply:
    """The broker's word on a deletion of our group."""
    return DeleteGroupsReply(groups=(DeletedGroup(GROUP, code),))


async def test_groups_are_deleted_only_when_empty(autojump_clock: MockClock) -> None:
    """Each is deleted once, and only without members (K6.7).

    What the broker never heard of, because nothing was committed, is deleted all the same.
    """
    async with embedded_world() as world:
        await world.form()
        reply = await world.ask(DeleteGroups((GROUP, GROUP)), DeleteGroupsReply)
        assert reply.groups == (DeletedGroup(GROUP, ErrorCode.NON_EMPTY_GROUP),)
        await world.ask(leave_request("a"), LeaveGroupReply)
        ref = world.send(DeleteGroups((GROUP,)))
        world.via.answer(lambda _: deleted(MISSING))
        assert await world.answer(ref, DeleteGroupsReply) == deleted(NONE)
        ref = world.send(DeleteGroups((GROUP,)))
        world.via.answer(lambda _: deleted(MISSING))
        assert await world.answer(ref, DeleteGroupsReply) == deleted(MISSING)


async def test_group_is_not_half_deleted(autojump_clock: MockClock) -> None:
    """A broker without DeleteGroups would keep the offsets."""
    async with embedded_world() as world:
        await world.form()
        await world.ask(leave_request("a"), LeaveGroupReply)
        del world.via.versions[ApiKey.DELETE_GROUPS]
        assert await world.ask(DeleteGroups((GROUP,)), DeleteGroupsReply) == deleted(ErrorCode.UNSUPPORTED_VERSION)
        assert GROUP in world.groups.owner.shard.groups


async def test_what_a_broker_lacks_is_not_known_before_its_versions_are(autojump_clock: MockClock) -> None:
    """`Dead` and 69 would be believed, and 35 end an admin's tool; all of them can be asked again."""
    async with embedded_world() as world:
        await world.form()
        await world.ask(leave_request("a"), LeaveGroupReply)
        world.via.versions.clear()
        described = await world.ask(DescribeGroups(group_ids=(OLD, GROUP)), DescribeGroupsReply)
        assert [group.error for group in described.groups] == [LOST, LOST]
        native = await world.ask(ConsumerGroupDescribe((OLD, GROUP)), ConsumerGroupDescribeReply)
        assert [group.error for group in native.groups] == [LOST, LOST]
        assert await world.ask(DeleteGroups((GROUP,)), DeleteGroupsReply) == deleted(LOST)
        assert GROUP in world.groups.owner.shard.groups


def fetched(group_id: str) -> Reply:
    """The broker's offsets of one partition."""
    topic = FetchedTopic(name=TOPIC, partitions=(FetchedPartition(partition=0, offset=7),))
    return OffsetFetchReply(groups=(FetchedGroup(group_id=GroupId(group_id), topics=(topic,)),))


def fetch(member_id: str | None, epoch: int, group_id: GroupId = GROUP) -> OffsetFetch:
    """A fetch of one partition."""
    topics = (TopicOffsets(name=TOPIC, partitions=(0,)),)
    member = None if member_id is None else MemberId(member_id)
    return OffsetFetch(groups=(GroupOffsets(group_id=group_id, topics=topics, member_id=member, member_epoch=epoch),))


@pytest.mark.parametrize("named", [GROUP, ""])
async def test_fetch_goes_upstream_without_a_member(named: str, autojump_clock: MockClock) -> None:
    """The broker knows no members of ours (decision 4); its answer before version 8 does not name its group."""
    async with embedded_world() as world:
        generation = await world.form()
        ref = world.send(fetch("a", generation))
        (asked,) = _groups(world.via.answer(lambda _: fetched(named)))
        assert (asked.member_id, asked.member_epoch) == (None, -1)
        (group,) = (await world.answer(ref, OffsetFetchReply)).groups
        assert (group.group_id, group.topics[0].partitions[0].offset) == (GROUP, 7)


async def test_fetch_of_a_group_that_is_not_known_yet_has_no_member_either(autojump_clock: MockClock) -> None:
    """After a restart its members still name themselves, and the broker never knew them."""
    async with embedded_world() as world:
        world.send(fetch("a", 3))
        (asked,) = _groups(world.via.answer(lambda _: fetched(GROUP)))
        assert (asked.member_id, asked.member_epoch) == (None, -1)


async def test_fetch_of_a_stale_member_is_refused(autojump_clock: MockClock) -> None:
    """A classic member is known by its generation, and as long as it is among its like nobody asks (K5.20)."""
    async with embedded_world() as world:
        generation = await world.form()
        stale, silent = fetch("a", generation + 1), fetch("a", -1)
        for request in (stale, silent):
            ref = world.send(request)
            world.via.answer(lambda _: fetched(GROUP))
            assert (await world.answer(ref, OffsetFetchReply)).groups[0].error is NONE
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        assert (await world.ask(stale, OffsetFetchReply)).groups[0].error is ErrorCode.ILLEGAL_GENERATION
        assert not world.via.open
        # @platformatic/kafka 2 tells its id and no generation; Kafka lets that pass in classic groups only.
        world.send(silent)
        assert world.via.open


async def test_fetch_of_a_lost_broker_is_asked_again(autojump_clock: MockClock) -> None:
    """Every group of the request gets the code, at its partitions too, where old versions look."""
    async with embedded_world() as world:
        ref = world.send(fetch(None, -1))
        world.via.answer(lambda _: None)
        (group,) = (await world.answer(ref, OffsetFetchReply)).groups
        assert (group.error, group.topics[0].partitions[0].error) == (LOST, LOST)


def _groups(request: Request) -> tuple[GroupOffsets, ...]:
    assert isinstance(request, OffsetFetch)
    return request.groups


def _committed(name: TopicName, code: ErrorCode) -> CommittedTopic:
    return CommittedTopic(name=name, partitions=(CommittedPartition(0, code),))


@pytest.mark.parametrize("broker_knows", [True, False])
async def test_offsets_of_subscribed_topics_are_not_deleted(broker_knows: bool, autojump_clock: MockClock) -> None:
    """What somebody reads is kept (K5.22).

    A group that never committed has nothing to delete, which is no error, unless the topic does not exist, which Kafka
    tells first.
    """
    other = TopicName("other")
    async with embedded_world() as world:
        await world.form()
        topics = tuple(TopicOffsets(name=name, partitions=(0,)) for name in (TOPIC, other))
        ref = world.send(OffsetDelete(group_id=GROUP, topics=topics))
        found = OffsetDeleteReply(error=NONE, topics=(_committed(other, NONE),))
        asked = world.via.answer(lambda _: found if broker_knows else OffsetDeleteReply(error=MISSING))
        assert asked == OffsetDelete(group_id=GROUP, topics=topics[1:])
        subscribed = _committed(TOPIC, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        missing = _committed(other, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        told = (subscribed, _committed(other, NONE)) if broker_knows else (missing, subscribed)
        assert await world.answer(ref, OffsetDeleteReply) == OffsetDeleteReply(error=NONE, topics=told)


async def test_offsets_of_no_group_can_not_be_deleted_even_if_none_are_named(autojump_clock: MockClock) -> None:
    """Kafka 4.3.1 answers 69; its broker is asked, which may know a group of that name."""
    async with embedded_world() as world:
        ref = world.send(OffsetDelete(group_id=GROUP, topics=()))
        assert world.via.answer(lambda _: OffsetDeleteReply(error=MISSING)) == OffsetDelete(group_id=GROUP, topics=())
        assert await world.answer(ref, OffsetDeleteReply) == OffsetDeleteReply(error=MISSING)


async def test_member_that_asks_for_its_group_twice_is_judged_each_time(autojump_clock: MockClock) -> None:
    """One entry under a stale generation does not get the other one's offsets, nor take them from it."""
    async with embedded_world() as world:
        await world.form()
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        good = GroupOffsets(group_id=GROUP, topics=None)
        stale = GroupOffsets(group_id=GROUP, topics=None, member_id=MemberId("stranger"), member_epoch=77)
        ref = world.send(OffsetFetch(groups=(stale, good)))
        assert len(_groups(world.via.answer(lambda _: fetched(GROUP)))) == 1
        answered = await world.answer(ref, OffsetFetchReply)
        assert [group.error for group in answered.groups] == [ErrorCode.UNKNOWN_MEMBER_ID, NONE]
        assert answered.groups[1].topics


async def test_offsets_of_a_busy_group_that_is_no_consumers_are_not_deleted(autojump_clock: MockClock) -> None:
    """What its members read is not known (K5.22)."""
    async with embedded_world() as world:
        request = replace(join_request("w"), member_id=MemberId(""), needs_member_id=False, protocol_type="connect")
        assert (await world.ask(request, JoinGroupReply)).error is NONE
        topics = (TopicOffsets(name=TOPIC, partitions=(0,)),)
        reply = await world.ask(OffsetDelete(group_id=GROUP, topics=topics), OffsetDeleteReply)
        assert reply == OffsetDeleteReply(error=ErrorCode.NON_EMPTY_GROUP)
