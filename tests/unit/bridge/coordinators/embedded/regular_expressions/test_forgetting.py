"""Patterns that no member has any more are forgotten, and the topics of others count for who brings them."""

from dataclasses import replace

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.shard_journal import ENGINE
from bridge.coordinators.embedded.shares import ShareLimits
from bridge.engine import records_codec
from bridge.engine.records import RegularExpressionForgotten, RegularExpressionResolved
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import World, embedded_world, join_request, native_join
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import JoinGroupReply, Protocol
from translators.dialects.configs import MigrationPolicy
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, Topic, TopicId, TopicName

SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
CLASSIC = replace(SETTINGS, group_begins_classic=True)
OFFERED = join_request("").protocols
OTHER_HOST = replace(CLIENT, client_host="/10.0.0.9")


def pattern_join(member_id: str, pattern: str, group_id: str = GROUP) -> ConsumerGroupHeartbeat:
    """A member that comes with a pattern."""
    joins = replace(native_join(member_id), group_id=GroupId(group_id), subscribed_topic_names=None)
    return replace(joins, subscribed_topic_regex=pattern)


async def patterns_of(world: World) -> set[str]:
    """What the engine knows once nothing is under way."""
    await wait_all_tasks_blocked()
    return set(world.groups.owner.shard.patterns)


async def test_pattern_goes_with_its_last_member_and_comes_again_with_the_next(autojump_clock: MockClock) -> None:
    """One that comes back is dealt its partitions by its first heartbeat, as when it came first."""
    async with embedded_world(SETTINGS) as world:
        for name in ("a", "b", "a"):
            joined = await world.ask(pattern_join(name, ".*"), ConsumerGroupHeartbeatReply)
            assert joined.error is ErrorCode.NONE
            assert joined.assignment
            assert await patterns_of(world) == {".*"}
            await world.ask(replace(pattern_join(name, ".*"), member_epoch=-1), ConsumerGroupHeartbeatReply)
            assert await patterns_of(world) == set()


async def test_nothing_is_kept_of_who_is_refused(autojump_clock: MockClock) -> None:
    """100 who come to a full group, or are fenced, each with a pattern of its own, and one that can't be read."""
    engine = replace(SETTINGS, group_consumer_max_size=1)
    journal = MemoryJournal()
    async with embedded_world(engine) as world:
        world.groups.keep(journal)
        assert (await world.ask(pattern_join("a", ".*"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        for number in range(100):
            refused = await world.ask(pattern_join("b", f"t{{{number}}}"), ConsumerGroupHeartbeatReply)
            assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
            changed = replace(pattern_join("a", f"t{{{number}}}"), member_epoch=77)
            fenced = await world.ask(changed, ConsumerGroupHeartbeatReply)
            assert fenced.error is ErrorCode.FENCED_MEMBER_EPOCH
            assert await patterns_of(world) == {".*"}
        unreadable = await world.ask(pattern_join("b", "(", "other"), ConsumerGroupHeartbeatReply)
        assert unreadable.error is ErrorCode.INVALID_REGULAR_EXPRESSION
        assert unreadable.error_message == ("SubscribedTopicRegex `(` is not a valid regular expression: missing ): (.")
        assert await patterns_of(world) == {".*"}
        assert patterns_in(journal) == [".*"]
    async with embedded_world(engine) as world:
        world.groups.keep(journal)
        assert await patterns_of(world) == {".*"}


@pytest.mark.parametrize(
    ("engine", "offered", "pattern", "code"),
    [
        (
            replace(CLASSIC, group_consumer_migration_policy=MigrationPolicy.DISABLED),
            OFFERED,
            "t.*",
            ErrorCode.GROUP_ID_NOT_FOUND,
        ),
        (replace(CLASSIC, group_consumer_max_size=1), OFFERED, "t.*", ErrorCode.GROUP_MAX_SIZE_REACHED),
        (CLASSIC, (Protocol("custom", b""),), "t.*", ErrorCode.GROUP_ID_NOT_FOUND),
        (CLASSIC, (Protocol("range", b"torn"),), "t.*", ErrorCode.GROUP_ID_NOT_FOUND),
        (CLASSIC, (Protocol("range", b"torn"),), "(", ErrorCode.GROUP_ID_NOT_FOUND),
        (CLASSIC, OFFERED, "(", ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
    ids=["policy", "too many members", "an own assignor", "torn bytes", "torn bytes and pattern", "torn pattern"],
)
async def test_nothing_is_written_of_who_comes_to_a_group_that_stays_classic(
    engine: EngineSettings,
    offered: tuple[Protocol, ...],
    pattern: str,
    code: ErrorCode,
    autojump_clock: MockClock,
) -> None:
    """Its policy or one of its members keeps it so, for everybody that comes with a pattern; and what keeps it is told
    before a pattern that can't be read, as in Kafka.
    """
    journal = MemoryJournal()
    async with embedded_world(engine) as world:
        world.groups.keep(journal)
        first = replace(join_request(""), needs_member_id=False, protocols=offered)
        joined = await world.ask(first, JoinGroupReply)
        assert joined.error is ErrorCode.NONE
        for _ in range(3):
            refused = await world.ask(pattern_join("b", pattern), ConsumerGroupHeartbeatReply)
            assert refused.error is code
        assert await patterns_of(world) == set()
        assert patterns_in(journal) == []


async def test_pattern_of_who_takes_an_empty_classic_group_over_is_known_at_once(autojump_clock: MockClock) -> None:
    """Whatever the policy: nobody is in it who could keep it classic, and its first answer has partitions."""
    async with embedded_world(replace(CLASSIC, group_consumer_migration_policy=MigrationPolicy.DISABLED)) as world:
        named = await world.ask(join_request(""), JoinGroupReply)
        assert named.error is ErrorCode.MEMBER_ID_REQUIRED
        joined = await world.ask(pattern_join("b", "t.*"), ConsumerGroupHeartbeatReply)
        assert joined.error is ErrorCode.NONE
        assert joined.assignment


def engine_entries(journal: MemoryJournal) -> list[object]:
    """The records of the engine in a journal."""
    return [records_codec.decode(entry[1:]) for entry in journal.replay() if entry[:1] == ENGINE]


def patterns_in(journal: MemoryJournal) -> list[str]:
    """The patterns that are in a journal, forgotten ones too."""
    kinds = (RegularExpressionResolved, RegularExpressionForgotten)
    return [record.pattern for record in engine_entries(journal) if isinstance(record, kinds)]


async def test_journal_of_an_older_release_is_read_and_what_nobody_has_forgotten(autojump_clock: MockClock) -> None:
    """It wrote what every pattern matched that anybody ever came with, and never that one was forgotten: a member that
    came with one later relies on what stands far before it.
    """
    journal = MemoryJournal()
    async with embedded_world(SETTINGS) as world:
        world.groups.keep(journal)
        for name in ("a", "b"):
            joined = await world.ask(pattern_join(name, "t.*"), ConsumerGroupHeartbeatReply)
            await world.ask(pattern_join(f"other-{name}", "gone", "other"), ConsumerGroupHeartbeatReply)
            for leaver in ((name, "t.*", GROUP), (f"other-{name}", "gone", "other")):
                await world.ask(replace(pattern_join(*leaver), member_epoch=-1), ConsumerGroupHeartbeatReply)
        joined = await world.ask(pattern_join("c", "t.*"), ConsumerGroupHeartbeatReply)
        assert joined.member_id
    older = MemoryJournal()
    told = set[bytes]()
    for entry in journal.replay():
        record = records_codec.decode(entry[1:]) if entry[:1] == ENGINE else None
        if isinstance(record, RegularExpressionForgotten) or (
            isinstance(record, RegularExpressionResolved) and entry in told
        ):
            continue
        told.add(entry)
        older.append([entry])
    assert sum(isinstance(record, RegularExpressionResolved) for record in engine_entries(older)) == 2
    async with embedded_world(SETTINGS) as world:
        world.broker.is_down = True
        world.groups.keep(older)
        member = world.groups.owner.shard.groups[GROUP].members
        assert {name: one.current.epoch for name, one in member.items()} == {"c": joined.member_epoch}
        assert world.groups.owner.shard.patterns["t.*"].topics == {TOPIC}
        assert await patterns_of(world) == {"t.*"}
        beat = ConsumerGroupHeartbeat(group_id=GROUP, member_id=joined.member_id, member_epoch=joined.member_epoch)
        assert (await world.ask(beat, ConsumerGroupHeartbeatReply)).member_epoch == joined.member_epoch
    assert RegularExpressionForgotten("gone") in engine_entries(older)


@pytest.mark.parametrize("whose", ["group", "client"])
async def test_topics_that_patterns_match_count_for_who_brings_the_patterns(
    autojump_clock: MockClock, whose: str
) -> None:
    """Ten letters each, with which one group, or one address, had the journal hold the names of all topics again and
    again; a pattern that is there already costs nothing.
    """
    # A pattern with its topics takes 42 kB, and so nearly do all partitions, which are dealt once to each group.
    share = 145_000 if whose == "group" else 180_000
    limits = ShareLimits(share if whose == "group" else 10**9, share if whose == "client" else 10**9, 10**9)
    journal = MemoryJournal()
    async with embedded_world(SETTINGS, EmbeddedSettings(shares=limits)) as world:
        world.groups.keep(journal)
        world.broker.topics = [
            Topic(TopicId(b"%016d" % number), TopicName(f"orders-{'x' * 90}-{number}"), 1) for number in range(400)
        ]
        answers = [
            await world.ask(
                pattern_join(f"n{number}", f"orders.{{{number},}}", GROUP if whose == "group" else f"g{number}"),
                ConsumerGroupHeartbeatReply,
            )
            for number in range(5)
        ]
        refused = [answer.error for answer in answers]
        assert refused == [ErrorCode.NONE] * 2 + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
        assert len(await patterns_of(world)) == 2
        # Of who was refused nothing is written: the topics of each pattern were, and that it was forgotten.
        assert patterns_in(journal) == ["orders.{0,}", "orders.{1,}"]
        again = await world.ask(
            pattern_join("same", "orders.{0,}", GROUP if whose == "group" else "g0"), ConsumerGroupHeartbeatReply
        )
        assert again.error is ErrorCode.NONE
        elsewhere = world.send(pattern_join("n", "orders.{9,}", "elsewhere"), client=OTHER_HOST)
        assert (await world.answer(elsewhere, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
