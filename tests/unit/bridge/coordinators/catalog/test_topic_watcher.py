"""The cluster's topics are looked at."""

import logging

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import LOOK_PAUSE_MS, Catalog, TopicsChange, TopicWatcher
from bridge.net.clock import TrioClock
from tests.support.embedded_world import FakeBroker, moved


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
