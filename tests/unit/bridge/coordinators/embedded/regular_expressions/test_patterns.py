"""Patterns that are kept up to date."""

from collections.abc import Callable, Iterable

import trio
import trio.testing

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.regular_expressions import Patterns
from bridge.engine.commands import ResolveRegularExpression
from tests.support.owned_group import TOPIC
from translators.dialects.ids import Topic, TopicId, TopicName

T, LATER = Topic(TopicId(b"t" * 16), TOPIC, 1), Topic(TopicId(b"u" * 16), TopicName("t2"), 1)
COSTLY = "(?:.?){1000}"
"""What RE2 carries out for each character of a name is some 9,000 instructions."""


def catalog_of(*topics: Topic) -> Catalog:
    """A catalog that has seen these."""
    catalog = Catalog()
    catalog.update(topics)
    return catalog


def many(count: int) -> tuple[Topic, ...]:
    """So many topics."""
    return tuple(Topic(TopicId(b"%016d" % number), TopicName(f"orders-{number:08}"), 1) for number in range(count))


class CountedNames(Catalog):
    """A catalog that counts how often its names are gone through."""

    looked_at = 0

    def names(self) -> Iterable[TopicName]:
        """Those of the topics that are known."""
        self.looked_at += 1
        return super().names()


async def test_new_pattern_is_resolved_once_and_again_when_topics_change() -> None:
    """Nothing to tell where the engine knows."""
    catalog, told = catalog_of(T), list[ResolveRegularExpression]()
    patterns = Patterns(catalog, lambda _: True, told.append)
    assert not patterns.is_current("t.*")
    await patterns.learn("t.*")
    await patterns.learn("t.*")
    assert [found.topics for found in told] == [{TOPIC}]
    assert patterns.is_current("t.*")
    assert patterns.is_current("")
    assert patterns.is_current(None)
    catalog.update([T, LATER])
    patterns.topics_changed()
    assert not patterns.is_current("t.*")
    await patterns.learn("t.*")
    assert told[-1].topics == {TOPIC, LATER.name}


async def test_pattern_beyond_the_limit_is_unreadable_unless_another_is_unused() -> None:
    """Clients can't fill the memory with patterns."""
    used, told = {"a"}, list[ResolveRegularExpression]()
    patterns = Patterns(Catalog(), lambda pattern: pattern in used, told.append, patterns_max=1)
    await patterns.learn("a")
    await patterns.learn("b")
    assert [(one.pattern, one.error is None) for one in told] == [("a", True), ("b", False)]
    used.clear()
    await patterns.learn("b")
    assert told[-1].error is None
    assert not patterns.is_current("a")
    assert patterns.is_current("b")


async def test_what_is_used_is_kept_up_to_date_and_the_rest_forgotten() -> None:
    """Whoever was let in a moment ago may be the first to use one."""
    catalog, told, waits = catalog_of(T), list[ResolveRegularExpression](), [False]
    patterns = Patterns(catalog, lambda pattern: pattern == "t.*", told.append, lambda: waits[0])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.run)
        for pattern in ("t.*", "u.*"):
            await patterns.learn(pattern)
        for waits[0], anew in ((True, {"t.*", "u.*"}), (False, {"t.*"})):
            told.clear()
            catalog.update([T, LATER])
            patterns.topics_changed()
            await trio.testing.wait_all_tasks_blocked()
            assert {one.pattern for one in told} == anew
        nursery.cancel_scope.cancel()


async def test_costly_pattern_holds_nobody_up() -> None:
    """One heartbeat of 360 bytes kept everybody waiting for 30 s where there were 1,000 topics."""
    told, turns = list[ResolveRegularExpression](), 0
    patterns = Patterns(catalog_of(*many(100)), lambda _: True, told.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.learn, COSTLY)
        await trio.lowlevel.checkpoint()
        while not told:
            turns += 1
            await trio.lowlevel.checkpoint()
    assert turns > 1
    assert len(told[0].topics) == 100


class Unsteady(Catalog):
    """A catalog whose topics change while a costly pattern is looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.update(many(100))
        self.change: Callable[[], None] = lambda: None
        self.asked = ""

    def is_used(self, pattern: str) -> bool:
        """Asked before each is looked for; all are."""
        self.asked = pattern
        return True

    def names(self) -> Iterable[TopicName]:
        """Those of the topics that are known."""
        if self.asked == COSTLY:
            self.change()
        return super().names()


class Told(list[ResolveRegularExpression]):
    """What was told; `first` is set with the first of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = trio.Event()

    def hear(self, found: ResolveRegularExpression) -> None:
        """One is told."""
        self.append(found)
        self.first.set()


async def test_pattern_that_takes_longer_than_topics_stay_as_they_are_keeps_no_other_from_being_learned_anew() -> None:
    """Learned until it was current, it came first for ever: all behind it matched what there was before."""
    catalog, told = Unsteady(), Told()
    patterns = Patterns(catalog, catalog.is_used, told.hear)
    catalog.change = patterns.topics_changed
    patterns.remember([COSTLY, "orders-.*"])
    with trio.move_on_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(patterns.run)
            await told.first.wait()
            nursery.cancel_scope.cancel()
    assert {one.pattern for one in told} == {"orders-.*"}


async def test_pattern_whose_first_asker_gives_up_is_learned_anew_all_the_same() -> None:
    """Whoever keeps patterns up to date waited for that one's look, and not again."""
    told = Told()
    patterns = Patterns(catalog_of(*many(100)), lambda _: True, told.hear)
    patterns.remember([COSTLY])
    with trio.move_on_after(20):
        async with trio.open_nursery() as nursery:
            first = await nursery.start(_learn_until_cancelled, patterns)
            nursery.start_soon(patterns.run)
            await trio.lowlevel.checkpoint()
            first.cancel()
            await told.first.wait()
            nursery.cancel_scope.cancel()
    assert [one.pattern for one in told] == [COSTLY]


async def _learn_until_cancelled(patterns: Patterns, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await patterns.learn(COSTLY)


async def test_what_many_want_to_know_is_looked_for_once() -> None:
    """The 1,000 members of a group join with the same pattern; whoever gives up leaves it to the next."""
    told, scopes = list[ResolveRegularExpression](), [trio.CancelScope() for _ in range(3)]
    catalog = CountedNames()
    catalog.update(many(100))
    patterns = Patterns(catalog, lambda _: True, told.append)

    async def join(scope: trio.CancelScope) -> None:
        with scope:
            await patterns.learn(COSTLY)

    async with trio.open_nursery() as nursery:
        for scope in scopes:
            nursery.start_soon(join, scope)
            await trio.lowlevel.checkpoint()
        scopes[0].cancel()
    assert len(told) == 1
    assert catalog.looked_at == 2
    assert [scope.cancelled_caught for scope in scopes] == [True, False, False]


async def test_topics_that_change_while_a_pattern_is_resolved_are_matched_too() -> None:
    """What was found before they came is told to nobody."""
    told, topics = list[ResolveRegularExpression](), many(100)
    catalog = catalog_of(*topics)
    patterns = Patterns(catalog, lambda _: True, told.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.learn, COSTLY)
        await trio.lowlevel.checkpoint()
        catalog.update([*topics, T])
        patterns.topics_changed()
    assert [len(one.topics) for one in told] == [101]


async def test_what_the_engine_knows_from_before_is_all_that_is_known_and_is_learned_anew() -> None:
    """A turn that failed is undone, and what it was told with it; a bridge may have been killed between a topic that
    came and what matches it, and no further change would ever have told.
    """
    told, catalog = list[ResolveRegularExpression](), catalog_of(T)
    patterns = Patterns(catalog, lambda _: True, told.append)
    await patterns.learn("a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.run)
        await trio.testing.wait_all_tasks_blocked()
        told.clear()
        patterns.remember(["t.*"])
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [(one.pattern, one.topics) for one in told] == [("t.*", frozenset({TOPIC}))]
    assert not patterns.is_current("a")
