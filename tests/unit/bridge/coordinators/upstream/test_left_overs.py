"""Clients that were members before the bridge started, and of whom no journal tells."""

from dataclasses import replace

import pytest
from trio.testing import MockClock

from bridge.coordinators.upstream import left_overs
from bridge.coordinators.upstream.left_overs import LeftOvers
from tests.support.embedded_world import join_request, leave_request
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged, upstream_world
from translators.dialects.classic import JoinGroup, JoinGroupReply, LeaveGroupReply, Protocol, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import COOPERATIVE, Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, TopicPartition

RESUME_MS = 45_000
ONE, TWO = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


def cooperative_join(*owned: TopicPartition) -> JoinGroup:
    """A cooperative member joins again with what it has, in its generation 7."""
    said = Subscription(version=2, topics=(TOPIC,), owned=frozenset(owned), generation=7)
    return replace(join_request("a"), protocols=(Protocol(COOPERATIVE, encode_subscription(said)),))


def test_left_over_is_called_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the broker's session nobody's seat is there any more; who left since the start has none either."""
    monkeypatch.setattr(left_overs, "REMEMBERED_MAX", 2)
    kept = LeftOvers(until_ms=100)
    a, b, c, d = (MemberRef(GROUP, MemberId(name)) for name in "abcd")
    kept.note_gone(b)
    assert [kept.call(a, 1), kept.call(a, 2), kept.call(b, 3), kept.call(c, 100)] == [True, False, False, False]
    for one in (c, d, a):
        kept.note_gone(one)
    assert [kept.may_have(one, 4) for one in (a, b, c, d)] == [False, True, True, False]


async def test_heartbeat_of_a_left_over_is_answered_as_a_call_once(autojump_clock: MockClock) -> None:
    """UNKNOWN_MEMBER_ID would make its client drop all that it has."""
    async with upstream_world(resume_ms=RESUME_MS) as world:
        assert await world.beat("a", 7) is ErrorCode.REBALANCE_IN_PROGRESS
        assert await world.beat("a", 7) is ErrorCode.UNKNOWN_MEMBER_ID
        sync = SyncGroup(group_id=GROUP, generation=7, member_id=MemberId("b"), instance_id=None)
        assert (await world.answer(world.send(sync), SyncGroupReply)).error is ErrorCode.REBALANCE_IN_PROGRESS
        assert world.via.open == []


async def test_heartbeat_of_a_left_over_behind_the_joins_of_others_is_a_call_too(autojump_clock: MockClock) -> None:
    """Behind a restart everybody comes at once: it was told that it is no member, and dropped all that it had."""
    async with upstream_world(resume_ms=RESUME_MS) as world:
        await world.form("b", granted(1, 0))
        world.send(join_request("c"))
        assert await world.beat("a", 7) is ErrorCode.REBALANCE_IN_PROGRESS


async def test_left_over_goes_on_with_the_seat_that_the_broker_has(autojump_clock: MockClock) -> None:
    """Epoch 0 under its own id gives it what it had; its generation stays, so that it revokes nothing."""
    async with upstream_world(resume_ms=RESUME_MS) as world:
        joining = world.send(cooperative_join(ONE, TWO))
        first = await world.say(granted(12, 0, 1))
        assert (first.member_id, first.member_epoch, first.owned) == ("a", 0, frozenset())
        told = await world.say(granted(12, 0, 1))
        assert (told.member_epoch, {one.partition for one in told.owned or ()}) == (12, {0, 1})
        joined = await world.answer(joining, JoinGroupReply)
        assert (joined.error, joined.generation) == (ErrorCode.NONE, 7)
        assert await world.sync("a", 7, assignor=COOPERATIVE) == {ONE, TWO}
        assert await world.beat("a", 7) is ErrorCode.NONE


async def test_left_over_whose_partitions_went_to_others_drops_everything(autojump_clock: MockClock) -> None:
    """It may process what others own: it is told so before it gets anything, and its seat is given up."""
    async with upstream_world(resume_ms=RESUME_MS) as world:
        joining = world.send(cooperative_join(ONE, TWO))
        await world.say(granted(12, 0))
        assert (await world.say(unchanged(-1))).member_epoch == -1
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.UNKNOWN_MEMBER_ID
        joining = world.send(replace(cooperative_join(ONE), member_id=MemberId("c")))
        await world.say(refused(ErrorCode.FENCED_MEMBER_EPOCH))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.UNKNOWN_MEMBER_ID
        assert world.via.open == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (None, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
async def test_left_over_whose_broker_has_no_word_for_it_comes_again(
    said: ErrorCode | None, told: ErrorCode, autojump_clock: MockClock
) -> None:
    """It was taken for somebody whose partitions went to others, and dropped everything: brokers are often restarted
    with the bridge.
    """
    async with upstream_world(resume_ms=RESUME_MS) as world:
        joining = world.send(cooperative_join(ONE))
        await world.asked()
        world.via.answer(lambda _: None if said is None else refused(said))
        assert (await world.answer(joining, JoinGroupReply)).error is told
        joining = world.send(cooperative_join(ONE))
        assert (await world.say(granted(12, 0))).member_epoch == 0
        await world.say(granted(12, 0))
        assert (await world.answer(joining, JoinGroupReply)).generation == 7


async def test_member_that_left_since_the_start_is_none(autojump_clock: MockClock) -> None:
    """Its partitions are somebody else's."""
    async with upstream_world(resume_ms=RESUME_MS) as world:
        generation = await world.form("a", granted(1, 0))
        await world.say(unchanged(1))
        left = world.send(leave_request("a"))
        await world.say(unchanged(-1))
        assert (await world.answer(left, LeaveGroupReply)).error is ErrorCode.NONE
        assert await world.beat("a", generation) is ErrorCode.UNKNOWN_MEMBER_ID
        joining = world.send(cooperative_join(ONE))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.UNKNOWN_MEMBER_ID
