"""The embedded coordinator under a virtual clock: from the first join to the last leave, in time and in order."""

import logging
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import (
    FakeVia,
    commit_request,
    committed,
    embedded_world,
    foreign_member,
    join_request,
    leave_request,
    moved,
)
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply, ListGroups
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    Protocol,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId, Topic, TopicId, TopicName
from translators.dialects.offsets import GroupOffsets, OffsetCommit, OffsetCommitReply, OffsetFetch, OffsetFetchReply

NONE = ErrorCode.NONE
CLOSED = Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, "the test closed it")


def codes(reply: OffsetCommitReply) -> list[ErrorCode]:
    """Every partition's code."""
    return [item.error for topic in reply.topics for item in topic.partitions]


async def test_life_of_a_member(autojump_clock: MockClock) -> None:
    """Join, sync, heartbeat, commit, leave: each is answered."""
    async with embedded_world() as world:
        generation = await world.form()
        assert generation == 1
        assert await world.beat(generation) is NONE
        ref = world.send(commit_request(generation, "a"))
        sent = world.via.answer(committed)
        assert isinstance(sent, OffsetCommit)
        assert (sent.generation, sent.member_id) == (-1, "")
        assert codes(await world.answer(ref, OffsetCommitReply)) == [NONE]
        left = await world.ask(leave_request("a"), LeaveGroupReply)
        assert [member.error for member in left.members] == [NONE]
        assert await world.beat(generation) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_first_joins_wait_the_initial_delay(autojump_clock: MockClock) -> None:
    """First joins of an empty group wait for others (decision 13), without any traffic that could wake the owner."""
    async with embedded_world(EngineSettings(group_initial_rebalance_delay_ms=3_000)) as world:
        refs = [world.send(join_request(name)) for name in "abc"]
        await trio.sleep(2.9)
        assert not world.replies
        replies = [await world.answer(ref, JoinGroupReply) for ref in refs]
        assert {reply.error for reply in replies} == {NONE}
        assert trio.current_time() >= 3.0


async def test_silent_member_is_gone_without_traffic(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The session deadline fires by itself, and the log says that it was that."""
    caplog.set_level(logging.INFO, "epochbridge.coordinators")
    async with embedded_world() as world:
        await world.form()
        await trio.sleep(9.9)
        assert world.groups.owner.shard.groups[GROUP].members
        await trio.sleep(0.2)
        assert not world.groups.owner.shard.groups[GROUP].members
    assert [line for line in caplog.messages if "lost member" in line and line.endswith(": session-expired")]


async def test_deadline_set_by_a_heartbeat_is_kept(autojump_clock: MockClock) -> None:
    """The owner's task wakes when a heartbeat that was answered beside it makes something due earlier."""
    async with embedded_world() as world:
        generation = await world.form()
        await trio.sleep(5)
        assert await world.beat(generation) is NONE
        world.send(join_request("b"))
        await trio.sleep(0.1)
        assert await world.beat(generation) is ErrorCode.REBALANCE_IN_PROGRESS
        await trio.sleep(5.1)
        assert len(world.replies) == 5, "the parked join is answered when its hold ends"


async def test_ten_thousand_heartbeats_in_a_second(autojump_clock: MockClock) -> None:
    """Every one is answered at once, none waits for a turn."""
    async with embedded_world() as world:
        generation = await world.form()
        for _ in range(100):
            for _ in range(100):
                ref = world.send(Heartbeat(GROUP, generation, MemberId("a"), None))
                assert world.replies[ref] == HeartbeatReply(NONE)
            await trio.sleep(0.01)
        assert world.groups.supervised.counts["look-up"] == 0


async def test_leave_does_not_overtake_a_join_that_waits_for_the_broker(autojump_clock: MockClock) -> None:
    """Order per member: the join is done first, then the leave, so nobody stays behind."""
    async with embedded_world() as world:
        world.broker.delay_s = 1.0
        join, leave = world.send(join_request("a")), world.send(leave_request("a"))
        other = world.send(leave_request("b"))
        assert (await world.answer(other, LeaveGroupReply)).members[0].error is ErrorCode.UNKNOWN_MEMBER_ID
        assert trio.current_time() < 1
        assert len(world.groups.joins.waiting) == 2
        assert (await world.answer(leave, LeaveGroupReply)).members[0].error is NONE
        await world.answer(join, JoinGroupReply)
        assert not world.groups.owner.shard.groups[GROUP].members
        assert len(world.groups.joins.waiting) == 0


async def test_many_joins_ask_the_broker_once(autojump_clock: MockClock) -> None:
    """One look at the group's members and one at the topics, however many wait."""
    async with embedded_world() as world:
        refs = [world.send(join_request(f"m{number}")) for number in range(50)]
        for ref in refs:
            assert (await world.answer(ref, JoinGroupReply)).error is NONE
        assert sorted(world.broker.asked) == [f"describe {GROUP}", "topics"]


@pytest.mark.parametrize("delay_s", [0.01, 60.0])
async def test_broker_away_means_try_again(delay_s: float, autojump_clock: MockClock) -> None:
    """No assignment before the broker's word; refused within the limit, and served when it is back (decision 5)."""
    async with embedded_world() as world:
        world.broker.is_down, world.broker.delay_s = True, delay_s
        assert (await world.join()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert trio.current_time() < 6
        world.broker.is_down, world.broker.delay_s = False, 0.01
        assert (await world.join()).error is NONE


async def test_bug_in_a_look_is_no_end_of_the_bridge(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Counted, logged, and the client comes again."""
    async with embedded_world() as world:
        world.broker.raises = KeyError("a bug")
        with caplog.at_level(logging.CRITICAL):
            assert (await world.join()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        world.broker.raises = None
        assert world.groups.supervised.counts["look-up"] == 1
        assert (await world.join()).error is NONE


async def test_foreign_members_keep_the_group_closed(autojump_clock: MockClock) -> None:
    """Refused with the reason shown, and served once they are gone (decision 5)."""
    async with embedded_world() as world:
        world.broker.described = DescribedGroup(error=NONE, group_id=GROUP, members=(foreign_member(),))
        assert (await world.join()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert "stranger" in world.groups.join_checks.bypassed[GROUP]
        world.broker.described = DescribedGroup(error=NONE, group_id=GROUP, group_state="Empty")
        assert (await world.join()).error is NONE
        assert not world.groups.join_checks.bypassed


async def test_empty_group_is_looked_at_again(autojump_clock: MockClock) -> None:
    """Somebody may have come to the broker meanwhile."""
    async with embedded_world() as world:
        await world.form()
        await world.ask(leave_request("a"), LeaveGroupReply)
        world.broker.described = DescribedGroup(error=NONE, group_id=GROUP, members=(foreign_member(),))
        assert (await world.join("b")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_topic_created_a_moment_ago_is_found(autojump_clock: MockClock) -> None:
    """A join that names an unseen topic makes the bridge look, not wait for the next round."""
    async with embedded_world() as world:
        await world.form()
        await trio.sleep(1)
        world.broker.topics.append(Topic(TopicId(b"u" * 16), TopicName("u"), 1))
        assert (await world.join("b", TopicName("u"))).error is NONE
        assert world.groups.owner.catalog.knows([TopicName("u")])


async def test_new_partition_calls_the_gainer_within_the_interval(autojump_clock: MockClock) -> None:
    """Issue: default 5 s; looks that find nothing new are not a turn."""
    async with embedded_world() as world:
        generation = await world.form()
        epoch = world.groups.owner.shard.groups[GROUP].epoch
        for _ in range(4):
            await trio.sleep(3)
            assert await world.beat(generation) is NONE
        assert world.groups.owner.shard.groups[GROUP].epoch == epoch
        moved(world.broker, 7)
        await trio.sleep(5.1)
        assert await world.beat(generation) is ErrorCode.REBALANCE_IN_PROGRESS


async def test_closed_guard_refuses_all_but_lists(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    """Failing closed: joins, heartbeats, commits, fetches and views alike, with a line in the log; lists pass."""
    async with embedded_world() as world:
        world.groups.guard(lambda: CLOSED)
        denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert (await world.join()).error is denied
        assert await world.beat(1) is denied
        assert codes(await world.ask(commit_request(), OffsetCommitReply)) == [denied]
        fetch = OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),))
        assert (await world.ask(fetch, OffsetFetchReply)).groups[0].error is denied
        assert (await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)).groups[0].error is denied
        assert not world.via.open
        world.send(ListGroups())
        assert len(world.via.open) == 1
        assert world.groups.refusals.count == 5
        assert caplog.text.count("EB-GROUP-001") == 1, "one line a minute for the same reason"


async def test_nothing_is_served_before_the_guard_is_set(autojump_clock: MockClock) -> None:
    """While it is not known whether the cluster authenticates its clients, they are to come again."""
    async with embedded_world(is_open=False) as world:
        assert (await world.join()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert not world.broker.asked


async def test_lost_connection_takes_its_anonymous_join_along(autojump_clock: MockClock) -> None:
    """Who was told no id can't come back to its seat (decision 11); also while the join waits for the broker's word."""
    async with embedded_world() as world:
        world.broker.delay_s = 1.0
        world.send(join_request("a"), FakeVia(connection=7))
        world.groups.disconnected(7)
        await trio.sleep(2)
        assert GROUP not in world.groups.owner.shard.groups
        assert not world.replies
        assert len(world.groups.joins.waiting) == 0


async def test_simple_commit_without_a_group_is_passed_on(autojump_clock: MockClock) -> None:
    """An admin's tool resets offsets of a group that has no members, or that nobody knows."""
    async with embedded_world() as world:
        ref = world.send(commit_request())
        world.via.answer(committed)
        assert codes(await world.answer(ref, OffsetCommitReply)) == [NONE]
        await world.form()
        assert codes(await world.ask(commit_request(), OffsetCommitReply)) == [ErrorCode.UNKNOWN_MEMBER_ID]
        assert TOPIC in world.groups.owner.shard.topic_ids


async def test_untranslatable_client_of_a_consumer_group_is_refused_and_said_why(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The group has members already, so it can't begin as what the client needs (K4.4)."""
    async with embedded_world() as world:
        await world.join()
        custom = replace(join_request(""), protocols=(Protocol("custom", b""),))
        assert (await world.ask(custom, JoinGroupReply)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert "none has a server-side equivalent" in caplog.text


async def test_end_of_serving_tells_who_waits_in_a_classic_group_to_come_back(autojump_clock: MockClock) -> None:
    """A drain need not wait for a rebalance that others may keep waiting for minutes (K1.75)."""
    async with embedded_world(
        EngineSettings(group_initial_rebalance_delay_ms=60_000, group_begins_classic=True)
    ) as world:
        ref = world.send(replace(join_request(""), needs_member_id=False))
        await trio.sleep(1)
        assert not world.replies
        world.groups.unload()
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.NOT_COORDINATOR


async def test_end_of_serving_goes_on_where_what_empty_groups_cost_can_not_be_kept(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug there ended the process before its answers had left."""

    def fail() -> None:
        raise ValueError("a bug")

    async with embedded_world(
        EngineSettings(group_initial_rebalance_delay_ms=60_000, group_begins_classic=True)
    ) as world:
        ref = world.send(replace(join_request(""), needs_member_id=False))
        await trio.sleep(1)
        monkeypatch.setattr(world.groups, "note_founders", fail)
        world.groups.unload()
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.NOT_COORDINATOR
        assert world.groups.supervised.counts["serving"] == 1
