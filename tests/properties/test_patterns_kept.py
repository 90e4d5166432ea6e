"""Whatever members do, the engine and its journal keep the patterns that members have, and no others."""

from dataclasses import replace

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import replay
from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.regular_expressions import resolve
from bridge.coordinators.embedded.shard_journal import ShardJournal
from bridge.engine.outcome import Outcome, RegularExpressionWanted
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.embedded_world import World, embedded_world, native_join
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import GroupId, MemberId, MemberRef, Topic, TopicId, TopicName

SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0, group_consumer_max_size=2)
"""Of three members one is refused, after what its pattern matches was found out for it."""
GROUPS = (GROUP, GroupId("other"))
PATTERNS = ("o.*", "p.*", "[op].*", "(")
"""The last can't be read."""
NAMES = ("o1", "o2", "p1", "p2", "q")
STEPS = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 2), st.sampled_from(GROUPS), st.sampled_from(PATTERNS)),
    st.tuples(st.just("join"), st.integers(0, 2), st.just(GROUP), st.just(PATTERNS[0])),
    st.tuples(st.just("say"), st.integers(0, 2), st.sampled_from(GROUPS), st.sampled_from(PATTERNS)),
    st.tuples(st.just("leave"), st.integers(0, 2), st.sampled_from(GROUPS), st.just("")),
    st.tuples(st.just("leave"), st.integers(0, 2), st.just(GROUP), st.just("")),
    st.tuples(st.just("topic"), st.integers(0, 4), st.just(GROUP), st.just("")),
    st.tuples(st.just("wait"), st.sampled_from([0, 0, 1, 12, 100]), st.just(GROUP), st.just("")),
    st.tuples(st.just("restart"), st.just(0), st.just(GROUP), st.just("")),
)
Step = tuple[str, int, GroupId, str]


class Listener:
    """Hears whether a member was let in of whose pattern the engine knew nothing."""

    def __init__(self) -> None:
        self.wanted: list[RegularExpressionWanted] = []

    def advanced(self, outcome: Outcome) -> None:
        """See `coordinator.Watcher`."""
        self.wanted += [notice for notice in outcome.notices if isinstance(notice, RegularExpressionWanted)]

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        """See `coordinator.Watcher`."""


class Life:
    """Members that say something without waiting for answers, a broker with some topics, and a journal."""

    def __init__(self) -> None:
        self.there = {"o1", "q"}
        self.journal = MemoryJournal()
        self.listener = Listener()

    async def play(self, steps: list[Step]) -> None:
        """One life of the bridge after the other."""
        for chapter in self._chapters(steps):
            async with embedded_world(SETTINGS, EmbeddedSettings(topics_refresh_ms=50)) as world:
                world.groups.owner.watch(self.listener)
                self._tell_topics(world)
                world.groups.keep(self.journal)
                for step in chapter:
                    await self._take(world, step)
                await trio.sleep(3)
                self._check(world)

    @staticmethod
    def _chapters(steps: list[Step]) -> list[list[Step]]:
        chapters: list[list[Step]] = [[]]
        for step in steps:
            if step[0] == "restart":
                chapters.append([])
            else:
                chapters[-1].append(step)
        return chapters

    def _tell_topics(self, world: World) -> None:
        world.broker.topics = [
            Topic(TopicId(name.encode().ljust(16)), TopicName(name), 2) for name in sorted(self.there)
        ]

    async def _take(self, world: World, step: Step) -> None:
        name, number, group_id, pattern = step
        joins = replace(
            native_join(f"m{number}"),
            group_id=group_id,
            subscribed_topic_names=None,
            subscribed_topic_regex=pattern,
        )
        group = world.groups.owner.shard.groups.get(group_id)
        known = None if group is None else group.members.get(MemberId(f"m{number}"))
        match name:
            case "join":
                world.send(joins)
            case "say":
                if known is not None:
                    world.send(replace(joins, member_epoch=known.current.epoch, owned=None))
            case "leave":
                world.send(replace(joins, member_epoch=-1, subscribed_topic_regex=None))
            case "topic":
                self.there ^= {NAMES[number]}
                self._tell_topics(world)
            case _:
                await trio.sleep(number / 1000)

    def _check(self, world: World) -> None:
        shard = world.groups.owner.shard
        assert not self.listener.wanted
        assert shard.patterns.keys() == shard.pattern_users.keys()
        assert not shard.unused_patterns
        for pattern, resolved in shard.patterns.items():
            assert resolved.topics == resolve(pattern, map(TopicName, self.there)).topics, pattern
        again = Shard(settings=SETTINGS, assignors={})
        replay(self.journal.replay(), ShardJournal(again, Catalog()))
        assert again.patterns == shard.patterns


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, min_size=5, max_size=40))
def test_patterns_kept_are_those_that_members_have(steps: list[Step]) -> None:
    """Also of members who were refused, who come while the last one before them goes, and after a restart."""
    trio.run(Life().play, steps, clock=MockClock(autojump_threshold=0))
