"""Patterns that are kept up to date."""

from collections.abc import Callable, Iterable

import trio
import trio.testing

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.regular_expressions import NO_ROOM, Patterns
from bridge.engine.commands import ForgetRegularExpressions, ResolveRegularExpression
from tests.support.owned_group import TOPIC
from translators.dialects.errors import Refusal
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


class Told(list[ResolveRegularExpression]):
    """What was told; `first` is set with the first of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = trio.Event()

    def hear(self, found: ResolveRegularExpression | ForgetRegularExpressions) -> None:
        """One is told."""
        assert isinstance(found, ResolveRegularExpression)
        self.append(found)
        self.first.set()


async def test_new_pattern_is_resolved_once_and_again_when_topics_change() -> None:
    """Nothing to tell where the engine knows."""
    catalog, told = catalog_of(T), Told()
    patterns = Patterns(catalog, lambda: {"t.*"}, told.hear)
    patterns.remember()
    assert not patterns.is_current("t.*")
    assert await patterns.learn("t.*") is None
    assert await patterns.learn("t.*") is None
    assert [found.topics for found in told] == [{TOPIC}]
    assert patterns.is_current("t.*")
    assert patterns.is_current("")
    assert patterns.is_current(None)
    catalog.update([T, LATER])
    patterns.topics_changed()
    assert not patterns.is_current("t.*")
    await patterns.learn("t.*")
    assert told[-1].topics == {TOPIC, LATER.name}


async def test_pattern_is_known_for_the_turn_it_is_told_in_and_then_for_as_long_as_somebody_has_it() -> None:
    """The engine may have forgotten one whose member was refused, or is gone, before the next comes."""
    used, told = set[str](), Told()
    patterns = Patterns(catalog_of(T), lambda: used, told.hear)
    await patterns.learn("t.*")
    assert patterns.is_current("t.*")
    patterns.told.clear()
    assert not patterns.is_current("t.*")
    used.add("t.*")
    assert patterns.is_current("t.*")
    used.clear()
    await patterns.learn("t.*")
    assert [found.pattern for found in told] == ["t.*", "t.*"]


async def test_pattern_beyond_the_limit_comes_again_until_another_is_unused() -> None:
    """Clients can't fill the memory with patterns; one that could be read is not called unreadable, which would end its
    client.
    """
    used, told = set[str](), Told()
    patterns = Patterns(Catalog(), lambda: used, told.hear, patterns_max=1)
    assert await patterns.learn("a") is None
    assert await patterns.learn("b") is NO_ROOM
    patterns.told.clear()
    used.add("a")
    assert await patterns.learn("b") is NO_ROOM
    assert await patterns.learn("a") is None
    used.clear()
    assert await patterns.learn("b") is None
    assert [(one.pattern, one.error is None) for one in told] == [("a", True), ("b", True)]


async def test_what_is_used_is_kept_up_to_date_and_the_rest_forgotten() -> None:
    """Whoever was let in a moment ago may be the first to use one."""
    catalog, told, waits = catalog_of(T), Told(), [False]
    patterns = Patterns(catalog, lambda: {"t.*"}, told.hear, lambda: waits[0])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.run)
        for waits[0], anew in ((True, {"t.*", "u.*"}), (False, {"t.*"})):
            await patterns.learn("u.*")
            told.clear()
            catalog.update([T, LATER])
            patterns.topics_changed()
            await trio.testing.wait_all_tasks_blocked()
            assert {one.pattern for one in told} == anew
            patterns.told.clear()
        nursery.cancel_scope.cancel()


async def test_what_nobody_has_is_to_be_forgotten_unless_a_member_may_be_queued_with_it() -> None:
    """An order that comes behind what was told would take it from the member that it was told for."""
    orders = list[ResolveRegularExpression | ForgetRegularExpressions]()
    patterns = Patterns(catalog_of(T), set, orders.append)
    await patterns.learn("t.*")
    patterns.forget({"t.*", "gone"})
    patterns.forget({"t.*"})
    assert orders[1:] == [ForgetRegularExpressions(frozenset({"gone"}))]
    patterns.told.clear()
    patterns.forget({"t.*"})
    assert orders[2:] == [ForgetRegularExpressions(frozenset({"t.*"}))]


async def test_pattern_that_the_engine_misses_is_learned() -> None:
    """A member has it, by whatever way it came."""
    used, told = set[str](), Told()
    patterns = Patterns(catalog_of(T), lambda: used, told.hear)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.run)
        await trio.testing.wait_all_tasks_blocked()
        used.add("t.*")
        patterns.want("t.*")
        patterns.want("t.*")
        await trio.testing.wait_all_tasks_blocked()
        patterns.want("t.*")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [found.topics for found in told] == [{TOPIC}]


async def test_costly_pattern_holds_nobody_up() -> None:
    """One heartbeat of 360 bytes kept everybody waiting for 30 s where there were 1,000 topics."""
    told, turns = Told(), 0
    patterns = Patterns(catalog_of(*many(100)), set, told.hear)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.learn, COSTLY)
        await trio.lowlevel.checkpoint()
        while not told:
            turns += 1
            await trio.lowlevel.checkpoint()
    assert turns > 1
    assert len(told[0].topics) == 100


class Users(set[str]):
    """Patterns that are all used, and which of them was asked for last."""

    asked = ""

    def __contains__(self, pattern: object) -> bool:
        """Asked before each is looked for."""
        self.asked = str(pattern)
        return super().__contains__(pattern)


class Unsteady(Catalog):
    """A catalog whose topics change while a costly pattern is looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.update(many(100))
        self.change: Callable[[], None] = lambda: None
        self.users = Users({COSTLY, "orders-.*"})

    def names(self) -> Iterable[TopicName]:
        """Those of the topics that are known."""
        if self.users.asked == COSTLY:
            self.change()
        return super().names()


async def test_pattern_that_takes_longer_than_topics_stay_as_they_are_keeps_no_other_from_being_learned_anew() -> None:
    """Learned until it was current, it came first for ever: all behind it matched what there was before."""
    catalog, told = Unsteady(), Told()
    patterns = Patterns(catalog, lambda: catalog.users, told.hear)
    catalog.change = patterns.topics_changed
    patterns.remember()
    with trio.move_on_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(patterns.run)
            await told.first.wait()
            nursery.cancel_scope.cancel()
    assert {one.pattern for one in told} == {"orders-.*"}


async def test_pattern_whose_first_asker_gives_up_is_learned_anew_all_the_same() -> None:
    """Whoever keeps patterns up to date waited for that one's look, and not again."""
    told = Told()
    patterns = Patterns(catalog_of(*many(100)), lambda: {COSTLY}, told.hear)
    patterns.remember()
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
    told, scopes = Told(), [trio.CancelScope() for _ in range(3)]
    catalog = CountedNames()
    catalog.update(many(100))
    patterns = Patterns(catalog, set, told.hear)

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
    told, topics = Told(), many(100)
    catalog = catalog_of(*topics)
    patterns = Patterns(catalog, set, told.hear)
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
    told, catalog = Told(), catalog_of(T)
    patterns = Patterns(catalog, lambda: {"t.*"}, told.hear)
    await patterns.learn("a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(patterns.run)
        await trio.testing.wait_all_tasks_blocked()
        told.clear()
        patterns.remember()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [(one.pattern, one.topics) for one in told] == [("t.*", frozenset({TOPIC}))]
    assert not patterns.is_current("a")


async def test_pattern_of_whoever_is_refused_is_told_to_nobody_and_looked_for_once() -> None:
    """100 who come with it at once, all refused; then one who is not, and one behind it for whom it is known."""
    catalog, told, judged = CountedNames(), Told(), list[int]()
    catalog.update([T])
    patterns = Patterns(catalog, set, told.hear)

    def refuse() -> Refusal:
        judged.append(patterns.told["t.*"])
        return NO_ROOM

    async def ask() -> None:
        assert await patterns.learn("t.*", refuse) is NO_ROOM

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(ask)
    assert (len(judged), len(set(judged)), told, patterns.told) == (100, 1, [], {})
    looked = catalog.looked_at
    assert await patterns.learn("t.*") is None
    assert await patterns.learn("t.*", refuse) is NO_ROOM
    assert [found.pattern for found in told] == ["t.*"]
    assert patterns.is_current("t.*")
    assert catalog.looked_at == looked + 1


async def test_pattern_that_a_member_has_is_told_whoever_asked() -> None:
    """Topics changed, and it is a joiner that is refused who has it looked for."""
    told = Told()
    patterns = Patterns(catalog_of(T), lambda: {"t.*"}, told.hear)
    patterns.remember()
    assert await patterns.learn("t.*", lambda: NO_ROOM) is NO_ROOM
    assert [found.topics for found in told] == [{TOPIC}]
    assert patterns.is_current("t.*")
