"""Offsets of live groups that somebody changes at the broker are noticed, and nothing else is taken for that."""

import logging
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.offset_watch import GROUPS_PER_LOOK, OffsetWatch
from bridge.coordinators.embedded.partition_queue import GroupPartition, GroupPartitions
from bridge.coordinators.embedded.recommit import Recommit
from bridge.net.clock import now_ms
from bridge.wire.codec.registry import Request
from tests.support.embedded_world import (
    FakeBroker,
    World,
    commit_request,
    committed,
    embedded_world,
    leave_request,
)
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName, TopicPartition
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

INTERVAL_MS = 5_000
TOLD = "EB-OFFSETS-007"
OVERWRITTEN = "EB-OFFSETS-008"


def fetched(*items: FetchedPartition) -> FetchedGroup:
    """What the broker has."""
    return FetchedGroup(group_id=GROUP, topics=(FetchedTopic(name=TOPIC, partitions=items),) if items else ())


def at(offset: int, partition: int = 0) -> FetchedPartition:
    """A committed offset."""
    return FetchedPartition(partition=partition, offset=offset)


def commit_of(offset: int, partition: int = 0) -> OffsetCommit:
    """A simple commit as it went to the broker."""
    topic = TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=partition, offset=offset),))
    return OffsetCommit(group_id=GROUP, generation=-1, member_id=NO_MEMBER_ID, instance_id=None, topics=(topic,))


class Desk:
    """A watch over one group at a broker, and what is in the middle of being committed."""

    def __init__(self) -> None:
        self.broker = FakeBroker(delay_s=0.1)
        self.busy: GroupPartitions = frozenset()
        self.watch = OffsetWatch(self.broker, lambda _: self.busy, INTERVAL_MS, now_ms)

    def commit(self, offset: int) -> None:
        """A client commits and the broker takes it."""
        self.broker.offsets[GROUP] = fetched(at(offset))
        self.watch.committed(commit_of(offset), committed(commit_of(offset)))

    async def look(self) -> int:
        """Compare; gives how many changes were found."""
        before = self.watch.changes
        await self.watch.look(GROUP)
        return self.watch.changes - before


@pytest.mark.parametrize(
    ("changed", "text"), [(fetched(at(3)), "topic[0] 7 -> 3"), (fetched(), "topic[0] 7 -> nothing")]
)
async def test_reset_and_delete_are_told_once_and_a_commit_over_them_at_the_next_look(
    changed: FetchedGroup, text: str, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka refuses both while a group has members; at the broker an embedded one has none."""
    forwarder = Desk()
    forwarder.commit(7)
    assert await forwarder.look() == 0
    forwarder.broker.offsets[GROUP] = changed
    with caplog.at_level(logging.WARNING):
        assert [await forwarder.look() for _ in range(3)] == [1, 0, 0]
        assert caplog.text.count(TOLD) == 1
        assert text.replace("topic", TOPIC, 1) in caplog.text
        assert forwarder.watch.told[GROUP].startswith("committed offsets were changed at the broker")
        forwarder.commit(9)
        assert [await forwarder.look() for _ in range(2)] == [0, 0]
    assert caplog.text.count(OVERWRITTEN) == 1
    assert "committed over by its members" in forwarder.watch.told[GROUP]
    forwarder.watch.forget(GROUP)
    assert not forwarder.watch.told


async def test_first_look_after_a_start_takes_what_is_there(autojump_clock: MockClock) -> None:
    """And from then on misses nothing, also of partitions for which nobody has committed since."""
    forwarder = Desk()
    forwarder.broker.offsets[GROUP] = fetched(at(7))
    assert await forwarder.look() == 0
    forwarder.broker.offsets[GROUP] = fetched(at(0), at(5, 1))
    assert await forwarder.look() == 2


@pytest.mark.parametrize("answered", [7, 8])
async def test_commit_while_the_broker_is_asked_is_no_change(answered: int, autojump_clock: MockClock) -> None:
    """Whether the broker told its offsets before it took the commit, or after."""
    forwarder = Desk()
    forwarder.commit(7)
    assert await forwarder.look() == 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(forwarder.watch.look, GROUP)
        await trio.sleep(0.05)
        forwarder.commit(8)
        forwarder.broker.offsets[GROUP] = fetched(at(answered))
    forwarder.broker.offsets[GROUP] = fetched(at(8))
    assert await forwarder.look() == 0
    assert forwarder.watch.changes == 0


async def test_commit_that_comes_between_question_and_comparison_is_no_change(autojump_clock: MockClock) -> None:
    """Nor one that is on its way still, nor one whose answer was lost, nor one in an open transaction."""
    forwarder = Desk()
    forwarder.commit(7)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(forwarder.watch.look, GROUP)
        await trio.sleep(0.05)
        forwarder.commit(8)
        forwarder.broker.offsets[GROUP] = fetched(at(7))
    forwarder.broker.offsets[GROUP] = fetched(at(1))
    forwarder.busy = frozenset({GroupPartition(GROUP, TopicPartition(TOPIC, 0))})
    assert await forwarder.look() == 0
    forwarder.busy = frozenset()
    forwarder.broker.offsets[GROUP] = fetched(at(9))
    forwarder.watch.committed(commit_of(9), None)
    assert await forwarder.look() == 0, "whatever it is by now"
    forwarder.broker.offsets[GROUP] = fetched(replace(at(1), error=ErrorCode.UNSTABLE_OFFSET_COMMIT))
    assert await forwarder.look() == 0
    refused = committed(commit_of(11), ErrorCode.OFFSET_METADATA_TOO_LARGE)
    forwarder.broker.offsets[GROUP] = fetched(at(9))
    forwarder.watch.committed(commit_of(11), refused)
    assert await forwarder.look() == 0, "it did not count"
    assert forwarder.watch.changes == 0


async def test_what_a_transaction_commits_is_not_compared(autojump_clock: MockClock) -> None:
    """It counts when the transaction ends, which passes unseen."""
    forwarder = Desk()
    forwarder.commit(7)
    plain = commit_of(20)
    reply = committed(plain)
    assert isinstance(reply, OffsetCommitReply)
    in_transaction = TxnOffsetCommit(
        group_id=GROUP,
        transactional_id="t",
        producer_id=1,
        producer_epoch=0,
        generation=-1,
        member_id=NO_MEMBER_ID,
        instance_id=None,
        topics=plain.topics,
    )
    forwarder.watch.committed(in_transaction, reply)
    assert await forwarder.look() == 0
    forwarder.broker.offsets[GROUP] = fetched(at(20))
    assert await forwarder.look() == 0
    forwarder.commit(21)
    forwarder.broker.offsets[GROUP] = fetched(at(2))
    assert await forwarder.look() == 1


async def test_offsets_go_with_their_topic(autojump_clock: MockClock) -> None:
    """A deleted topic is no deletion of offsets."""
    forwarder = Desk()
    forwarder.commit(7)
    forwarder.broker.offsets[GROUP] = fetched()
    forwarder.broker.topics.clear()
    assert await forwarder.look() == 0
    assert await forwarder.look() == 0


async def change_at_the_broker(world: World, caplog: pytest.LogCaptureFixture) -> int:
    """Reset the group behind the bridge's back; gives how often that was told within the interval."""
    world.broker.offsets[GROUP] = fetched(at(1))
    with caplog.at_level(logging.WARNING):
        await trio.sleep(INTERVAL_MS / 1000 + 0.5)
    return caplog.text.count(TOLD)


async def test_live_group_is_looked_at_within_the_topics_interval(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty one is anybody's to reset."""
    async with embedded_world() as world:
        generation = await world.form()
        world.send(commit_request(generation, "a"))
        sent = world.via.answer(committed)
        assert isinstance(sent, OffsetCommit)
        offset = sent.topics[0].partitions[0].offset
        world.broker.offsets[GROUP] = fetched(at(offset))
        for _ in range(4):
            await trio.sleep(INTERVAL_MS / 2000)
            assert await world.beat(generation) is ErrorCode.NONE
        assert (await change_at_the_broker(world, caplog), world.groups.offsets.changes) == (1, 1)
        await world.ask(leave_request("a"), LeaveGroupReply)
        world.broker.offsets[GROUP] = fetched(at(5))
        caplog.clear()
        assert await change_at_the_broker(world, caplog) == 0
        assert not world.groups.offsets.told


async def test_many_groups_take_turns_and_a_broker_that_is_away_is_no_change(autojump_clock: MockClock) -> None:
    """So many questions at an interval and no more; nothing is concluded from silence."""
    forwarder = Desk()
    forwarder.broker.delay_s = 0.001
    groups = [GroupId(f"g{number:03}") for number in range(GROUPS_PER_LOOK * 2)]
    with trio.move_on_after(INTERVAL_MS / 1000 * 2.5):
        await forwarder.watch.run(lambda: groups)
    assert sorted(forwarder.broker.asked) == [f"offsets {group}" for group in groups]
    forwarder.broker.is_down = True
    with trio.move_on_after(INTERVAL_MS / 1000 * 3):
        await forwarder.watch.run(lambda: groups)
    assert forwarder.watch.changes == 0


async def test_broker_that_is_away_is_told_of_once_a_minute_for_all_groups(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A line for each group at each look was nearly all that the log had, for as long as a coordinator did not load."""
    desk = Desk()
    desk.broker.is_down = True
    with caplog.at_level(logging.INFO), trio.move_on_after(130):
        await desk.watch.run(lambda: [GroupId(f"g{number}") for number in range(20)])
    lines = [record.getMessage() for record in caplog.records if "EB-OFFSETS-009" in record.getMessage()]
    assert len(lines) in range(2, 6), lines
    assert "times more since this was last said" in lines[-1]


async def test_renewal_undoes_neither_a_reset_nor_a_delete(autojump_clock: MockClock) -> None:
    """It commits what the broker has when its turn has come, whatever was there when it asked first."""
    async with embedded_world() as world:
        generation = await world.form()
        world.broker.offsets[GROUP] = fetched(at(7), at(8, 1))
        world.send(commit_request(generation, "a"))
        renewed: list[int] = []
        recommit = Recommit(world.broker, world.groups.forwarder.queue, 1_000, world.groups.offsets.say)

        async def renew() -> None:
            renewed.append(await recommit.renew(GROUP))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(renew)
            await trio.sleep(1)
            world.broker.offsets[GROUP] = fetched(at(2))
            world.via.answer(committed)
        assert renewed == [1]
        assert [item.offset for topic in world.broker.commits[0].topics for item in topic.partitions] == [2]


async def test_commit_that_the_broker_answers_by_topic_id_alone_is_no_change(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """OffsetCommit 10, as Java's clients of 4.3 send it: each of their commits was taken for somebody else's."""

    def by_id(commit: Request) -> OffsetCommitReply:
        reply = committed(commit)
        return replace(reply, topics=tuple(replace(topic, name=TopicName("")) for topic in reply.topics))

    async with embedded_world() as world:
        generation = await world.form()
        for offset in (3, 5, 8):
            request = commit_request(generation, "a")
            topic = replace(request.topics[0], partitions=(PartitionCommit(partition=0, offset=offset),))
            world.broker.offsets[GROUP] = fetched(at(offset))
            world.send(replace(request, topics=(topic,)))
            world.via.answer(by_id)
            for _ in range(4):
                await trio.sleep(INTERVAL_MS / 2000)
                assert await world.beat(generation) is ErrorCode.NONE
    assert TOLD not in caplog.text
    assert world.groups.offsets.changes == 0
