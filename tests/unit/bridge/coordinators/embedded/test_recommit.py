"""Offsets of live groups are committed again (decision 1)."""

import logging

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.partition_queue import GroupPartition, PartitionQueue, Work
from bridge.coordinators.embedded.recommit import FIRST_ROUND_MS, Recommit
from bridge.ports import BrokerUnreachable
from tests.support.embedded_world import FakeBroker, commit_request, committed, embedded_world, say_at_once
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
)


def offsets(*partitions: FetchedPartition) -> FetchedGroup:
    """What the broker has."""
    return FetchedGroup(group_id=GROUP, topics=(FetchedTopic(name=TOPIC, partitions=partitions),))


STORED = FetchedPartition(partition=0, offset=7, leader_epoch=3, metadata="mine")
NOTHING = FetchedPartition(partition=1, offset=-1)
OPEN = FetchedPartition(partition=2, offset=5, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
RENEWED = PartitionCommit(partition=0, offset=7, leader_epoch=3, metadata="mine")


async def test_offsets_are_committed_unchanged(autojump_clock: MockClock) -> None:
    """Leader epoch and text too; not what is absent, nor what an open transaction commits (K5.18)."""
    broker = FakeBroker(offsets={GROUP: offsets(STORED, NOTHING, OPEN)})
    assert await Recommit(broker, PartitionQueue(), 1_000, say_at_once).renew(GROUP) == 1
    (commit,) = broker.commits
    assert (commit.generation, commit.member_id) == (-1, "")
    assert [topic.partitions for topic in commit.topics] == [(RENEWED,)]
    broker.offsets = {GROUP: offsets(NOTHING)}
    assert await Recommit(broker, PartitionQueue(), 1_000, say_at_once).renew(GROUP) == 0
    assert len(broker.commits) == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, f"lacks the right READ on the group {str(GROUP)!r}; give it"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"lacks the right READ on the topic {str(TOPIC)!r}; give it"),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, "tried again in the next round; see the broker's log"),
    ],
)
async def test_refused_renewal_says_which_right_is_missing(
    code: ErrorCode, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """And what gives it; only what is no question of rights leads to the broker's log."""

    class Refusing(FakeBroker):
        async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
            await trio.lowlevel.checkpoint()
            return committed(commit, code)

    assert (
        await Recommit(Refusing(offsets={GROUP: offsets(STORED)}), PartitionQueue(), 1_000, say_at_once).renew(GROUP)
        == 0
    )
    (line,) = caplog.messages
    assert line.startswith(
        f"EB-OFFSETS-002: the broker refused to renew offsets of group {str(GROUP)!r}: ['{code.name}"
    )
    assert told in line


async def test_client_commit_in_between_is_never_set_back(autojump_clock: MockClock) -> None:
    """The renewal waits behind it and reads what it left; a client's commit waits behind the renewal."""
    async with embedded_world(settings=EmbeddedSettings(recommit_ms=5_000)) as world:
        world.broker.offsets[GROUP] = offsets(STORED)
        generation = await world.form()
        await trio.sleep(4.9 - trio.current_time())
        world.send(commit_request(generation, "a"))
        await trio.sleep(2)
        assert not world.broker.commits
        world.broker.offsets[GROUP] = offsets(FetchedPartition(partition=0, offset=10))
        world.broker.delay_s = 1.0
        world.via.answer(committed)
        world.send(commit_request(generation, "a"))
        assert not world.via.open
        await trio.sleep(2.5)
        assert world.broker.commits[0].topics[0].partitions[0].offset == 10
        assert len(world.via.open) == 1


async def test_only_live_groups_are_renewed_and_a_bug_ends_one_renewal(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The next round comes."""
    caplog.set_level(logging.WARNING)
    async with embedded_world(settings=EmbeddedSettings(recommit_ms=5_000)) as world:
        world.broker.offsets[GROUP] = offsets(STORED)
        await trio.sleep(6)
        assert not world.broker.commits
        generation = await world.form()
        world.broker.raises = KeyError("a bug")
        for _ in range(2):
            await trio.sleep(3)
            assert await world.beat(generation) is ErrorCode.NONE
        assert "EB-OFFSETS-004" in caplog.text
        world.broker.raises = None
        for _ in range(2):
            await trio.sleep(3)
            assert await world.beat(generation) is ErrorCode.NONE
        assert world.broker.commits


async def test_first_round_does_not_wait_a_day(autojump_clock: MockClock) -> None:
    """A bridge that is restarted every day still renews."""
    broker = FakeBroker(offsets={GROUP: offsets(STORED)})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Recommit(broker, PartitionQueue(), 86_400_000, say_at_once).run, lambda: [GROUP])
        await trio.sleep(FIRST_ROUND_MS / 1000 + 1)
        assert len(broker.commits) == 1
        await trio.sleep(86_000)
        assert len(broker.commits) == 1
        await trio.sleep(1_000)
        assert len(broker.commits) == 2
        nursery.cancel_scope.cancel()


async def test_cancelled_renewal_gives_its_place_up(autojump_clock: MockClock) -> None:
    """Whether it waited or not."""
    broker, queue = FakeBroker(offsets={GROUP: offsets(STORED)}, delay_s=1.0), PartitionQueue()
    for duration_s in (1.5, 2.5):
        with trio.move_on_after(duration_s):
            await Recommit(broker, queue, 1_000, say_at_once).renew(GROUP)
        assert not queue._lines


async def test_renewal_waits_only_for_what_it_renews(autojump_clock: MockClock) -> None:
    """A commit on its way of a partition that has nothing to renew holds nothing up."""
    broker, queue = FakeBroker(offsets={GROUP: offsets(STORED, NOTHING)}), PartitionQueue()
    busy = frozenset({GroupPartition(GROUP, TopicPartition(TOPIC, NOTHING.partition))})
    assert queue.enter(Work(1, busy, lambda: None))
    with trio.fail_after(60):
        assert await Recommit(broker, queue, 1_000, say_at_once).renew(GROUP) == 1


async def test_renewal_that_finds_too_much_waiting_is_put_off(autojump_clock: MockClock) -> None:
    """Nothing is committed without the place, and the place stays whose it is."""
    broker, queue = FakeBroker(offsets={GROUP: offsets(STORED)}), PartitionQueue(waiting_max=0)
    busy = frozenset({GroupPartition(GROUP, TopicPartition(TOPIC, STORED.partition))})
    assert queue.enter(Work(1, busy, lambda: None))
    with trio.fail_after(60), pytest.raises(BrokerUnreachable, match="EB-OFFSETS-003"):
        await Recommit(broker, queue, 1_000, say_at_once).renew(GROUP)
    assert broker.commits == []
    assert queue.places_of([GROUP]) == busy
