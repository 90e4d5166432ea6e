"""Members that gain are called once, and not later than they must: what the broker means them to have says when."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.upstream.group_news import PAUSE_MS, Target, Targets, Untold
from bridge.session.contracts import NoAccess
from bridge.wire.codec.registry import Reply
from tests.support.embedded_world import LOOK_PAUSE_S, FakeVia, join_request
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import (
    INTERVAL_MS,
    UpstreamWorld,
    described,
    granted,
    refused,
    unchanged,
    upstream_world,
)
from translators.dialects.classic import JoinGroupReply
from translators.dialects.consumer import ConsumerGroupDescribe
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, RequestRef, TopicPartition

A, B = MemberRef(GROUP, MemberId("a")), MemberRef(GROUP, MemberId("b"))
EPOCH = 4


def parts(*partitions: int) -> frozenset[TopicPartition]:
    """By name."""
    return frozenset(TopicPartition(TOPIC, one) for one in partitions)


def test_one_description_serves_all_who_ask_meanwhile() -> None:
    """And the next one is asked for again; whoever is not in it is told nothing."""
    targets, via, heard = Targets(), FakeVia(), list[Target | Untold]()
    targets.find(A, EPOCH, via, heard.append)
    targets.find(B, EPOCH, via, heard.append)
    targets.find(MemberRef(GROUP, MemberId("c")), EPOCH, via, heard.append)
    assert [request for request, _ in via.open] == [ConsumerGroupDescribe((GROUP,))]
    via.answer(lambda _: described({"a": (0, 1), "b": (2,)}))
    assert heard == [parts(0, 1), parts(2), Untold.UNKNOWN]
    targets.find(A, EPOCH, via, heard.append)
    assert len(via.open) == 1


def test_who_asks_again_is_not_kept_waiting_by_anothers_connection() -> None:
    """A client that reads no answers kept those of its whole group from being told what they gained."""
    targets, stuck, own, heard = Targets(), FakeVia(), FakeVia(connection=2), list[Target | Untold]()
    targets.find(A, EPOCH, stuck, heard.append)
    targets.find(B, EPOCH, own, heard.append)
    assert not own.open
    targets.find(B, EPOCH, own, heard.append)
    own.answer(lambda _: described({"a": (0,), "b": (1,)}))
    assert heard == [parts(0), parts(1), parts(1)]
    stuck.answer(lambda _: described({"a": (2,)}))
    assert len(heard) == 3, "each hears it once"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (None, Untold.UNKNOWN),
        (described({"a": (0, 1)}, assignment_epoch=3), Untold.TO_COME),
        (described({}, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), Untold.UNKNOWN),
    ],
    ids=["lost", "to be computed anew", "hidden"],
)
def test_target_that_is_not_told_is_unknown(reply: Reply | None, why: Untold) -> None:
    """Kafka 4.3 computes one a second, and describes no group with a topic that its client may not see (29)."""
    targets, via, heard = Targets(), FakeVia(), list[Target | Untold]()
    targets.find(A, EPOCH, via, heard.append)
    via.answer(lambda _: reply)
    targets.find(A, EPOCH, NoAccess(), heard.append)
    assert heard == [why, Untold.UNKNOWN]


def test_what_is_known_of_an_epoch_is_not_asked_again() -> None:
    """Kafka deals out once an epoch: of 200 members each had the whole group described for itself."""
    targets, via, heard = Targets(lambda _: True), FakeVia(), list[Target | Untold]()
    targets.find(A, EPOCH, via, heard.append)
    via.answer(lambda _: described({"a": (0, 1), "b": (2,)}))
    targets.find(B, EPOCH, via, heard.append)
    targets.find(MemberRef(GROUP, MemberId("c")), EPOCH, via, heard.append)
    assert (heard, via.open) == ([parts(0, 1), parts(2), Untold.UNKNOWN], [])
    targets.find(B, EPOCH + 1, via, heard.append)
    assert (len(heard), len(via.open)) == (3, 1)


def test_owners_to_be_are_known_until_the_group_is_dropped() -> None:
    """Of what nobody is to have, and of groups that nobody described, there is none."""
    targets, via = Targets(lambda _: True), FakeVia()
    assert targets.owners(GROUP, parts(0)) == set()
    targets.find(A, EPOCH, via, lambda _: None)
    via.answer(lambda _: described({"a": (0, 1), "b": (2,)}))
    assert targets.owners(GROUP, parts(0, 1, 2, 3)) == {"a", "b"}
    assert targets.owners(GROUP, parts(3)) == set()
    targets.drop(GROUP)
    assert targets.owners(GROUP, parts(0)) == set()


def test_of_a_group_whose_last_member_is_gone_a_late_description_leaves_nothing() -> None:
    """It would stay for as long as the bridge runs."""
    targets, via, heard = Targets(lambda _: False), FakeVia(), list[Target | Untold]()
    targets.find(A, EPOCH, via, heard.append)
    via.answer(lambda _: described({"a": (0, 1)}))
    assert (heard, targets.owners(GROUP, parts(0))) == ([parts(0, 1)], set())


# ---------------------------------------------------------------------- with a member


async def called_after(world: UpstreamWorld, generation: int) -> float | None:
    """How long it takes until the client is called; None: it is not, for an interval."""
    began = trio.current_time()
    while (waited := trio.current_time() - began) < INTERVAL_MS / 1_000 - 1:
        if await world.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS:
            return waited
        await trio.sleep(0.1)
    return None


async def gain(world: UpstreamWorld, reply: Reply | None, *partitions: int) -> None:
    """The broker grants more at the end of an interval, and is asked whether that is all."""
    await world.say(granted(4, *partitions))
    assert isinstance(world.via.answer(lambda _: reply), ConsumerGroupDescribe)
    await trio.sleep(LOOK_PAUSE_S)


async def test_who_has_all_that_it_is_to_have_is_called_at_once(autojump_clock: MockClock) -> None:
    """It was called an interval later, in which what it had gained was nobody's."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(3, 0))
        await world.say(unchanged(3))
        await gain(world, described({"a": (0, 1)}), 0, 1)
        waited = await called_after(world, generation)
        assert waited is not None
        assert waited < 1


async def test_who_is_to_have_more_is_called_when_it_has(autojump_clock: MockClock) -> None:
    """Once, also where others let go of it one after the other."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(3, 0))
        await world.say(unchanged(3))
        await gain(world, described({"a": (0, 1, 2)}), 0, 1)
        assert await called_after(world, generation) is None
        await world.say(granted(4, 0, 1, 2))
        assert await called_after(world, generation) is not None


async def test_who_is_to_have_what_another_let_go_of_is_asked_for_at_once(autojump_clock: MockClock) -> None:
    """And not with the group, a second after its last call: an eager client that was called holds nothing meanwhile."""
    async with upstream_world() as world:
        other = FakeVia(connection=2)
        generation = await world.form("a", granted(3, 0, 1))
        await world.form("b", granted(3, 2), other)
        # All are called for the newcomer, and a is to give partition 1 up.
        await world.say(granted(3, 0))
        assert await world.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS
        called_at = trio.current_time()
        joining = world.send(join_request("a"))
        await world.say(granted(4, 0))
        await trio.sleep(LOOK_PAUSE_S)
        assert isinstance(world.via.answer(lambda _: described({"a": (0,), "b": (1, 2)})), ConsumerGroupDescribe)
        assert (await world.asked(other)).member_id == "b"
        assert trio.current_time() - called_at < PAUSE_MS / 2_000
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


@pytest.mark.parametrize("reply", [None, refused(ErrorCode.NONE)], ids=["lost", "no description"])
async def test_where_nobody_tells_it_waits_for_an_interval(reply: Reply | None, autojump_clock: MockClock) -> None:
    """As before there was anybody to ask (decision 17)."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(3, 0))
        await world.say(unchanged(3))
        await gain(world, reply, 0, 1)
        assert await called_after(world, generation) is None
        await trio.sleep(1.5)
        assert await world.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS


# ---------------------------------------------------------------------- with a newcomer


async def joined_after(world: UpstreamWorld, joining: RequestRef, most_s: float) -> float | None:
    """How long its JoinGroup waits from here on; None: longer than that."""
    began = trio.current_time()
    while (waited := trio.current_time() - began) < most_s:
        if joining in world.replies:
            return waited
        await trio.sleep(LOOK_PAUSE_S)
    return None


def call(world: UpstreamWorld) -> None:
    """Have the members of the group asked for, as for news of another one."""
    world.groups._coordinator._news.await_deal(A, 0)
    world.groups._coordinator._wake()


async def come(world: UpstreamWorld, reply: Reply) -> RequestRef:
    """An eager client joins, and nothing is free for it."""
    joining = world.send(join_request("a"))
    await world.say(granted(4))
    assert isinstance(world.via.answer(lambda _: reply), ConsumerGroupDescribe)
    await trio.sleep(LOOK_PAUSE_S)
    return joining


async def test_newcomer_for_which_nothing_is_free_waits_for_others(autojump_clock: MockClock) -> None:
    """Its first assignment was empty, and a rebalance later came the first that was not: clients' own suites failed."""
    async with upstream_world() as world:
        joining = await come(world, described({"a": (0,)}))
        assert await joined_after(world, joining, 2.0) is None
        # It is asked for in between, and told nothing new.
        call(world)
        await world.say(unchanged(4))
        assert await joined_after(world, joining, 1.0) is None
        call(world)
        await world.say(granted(4, 0))
        assert isinstance(world.via.answer(lambda _: described({"a": (0,)})), ConsumerGroupDescribe)
        assert await joined_after(world, joining, 0.5) is not None
        assert await world.sync("a", (await world.answer(joining, JoinGroupReply)).generation) == parts(0)


async def test_newcomer_that_is_to_have_nothing_is_told_so_at_once(autojump_clock: MockClock) -> None:
    """More members than partitions."""
    async with upstream_world() as world:
        joining = await come(world, described({"a": ()}))
        assert await joined_after(world, joining, 0.5) is not None


async def test_newcomer_whose_share_is_not_dealt_yet_waits_for_that(autojump_clock: MockClock) -> None:
    """Kafka 4.3 deals out once a second: who came behind another within it had nothing at first."""
    async with upstream_world() as world:
        joining = await come(world, described({}, assignment_epoch=3))
        assert await joined_after(world, joining, PAUSE_MS / 2_000) is None
        await world.say(granted(4, 0))
        assert isinstance(world.via.answer(lambda _: described({"a": (0,)})), ConsumerGroupDescribe)
        assert await joined_after(world, joining, 0.5) is not None
        assert await world.sync("a", (await world.answer(joining, JoinGroupReply)).generation) == parts(0)


async def test_newcomer_waits_no_longer_than_it_may(autojump_clock: MockClock) -> None:
    """Whoever has what it is to have may be frozen (`eager.join.hold.max.ms`)."""
    async with upstream_world() as world:
        joining = await come(world, described({"a": (0,)}))
        await world.say(unchanged(4))
        assert await joined_after(world, joining, 0.5) is not None
