"""Who asks about an embedded group is told what its broker would tell, and nothing is forgotten before that agrees."""

from collections.abc import Callable
from functools import partial

import pytest
from trio.testing import MockClock

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import World, embedded_world, leave_request, native_join, told_of_topics
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.admin import (
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
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    GroupOffsets,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TopicOffsets,
)

NONE, DENIED, LOST = ErrorCode.NONE, ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE
UNREAD = ErrorCode.TOPIC_AUTHORIZATION_FAILED
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
THEIRS = GroupId("theirs")


def described(request: Request, code: ErrorCode) -> Reply:
    """The broker's word on every group of a question."""
    assert isinstance(request, DescribeGroups)
    return DescribeGroupsReply(groups=tuple(DescribedGroup(error=code, group_id=one) for one in request.group_ids))


def listed_as(groups: tuple[ListedGroup, ...], _: Request) -> Reply:
    """The broker's list."""
    return ListGroupsReply(error=NONE, groups=groups)


def say(reply: Reply, _: Request) -> Reply:
    """The same whatever is asked."""
    return reply


async def emptied(world: World) -> None:
    """A group without members that there is."""
    await world.form()
    await world.ask(leave_request("a"), LeaveGroupReply)
    world.via.operations = None


def is_there(world: World) -> bool:
    """Whether the group is known still."""
    return GROUP in world.groups.owner.shard.groups


async def test_who_may_not_describe_a_group_is_not_shown_it(autojump_clock: MockClock) -> None:
    """By either API, whether it asks for operations or not."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        world.via.operations = None
        ref = world.send(DescribeGroups(group_ids=(GROUP,)))
        world.via.answer(lambda asked: described(asked, DENIED))
        assert (await world.answer(ref, DescribeGroupsReply)).groups == (DescribedGroup(error=DENIED, group_id=GROUP),)
        ref = world.send(ConsumerGroupDescribe((GROUP,)))
        world.via.answer(lambda asked: described(asked, DENIED))
        (group,) = (await world.answer(ref, ConsumerGroupDescribeReply)).groups
        assert (group.error, group.members) == (DENIED, ())


async def test_list_is_without_what_may_not_be_described(autojump_clock: MockClock) -> None:
    """Unless the broker itself lists what may not be described: then the cluster may be, and all is shown."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        listed = ListedGroup(group_id=THEIRS, protocol_type="consumer")
        cells: tuple[tuple[tuple[ListedGroup, ...], ErrorCode, list[GroupId]], ...] = (
            ((), DENIED, []),
            ((), NONE, [GROUP]),
            ((listed,), DENIED, [THEIRS, GROUP]),
        )
        for theirs, code, shown in cells:
            ref = world.send(ListGroups())
            world.via.answer(partial(listed_as, theirs))
            world.via.answer(partial(described, code=code))
            assert [one.group_id for one in (await world.answer(ref, ListGroupsReply)).groups] == shown


async def test_list_carries_the_brokers_word(autojump_clock: MockClock) -> None:
    """A list without its part would pass for a whole one, and so would one of which it did not say who may see it."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        ref = world.send(ListGroups())
        word = ListGroupsReply(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, groups=())
        world.via.answer(lambda _: word)
        assert await world.answer(ref, ListGroupsReply) == word
        ref = world.send(ListGroups())
        world.via.answer(lambda _: ListGroupsReply(error=NONE, groups=()))
        world.via.answer(lambda _: None)
        assert await world.answer(ref, ListGroupsReply) == ListGroupsReply(error=LOST, groups=())


@pytest.mark.parametrize(
    ("word", "told", "stays"),
    [(NONE, NONE, False), (ErrorCode.GROUP_ID_NOT_FOUND, NONE, False), (DENIED, DENIED, True), (None, LOST, True)],
)
async def test_empty_group_is_forgotten_once_the_broker_has_said_yes(
    word: ErrorCode | None, told: ErrorCode, stays: bool, autojump_clock: MockClock
) -> None:
    """What it never heard of it has nothing of."""
    async with embedded_world() as world:
        await emptied(world)
        ref = world.send(DeleteGroups((GROUP,)))
        assert is_there(world)
        world.via.answer(lambda _: None if word is None else DeleteGroupsReply(groups=(DeletedGroup(GROUP, word),)))
        assert (await world.answer(ref, DeleteGroupsReply)).groups == (DeletedGroup(GROUP, told),)
        assert is_there(world) is stays


@pytest.mark.parametrize(("word", "told"), [(NONE, ErrorCode.NON_EMPTY_GROUP), (DENIED, DENIED), (None, LOST)])
async def test_group_with_members_is_kept_and_only_who_may_delete_hears_why(
    word: ErrorCode | None, told: ErrorCode, autojump_clock: MockClock
) -> None:
    """The broker is asked by deleting no offsets."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        ref = world.send(DeleteGroups((GROUP,)))
        asked = world.via.answer(lambda _: None if word is None else OffsetDeleteReply(error=word))
        assert asked == OffsetDelete(group_id=GROUP, topics=())
        assert (await world.answer(ref, DeleteGroupsReply)).groups == (DeletedGroup(GROUP, told),)


async def test_offsets_are_deleted_by_who_may(autojump_clock: MockClock) -> None:
    """A topic that may not be read is called so before it is said that somebody subscribes to it."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        request = OffsetDelete(group_id=GROUP, topics=(TopicOffsets(name=TOPIC, partitions=(0,)),))
        ref = world.send(request)
        world.via.answer(lambda _: OffsetDeleteReply(error=DENIED))
        assert await world.answer(ref, OffsetDeleteReply) == OffsetDeleteReply(error=DENIED)
        read, subscribed = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        for word, told in ((UNREAD, UNREAD), (read, subscribed)):
            ref = world.send(request)
            world.via.answer(lambda _: OffsetDeleteReply(error=NONE))
            partition = CommittedPartition(2**31 - 1, word)
            said = OffsetDeleteReply(error=NONE, topics=(CommittedTopic(name=TOPIC, partitions=(partition,)),))
            world.via.answer(partial(say, said))
            (topic,) = (await world.answer(ref, OffsetDeleteReply)).topics
            assert topic.partitions == (CommittedPartition(0, told),)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (None, LOST),
        (OffsetDeleteReply(error=ErrorCode.NOT_COORDINATOR), ErrorCode.NOT_COORDINATOR),
        (OffsetDeleteReply(error=NONE), LOST),
    ],
)
async def test_no_word_on_who_may_read_a_topic_is_no_yes(
    reply: Reply | None, told: ErrorCode, autojump_clock: MockClock
) -> None:
    """An answer that is lost, that of a broker that does not judge, and one without the topic: it is asked again."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        ref = world.send(OffsetDelete(group_id=GROUP, topics=(TopicOffsets(name=TOPIC, partitions=(0,)),)))
        world.via.answer(lambda _: OffsetDeleteReply(error=NONE))
        world.via.answer(lambda _: reply)
        assert await world.answer(ref, OffsetDeleteReply) == OffsetDeleteReply(error=told)
        assert not world.via.open


SAYS_TOPIC = partial(told_of_topics, code=NONE)


@pytest.mark.parametrize(
    ("say_topics", "told", "state"),
    [
        (SAYS_TOPIC, NONE, "Stable"),
        (partial(told_of_topics, code=UNREAD), UNREAD, "Dead"),
        (lambda group: FetchedGroup(group_id=group.group_id, topics=(), error=LOADING), LOADING, ""),
        (lambda group: FetchedGroup(group_id=group.group_id, topics=()), LOST, ""),
        (None, LOST, ""),
    ],
)
async def test_who_may_not_describe_a_topic_is_not_shown_who_has_it(
    say_topics: Callable[[GroupOffsets], FetchedGroup] | None, told: ErrorCode, state: str, autojump_clock: MockClock
) -> None:
    """By either API, as Kafka has it; and nobody is while the broker does not say whether it may."""

    def say_sight(asked: Request) -> Reply | None:
        assert isinstance(asked, OffsetFetch)
        (group,) = asked.groups
        assert (group.group_id, group.topics) == (GROUP, (TopicOffsets(name=TOPIC, partitions=(0,)),))
        return None if say_topics is None else OffsetFetchReply(groups=(say_topics(group),))

    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        world.via.operations = None
        ref = world.send(ConsumerGroupDescribe((GROUP,)))
        world.via.answer(lambda asked: described(asked, NONE))
        world.via.answer(say_sight)
        (group,) = (await world.answer(ref, ConsumerGroupDescribeReply)).groups
        assert (group.error, bool(group.members)) == (told, told is NONE)
        ref = world.send(DescribeGroups(group_ids=(GROUP,)))
        world.via.answer(lambda asked: described(asked, NONE))
        world.via.answer(say_sight)
        (shown,) = (await world.answer(ref, DescribeGroupsReply)).groups
        assert (shown.error, shown.group_state) == (NONE if told is UNREAD else told, state)
        assert bool(shown.members) is (told is NONE)


async def test_who_may_not_describe_a_group_hears_nothing_of_its_members(autojump_clock: MockClock) -> None:
    """A fetch that the group refuses."""
    async with embedded_world() as world:
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is NONE
        world.via.operations = None
        group = GroupOffsets(
            group_id=GROUP, topics=(TopicOffsets(name=TOPIC, partitions=(0,)),), member_id=MemberId("x"), member_epoch=7
        )
        ref = world.send(OffsetFetch(groups=(group,)))
        world.via.answer(lambda asked: described(asked, DENIED))
        assert (await world.answer(ref, OffsetFetchReply)).groups[0].error is DENIED


async def test_broker_without_an_api_has_nobody_to_hide_a_group_from(autojump_clock: MockClock) -> None:
    """Neither to describe groups nor to delete offsets."""
    async with embedded_world() as world:
        await world.form()
        world.via.operations = None
        del world.via.versions[ApiKey.DESCRIBE_GROUPS]
        world.via.versions.pop(ApiKey.OFFSET_DELETE, None)
        (group,) = (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups
        assert group.group_state == "Stable"
        (kept,) = (await world.ask(DeleteGroups((GROUP,)), DeleteGroupsReply)).groups
        assert kept.error is ErrorCode.NON_EMPTY_GROUP


async def test_nothing_is_shown_while_it_is_not_known_what_the_broker_speaks(autojump_clock: MockClock) -> None:
    """It may well have the API that nobody knows of: whoever asks is told to come again."""
    async with embedded_world() as world:
        await world.form()
        for unknown in (ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_DELETE):
            world.via.versions.pop(unknown, None)
        (group,) = (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups
        assert (group.error, group.members) == (LOST, ())
        (kept,) = (await world.ask(DeleteGroups((GROUP,)), DeleteGroupsReply)).groups
        assert kept.error is LOST
