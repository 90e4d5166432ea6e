"""Deletions of offsets between commits, through the running coordinator."""

from trio.testing import MockClock

from bridge.coordinators.embedded.partition_queue import (
    Deletion,
    GroupPartition,
    PartitionQueue,
    Work,
    partitions_deleted,
    queue_deletion,
)
from tests.support.embedded_world import FakeVia, commit_request, committed, embedded_world, leave_request
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.admin import DeletedGroup, DeleteGroups, DeleteGroupsReply, ListGroups
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName, TopicPartition
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommitReply, OffsetDelete, OffsetDeleteReply, TopicOffsets

OTHER = TopicName("elsewhere")
ADMIN = 9
PLACE, NEXT = (GroupPartition(GROUP, TopicPartition(TOPIC, number)) for number in (0, 1))
DONE = DeleteGroupsReply(groups=(DeletedGroup(GROUP, ErrorCode.NONE),))


def delete_offsets(topic: TopicName = TOPIC) -> OffsetDelete:
    """Delete the offset of partition 0."""
    return OffsetDelete(group_id=GROUP, topics=(TopicOffsets(name=topic, partitions=(0,)),))


def test_places_of_a_deletion() -> None:
    """Named partitions; of whole groups those with commits on their way; of other requests none."""
    queue = PartitionQueue()
    for place in (PLACE, NEXT, GroupPartition(GroupId("other"), PLACE.partition)):
        queue.enter(Work(1, frozenset({place}), lambda: None))
    assert partitions_deleted(delete_offsets(), queue) == {PLACE}
    assert partitions_deleted(DeleteGroups((GROUP, GroupId("quiet"))), queue) == {PLACE, NEXT}
    assert partitions_deleted(ListGroups(), queue) == frozenset()


def test_turn_without_places_is_taken_at_once_and_one_with_them_ends_once() -> None:
    """A second answer, as after a bug, gives nothing free that another holds by then."""
    queue, replies, turns = PartitionQueue(), list[GroupReply](), list[Deletion]()
    assert queue_deletion(queue, ADMIN, Deletion(queue, frozenset(), replies.append), turns.append)
    assert queue_deletion(queue, ADMIN, Deletion(queue, frozenset({PLACE}), replies.append), turns.append)
    assert queue_deletion(queue, ADMIN, Deletion(queue, frozenset({PLACE}), replies.append), turns.append)
    assert len(turns) == 2
    turns[1].answer(DONE)
    turns[1].answer(DONE)
    assert len(turns) == 3
    assert queue.places_of({GROUP}) == {PLACE}


async def test_offset_deletion_waits_for_the_commit_before_it_and_holds_the_one_behind(
    autojump_clock: MockClock,
) -> None:
    """In the broker too the last word is the last request's."""
    async with embedded_world() as world:
        generation = await world.form()
        await world.ask(leave_request("a"), LeaveGroupReply)
        assert generation
        first = world.send(commit_request())
        admin = FakeVia(connection=ADMIN)
        deletion = world.send(delete_offsets(), admin)
        last = world.send(commit_request())
        assert (len(world.via.open), admin.open) == (1, [])
        world.via.answer(committed)
        await world.answer(first, OffsetCommitReply)
        assert (len(world.via.open), len(admin.open)) == (0, 1)
        admin.answer(lambda _: OffsetDeleteReply(error=ErrorCode.NONE))
        await world.answer(deletion, OffsetDeleteReply)
        world.via.answer(committed)
        await world.answer(last, OffsetCommitReply)


async def test_offset_deletion_of_another_partition_waits_for_nobody(autojump_clock: MockClock) -> None:
    """One line a partition."""
    async with embedded_world() as world:
        world.send(commit_request())
        admin = FakeVia(connection=ADMIN)
        ref = world.send(delete_offsets(OTHER), admin)
        admin.answer(lambda _: OffsetDeleteReply(error=ErrorCode.NONE))
        await world.answer(ref, OffsetDeleteReply)


async def test_group_is_deleted_when_the_commits_before_have_ended(autojump_clock: MockClock) -> None:
    """Else the last commit of its last member would bring offsets back to life."""
    async with embedded_world() as world:
        generation = await world.form()
        commit = world.send(commit_request(generation, "a", (0, 1)))
        await world.ask(leave_request("a"), LeaveGroupReply)
        admin = FakeVia(connection=ADMIN)
        deletion = world.send(DeleteGroups((GROUP,)), admin)
        assert admin.open == []
        world.via.answer(committed)
        await world.answer(commit, OffsetCommitReply)
        admin.answer(lambda _: DONE)
        assert await world.answer(deletion, DeleteGroupsReply) == DONE


async def test_deletion_of_an_admin_that_went_gives_its_places_free(autojump_clock: MockClock) -> None:
    """Waiting or asked, the next commit gets its turn."""
    async with embedded_world() as world:
        world.send(commit_request())
        waiting, asked = FakeVia(connection=ADMIN), FakeVia(connection=ADMIN + 1)
        world.send(delete_offsets(), waiting)
        world.send(delete_offsets(), asked)
        last = world.send(commit_request())
        world.groups.disconnected(ADMIN)
        world.via.answer(committed)
        assert waiting.open == []
        asked.answer(lambda _: None)
        world.via.answer(committed)
        await world.answer(last, OffsetCommitReply)
