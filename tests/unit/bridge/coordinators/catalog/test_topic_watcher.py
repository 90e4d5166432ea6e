"""The cluster's topics are looked at."""

import logging

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import LOOK_PAUSE_MS, Catalog, TopicsChange, TopicWatcher
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from tests.support.embedded_world import FakeBroker, moved
from tests.support.passes import count_passes


async def test_only_differences_are_told_and_only_while_needed(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A cluster that is away, or a bug, costs one look."""
    caplog.set_level(logging.WARNING)
    broker, changes, needed = FakeBroker(), list[TopicsChange](), [False]
    watcher = TopicWatcher(broker, Catalog(), changes.append, TrioClock(), 1_000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.watch, lambda: needed[0])
        await trio.sleep(3.5)
        assert not watcher.has_looked
        needed[0] = True
        await trio.sleep(3)
        assert len(changes) == 1
        broker.is_down = True
        await trio.sleep(1)
        broker.raises = KeyError("a bug")
        await trio.sleep(1)
        broker.is_down, broker.raises = False, None
        moved(broker, 7)
        await trio.sleep(1.5)
        assert [topic.partition_count for change in changes for topic in change.changed] == [6, 7]
        nursery.cancel_scope.cancel()
    assert "EB-TOPICS-001" in caplog.text
    assert "EB-TOPICS-002" in caplog.text


async def test_cluster_that_is_away_for_long_is_told_once_a_minute(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """With the number of looks that failed; it was told at every look."""
    caplog.set_level(logging.WARNING)
    broker = FakeBroker(is_down=True)
    watcher = TopicWatcher(broker, Catalog(), lambda _: None, TrioClock(), 8_000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.watch, lambda: True)
        await trio.sleep(180)
        nursery.cancel_scope.cancel()
    told = [line for line in caplog.messages if "EB-TOPICS-001" in line]
    assert 3 <= len(told) <= 4
    assert "more since this was last said" in told[1]


async def test_looks_at_the_same_time_are_one(autojump_clock: MockClock) -> None:
    """Whoever comes while somebody looks takes what that one finds."""
    broker = FakeBroker()
    watcher = TopicWatcher(broker, Catalog(), lambda _: None, TrioClock(), 1_000)
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(watcher.look)
    assert broker.asked == ["topics"]


async def test_topic_that_came_just_after_a_look_is_seen_by_the_next_which_waits(autojump_clock: MockClock) -> None:
    """A client that creates a topic and joins for it at once must not wait for the interval."""
    broker, changes = FakeBroker(), list[TopicsChange]()
    watcher = TopicWatcher(broker, Catalog(), changes.append, TrioClock(), 5_000)
    await watcher.look()
    await trio.sleep(0.1)
    moved(broker, 7)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(watcher.look)
            await trio.sleep(0.05)
    assert broker.asked == ["topics", "topics"]
    assert [topic.partition_count for change in changes for topic in change.changed] == [6, 7]
    assert trio.current_time() >= LOOK_PAUSE_MS / 1000


@pytest.mark.parametrize("is_down", [False, True])
async def test_crowd_that_waits_for_a_look_goes_on_at_once(autojump_clock: MockClock, *, is_down: bool) -> None:
    """Each newcomer of a group waits for it; one after the other they took a turn of the owner each."""
    passes: list[int] = []
    for size in (5, 500):
        broker = FakeBroker(is_down=is_down)
        watcher = TopicWatcher(broker, Catalog(), lambda _: None, TrioClock(), 1_000)
        refused = 0

        async def look(watcher: TopicWatcher = watcher) -> None:
            nonlocal refused
            try:
                await watcher.look()
            except BrokerUnreachable:
                refused += 1

        with count_passes() as counted:
            async with trio.open_nursery() as nursery:
                for _ in range(size):
                    nursery.start_soon(look)
        assert broker.asked == ["topics"]
        assert refused == (size if is_down else 0)
        passes.append(counted.count)
    assert passes[0] == passes[1]


async def test_look_that_its_asker_gave_up_is_taken_over_by_who_waits(autojump_clock: MockClock) -> None:
    """A client that is gone takes no other's answer with it."""
    broker = FakeBroker(delay_s=1.0)
    watcher = TopicWatcher(broker, Catalog(), lambda _: None, TrioClock(), 1_000)
    async with trio.open_nursery() as nursery:
        scope = await nursery.start(_looking_until_cancelled, watcher)
        nursery.start_soon(watcher.look)
        await trio.sleep(0.5)
        scope.cancel()
    assert broker.asked == ["topics", "topics"]
    assert watcher.has_looked


async def _looking_until_cancelled(
    watcher: TopicWatcher, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await watcher.look()


async def test_crowd_whose_time_runs_out_does_not_storm_a_slow_broker(autojump_clock: MockClock) -> None:
    """The first gives up, and the next looks: 200 that came in a fifth of a second had the broker asked 200 times."""
    broker = FakeBroker(delay_s=60.0)
    watcher = TopicWatcher(broker, Catalog(), lambda _: None, TrioClock(), 1_000)

    async def look() -> None:
        with trio.move_on_after(5):
            await watcher.look()

    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(look)
            await trio.sleep(0.001)
    assert len(broker.asked) <= 2
    assert not watcher.has_looked
