"""What a group and a client address may hold of a journal, in the real file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from trio.testing import MockClock

from bridge.coordinators.embedded.founders import FOUNDER
from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.shares import NEWCOMERS_PERCENT, ShareLimits, members_of, weigh
from bridge.coordinators.embedded.weights import group_bytes
from bridge.engine.settings import EngineSettings
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings
from tests.support.embedded_world import (
    World,
    commit_request,
    committed,
    embedded_world,
    join_request,
    leave_request,
    native_join,
)
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroupReply,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, Topic, TopicId, TopicName
from translators.dialects.offsets import OffsetCommitReply

UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
GREEDY = ClientIdentity(client_id="greedy", client_host="/10.0.0.9")
LONG_SESSION_MS = EngineSettings().group_max_session_timeout_ms
"""Of members that live by the real clock while a thread writes to the disk: ten seconds were over where it was busy."""
JOINS, USER_DATA_BYTES, ROOM_BYTES = 60, 900_000, 64 * 2**20
QUARTER = ShareLimits(ROOM_BYTES // 4, ROOM_BYTES // 4, ROOM_BYTES)
CLASSIC = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0, group_begins_classic=True)
TRANSLATED = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
OTHER = GroupId("other")
LONG_NAMES = tuple(GroupId(f"{number:03}-{'x' * 32_000}") for number in range(40))


def fat_join(member_id: str, group_id: str = OTHER, size_bytes: int = USER_DATA_BYTES) -> JoinGroup:
    """A range member with much user data."""
    blob = encode_subscription(Subscription(version=0, topics=(TOPIC,), owned=frozenset(), user_data=b"u" * size_bytes))
    named = replace(join_request(member_id, session_timeout_ms=LONG_SESSION_MS), group_id=GroupId(group_id))
    return replace(named, protocols=(Protocol("range", blob),))


@asynccontextmanager
async def kept_world(
    path: Path, shares: ShareLimits = QUARTER, engine: EngineSettings | None = None
) -> AsyncIterator[World]:
    """One life of a bridge with a small journal."""
    journal = open_journal(FileSettings(path=path, sync="normal", bytes_max=ROOM_BYTES))
    try:
        async with embedded_world(engine, EmbeddedSettings(shares=shares)) as world:
            world.groups.keep(journal)
            yield world
    finally:
        journal.close()


def recounted(world: World) -> tuple[dict[GroupId, int], dict[str, int]]:
    """The sums from the members that are there now."""
    owner = world.groups.owner
    by_group: dict[GroupId, int] = {}
    by_host: dict[str, int] = {}
    for key in members_of(owner.shard, owner.machines):
        weight = weigh(owner.shard, owner.machines, key)
        assert weight is not None
        by_group[key.group_id] = by_group.get(key.group_id, 0) + weight.size_bytes
        by_host[weight.host] = by_host.get(weight.host, 0) + weight.size_bytes
    for group_id in (*owner.shard.groups, *owner.shard.classic_groups):
        by_group[group_id] = by_group.get(group_id, 0) + group_bytes(group_id)
        host = owner.shares.founders.charged.get(group_id)
        if host is not None:
            by_host[host] = by_host.get(host, 0) + group_bytes(group_id)
    return by_group, by_host


def sums(world: World) -> tuple[dict[GroupId, int], dict[str, int]]:
    """The sums as they are kept."""
    shares = world.groups.owner.shares
    shares.settle()
    return dict(shares.by_group), dict(shares.by_host)


async def live_on(world: World, generation: int) -> None:
    """The member that was there before beats and commits; another joins and leaves."""
    assert await world.beat(generation) in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    ref = world.send(commit_request(generation, "a"))
    world.via.answer(committed)
    assert (await world.answer(ref, OffsetCommitReply)).topics[0].partitions[0].error is ErrorCode.NONE
    third = replace(native_join("n"), group_id=GroupId("third"))
    assert (await world.ask(third, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
    assert (await world.ask(replace(third, member_epoch=-1), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE


@pytest.mark.parametrize("many_groups", [False, True], ids=["one group", "many groups"])
async def test_who_fills_the_journal_is_refused_and_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, many_groups: bool
) -> None:
    """60 JoinGroups of 900 kB at 64 MiB, and after a restart again: the others hear nothing of it.

    By the real clock: an imagined one runs on while a thread writes to the disk, and sessions were over.
    """

    async def fill(world: World) -> int:
        refs = [
            world.send(fat_join(f"m{number}", f"other-{number}" if many_groups else OTHER), client=GREEDY)
            for number in range(JOINS)
        ]
        answers = [await world.answer(ref, JoinGroupReply) for ref in refs]
        assert {answer.error for answer in answers} <= {ErrorCode.NONE, UNAVAILABLE}
        return sum(answer.error is UNAVAILABLE for answer in answers)

    path = tmp_path / "j.db"
    async with kept_world(path) as world:
        generation = await world.form(session_timeout_ms=LONG_SESSION_MS)
        refused = await fill(world)
        assert 40 < refused < JOINS
        assert world.groups.refusals.count == refused
        assert sums(world)[1][GREEDY.client_host] <= QUARTER.client_bytes
        await live_on(world, generation)
        assert world.groups.ledger.failures == 0
    async with kept_world(path) as world:
        assert await fill(world) > 0
        await live_on(world, generation)
        assert sums(world)[1][GREEDY.client_host] <= QUARTER.client_bytes
        assert sums(world) == recounted(world)
        assert world.groups.ledger.failures == 0
    told = [record.getMessage() for record in caplog.records if "EB-JOURNAL-014" in record.getMessage()]
    assert told
    assert ("journal.share.client" if many_groups else "journal.share") in told[0]


async def test_four_who_fill_the_journal_leave_room_to_a_fifth(tmp_path: Path) -> None:
    """Four times a quarter is everything: they get less, and a fifth gets in; all the same after a restart.

    By the real clock: an imagined one would run on while a thread writes to the disk, and sessions would be over.
    """
    path, generation = tmp_path / "j.db", 0
    for life in range(2):
        async with kept_world(path) as world:
            generation = generation or await world.form(session_timeout_ms=LONG_SESSION_MS)
            refs = [
                world.send(
                    fat_join(f"m{life}-{number}", f"other-{number % 8}", 5 * USER_DATA_BYTES),
                    client=replace(GREEDY, client_host=f"/10.0.1.{number % 4}"),
                )
                for number in range(4 * 5)
            ]
            answers = {(await world.answer(ref, JoinGroupReply)).error for ref in refs}
            assert UNAVAILABLE in answers
            assert sums(world) == recounted(world)
            assert sum(sums(world)[1].values()) <= ROOM_BYTES * NEWCOMERS_PERCENT // 100
            fifth = world.send(fat_join(f"f{life}", f"fifth-{life}"), client=replace(GREEDY, client_host="/10.0.1.5"))
            assert (await world.answer(fifth, JoinGroupReply)).error is ErrorCode.NONE
            await live_on(world, generation)
            assert world.groups.ledger.failures == 0


async def test_group_that_runs_its_own_leader_has_a_share_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What clients offer and what their leader assigns are both kept."""
    async with kept_world(tmp_path / "j.db", ShareLimits(40_000, 100_000, ROOM_BYTES), CLASSIC) as world:
        first = await world.ask(fat_join("", size_bytes=10_000), JoinGroupReply)
        joined = await world.ask(fat_join(first.member_id, size_bytes=10_000), JoinGroupReply)
        assert joined.error is ErrorCode.NONE

        def sync(size_bytes: int) -> SyncGroup:
            assigned = (MemberAssignment(joined.member_id, b"a" * size_bytes),)
            return SyncGroup(
                group_id=OTHER,
                generation=joined.generation,
                member_id=joined.member_id,
                instance_id=None,
                protocol_type="consumer",
                protocol_name="range",
                assignments=assigned,
            )

        assert (await world.ask(sync(30_000), SyncGroupReply)).error is UNAVAILABLE
        assert (await world.ask(sync(10_000), SyncGroupReply)).error is ErrorCode.NONE
        assert sums(world) == recounted(world)
        assert (await world.ask(fat_join("", size_bytes=10_000), JoinGroupReply)).error is UNAVAILABLE
        beat = Heartbeat(OTHER, joined.generation, joined.member_id, None)
        assert (await world.ask(beat, HeartbeatReply)).error is ErrorCode.NONE


async def test_member_may_come_again_but_not_grow(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Who is in goes on with what it has; what leaves makes room."""
    async with kept_world(tmp_path / "j.db", ShareLimits(20_000, 1_000_000, ROOM_BYTES)) as world:
        one = fat_join("a", GROUP, 10_000)
        assert (await world.ask(one, JoinGroupReply)).error is ErrorCode.NONE
        assert (await world.ask(one, JoinGroupReply)).error is ErrorCode.NONE
        assert (await world.ask(fat_join("a", GROUP, 20_000), JoinGroupReply)).error is UNAVAILABLE
        assert (await world.ask(fat_join("b", GROUP, 10_000), JoinGroupReply)).error is UNAVAILABLE
        assert (await world.ask(leave_request("a"), LeaveGroupReply)).error is ErrorCode.NONE
        assert (await world.ask(fat_join("b", GROUP, 10_000), JoinGroupReply)).error is ErrorCode.NONE
        assert sums(world) == recounted(world)


async def test_names_of_a_native_member_count_and_its_plain_heartbeats_do_not(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A heartbeat that says nothing adds nothing, however full the share is."""
    names = tuple(TopicName(f"topic-{number}-{'x' * 200}") for number in range(60))
    async with kept_world(tmp_path / "j.db", ShareLimits(20_000, 1_000_000, ROOM_BYTES)) as world:
        joined = await world.ask(replace(native_join("n"), subscribed_topic_names=names), ConsumerGroupHeartbeatReply)
        assert joined.error is ErrorCode.NONE
        more = (*names, *(TopicName(f"more-{name}") for name in names))
        grown = replace(native_join("n"), member_epoch=joined.member_epoch, subscribed_topic_names=more)
        assert (await world.ask(grown, ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        calm = replace(grown, subscribed_topic_names=None, owned=None, rebalance_timeout_ms=-1)
        assert (await world.ask(calm, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        fewer = replace(grown, subscribed_topic_names=names[:1])
        assert (await world.ask(fewer, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        assert (await world.ask(grown, ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        assert sums(world) == recounted(world)


@pytest.mark.parametrize("is_native", [False, True])
async def test_what_members_are_dealt_counts_too(tmp_path: Path, autojump_clock: MockClock, *, is_native: bool) -> None:
    """Many groups of one member each said little, and each was written down with all partitions of the cluster."""
    limits = ShareLimits(ROOM_BYTES, 1_000_000, ROOM_BYTES)
    async with kept_world(tmp_path / "j.db", limits) as world:
        world.broker.topics = [Topic(TopicId(b"t" * 16), TOPIC, 2_000)]
        answers: list[ErrorCode] = []
        for number in range(20):
            group_id = GroupId(f"group-{number}")
            if is_native:
                joined = await world.ask(replace(native_join("n"), group_id=group_id), ConsumerGroupHeartbeatReply)
                answers.append(joined.error)
            else:
                answers.append((await world.ask(fat_join("a", group_id, 10), JoinGroupReply)).error)
        assert sums(world) == recounted(world)
        refused = answers.count(UNAVAILABLE)
        assert 0 < refused < 20
        assert set(answers[-refused:]) == {UNAVAILABLE}
        assert sums(world)[1][CLIENT.client_host] < 2 * limits.client_bytes
        if not is_native:
            again = await world.ask(fat_join("a", "group-0", 10), JoinGroupReply)
            assert again.error is ErrorCode.NONE, "who is in says no more than before"


async def test_static_member_takes_its_own_place(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A newcomer on a seat replaces who sits there: that adds nothing."""
    async with kept_world(tmp_path / "j.db", ShareLimits(20_000, 1_000_000, ROOM_BYTES)) as world:
        seated = replace(fat_join("", GROUP, 10_000), instance_id=InstanceId("seat"))
        for _ in range(3):
            assert (await world.ask(seated, JoinGroupReply)).error is ErrorCode.NONE
        assert sums(world) == recounted(world)
        assert list(sums(world)[1]) == [CLIENT.client_host]


async def leave_empty(world: World, group_id: GroupId) -> ErrorCode:
    """Begin a group that nobody is in then; what its JoinGroup was answered."""
    first = await world.answer(world.send(fat_join("", group_id, 10), client=GREEDY), JoinGroupReply)
    if not world.groups.owner.shard.settings.group_begins_classic and first.error is ErrorCode.MEMBER_ID_REQUIRED:
        again = await world.answer(world.send(fat_join(first.member_id, group_id, 10), client=GREEDY), JoinGroupReply)
        gone = replace(leave_request(first.member_id), group_id=group_id)
        assert (await world.answer(world.send(gone, client=GREEDY), LeaveGroupReply)).error is ErrorCode.NONE
        return again.error
    return first.error


@pytest.mark.parametrize("engine", [CLASSIC, TRANSLATED], ids=["told its id", "come and gone"])
async def test_groups_that_nobody_is_in_have_a_share_too(
    tmp_path: Path, autojump_clock: MockClock, engine: EngineSettings
) -> None:
    """Each is an entry until its offsets have expired: names of 32 kB filled a journal, and all heartbeats got 15."""
    limits = ShareLimits(ROOM_BYTES, 2_000_000, ROOM_BYTES)
    async with kept_world(tmp_path / "j.db", limits, engine) as world:
        answers = [await leave_empty(world, group_id) for group_id in LONG_NAMES]
        assert answers[0] in {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}
        assert answers[-1] is UNAVAILABLE
        there = sum(
            group_id in {*world.groups.owner.shard.groups, *world.groups.owner.shard.classic_groups}
            for group_id in LONG_NAMES
        )
        assert there == sum(answer is not UNAVAILABLE for answer in answers)
        assert sums(world) == recounted(world)
        assert there * 4 * 32_000 <= sums(world)[1][GREEDY.client_host] <= limits.client_bytes
        # Somebody else is let in, and what is deleted makes room.
        assert (await world.ask(fat_join("", OTHER, 10), JoinGroupReply)).error is not UNAVAILABLE
        for group_id in LONG_NAMES[:2]:
            assert world.groups.owner.delete_group(group_id, 0) is ErrorCode.NONE
        assert await leave_empty(world, LONG_NAMES[-1]) is answers[0]
        assert sums(world) == recounted(world)


async def test_empty_groups_of_another_life_are_at_the_cost_of_who_began_them(tmp_path: Path) -> None:
    """With each restart an address could begin as many again as its share is for.

    By the real clock: an imagined one runs on while a thread writes to the disk, and the groups were forgotten.
    """
    limits = ShareLimits(ROOM_BYTES, 2_000_000, ROOM_BYTES)
    answers: list[ErrorCode] = []
    before: tuple[dict[GroupId, int], dict[str, int]] = ({}, {})
    for life in range(3):
        async with kept_world(tmp_path / "j.db", limits, CLASSIC) as world:
            assert sums(world) == recounted(world) == before
            answers += [await leave_empty(world, group_id) for group_id in LONG_NAMES[10 * life :][:20]]
            world.groups.note_founders()
            assert await world.groups.facts_written()
            before = sums(world)
            facts = world.groups.facts(FOUNDER)
            assert sum(map(len, facts.values())) == 12 * len(before[0])
            assert set(facts) == {FOUNDER + GREEDY.client_host}
    assert before[1][GREEDY.client_host] <= limits.client_bytes
    assert answers.count(UNAVAILABLE) > 30
    async with kept_world(tmp_path / "j.db", limits, CLASSIC) as world:
        for group_id in before[0]:
            assert world.groups.owner.delete_group(group_id, 0) is ErrorCode.NONE
        world.groups.note_founders()
        assert world.groups.facts(FOUNDER) == {}


async def test_empty_groups_of_whom_nothing_is_kept_count_for_all_together(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A bridge that is killed within a minute, or an older release, has not told whose they were."""
    limits = ShareLimits(ROOM_BYTES, 2_000_000, ROOM_BYTES)
    async with kept_world(tmp_path / "j.db", limits, CLASSIC) as world:
        assert await leave_empty(world, LONG_NAMES[0]) is ErrorCode.MEMBER_ID_REQUIRED
        assert list(sums(world)[1]) == [GREEDY.client_host]
        before = world.groups.owner.shares.total_bytes
    async with kept_world(tmp_path / "j.db", limits, CLASSIC) as world:
        assert sums(world) == ({LONG_NAMES[0]: before}, {})
        assert world.groups.owner.shares.total_bytes == before
