"""Who is asked for because another member of the group came, went, let go of something or heard of a new epoch."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.upstream.group_news import CALLED_MAX, PAUSE_MS, PAUSE_MS_PER_MEMBER, GroupNews
from tests.support.embedded_world import LOOK_PAUSE_S, FakeVia, join_request, leave_request
from tests.support.owned_group import GROUP
from tests.support.upstream_world import UpstreamWorld, granted, unchanged, upstream_world
from translators.dialects.classic import JoinGroupReply
from translators.dialects.coordinator import MembersCalled
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef

NOW = 50_000
OTHER = 2
"""A second connection."""


def member(name: str, group_id: str = GROUP) -> MemberRef:
    """One of a group."""
    return MemberRef(GroupId(group_id), MemberId(name))


def news_of(*names: str) -> GroupNews:
    """A group with these members."""
    news = GroupNews()
    for name in names:
        news.enter(member(name))
    return news


def called(*names: str, group_id: str = GROUP) -> MembersCalled:
    """These are called."""
    return MembersCalled(GroupId(group_id), frozenset(MemberId(name) for name in names))


def test_all_but_who_brings_the_news_are_called_at_once() -> None:
    """It has just been told what there was to tell."""
    news = news_of("a", "b", "c")
    assert not news.is_due(NOW)
    news.stir(member("a"), NOW)
    assert news.is_due(NOW)
    assert news.take_due(NOW) == [called("b", "c")]
    assert (news.take_due(NOW), news.next_due_ms()) == ([], None)


def test_those_who_bring_news_together_hear_of_each_other() -> None:
    """Two that join in one turn."""
    news = news_of("a", "b", "c")
    for name in ("a", "a", "b"):
        news.stir(member(name), NOW)
    assert news.take_due(NOW) == [called("a", "b", "c")]


def test_what_follows_soon_is_heard_a_while_later_by_all() -> None:
    """Also by who brought it: Kafka 4.3 has not computed what came of it yet."""
    news = news_of("a", "b")
    news.stir(member("a"), NOW)
    news.take_due(NOW)
    news.stir(member("a"), NOW + 1)
    assert (news.take_due(NOW + PAUSE_MS - 1), news.next_due_ms()) == ([], NOW + PAUSE_MS)
    assert news.take_due(NOW + PAUSE_MS) == [called("a", "b")]


def test_large_groups_are_called_less_often() -> None:
    """A newcomer each second would else have hundreds of members asked for each second."""
    names = [str(number) for number in range(CALLED_MAX)]
    news = news_of(*names)
    news.stir(member("0"), NOW)
    news.take_due(NOW)
    news.stir(member("1"), NOW)
    assert news.next_due_ms() == NOW + PAUSE_MS_PER_MEMBER * len(names)


def test_members_of_the_largest_groups_are_not_called() -> None:
    """They are asked for at their own intervals, as often as they would be called."""
    news = news_of(*(str(number) for number in range(CALLED_MAX + 1)))
    news.stir(member("0"), NOW)
    news.hear_epoch(member("1"), 5, NOW)
    assert news.next_due_ms() is None


def test_epoch_is_news_once() -> None:
    """Whoever is called for it hears the same."""
    news = news_of("a", "b")
    news.hear_epoch(member("a"), 7, NOW)
    assert news.take_due(NOW) == [called("b")]
    news.hear_epoch(member("b"), 7, NOW + 1)
    assert news.next_due_ms() is None


def test_newcomer_whose_share_is_yet_to_be_computed_has_all_asked_for_when_it_may_be() -> None:
    """Kafka 4.3 computes one target a second: asked at once, everybody was told the same as before, and the next time
    at its interval's end.
    """
    news = news_of("a", "b")
    news.welcome(member("a"), 3, NOW)
    assert news.take_due(NOW) == [called("b")]
    news.enter(member("c"))
    news.welcome(member("c"), 3, NOW + 10)
    assert news.take_due(NOW + PAUSE_MS) == []
    assert news.take_due(NOW + 10 + PAUSE_MS) == [called("a", "b", "c")]


def test_call_for_something_else_is_not_the_one_that_a_newcomer_needs() -> None:
    """It comes before the broker has computed anything, and then there is another."""
    news = news_of("a", "b", "c")
    news.hear_epoch(member("a"), 3, NOW)
    news.welcome(member("c"), 3, NOW)
    assert news.take_due(NOW) == [called("a", "b", "c")]
    assert news.take_due(NOW + PAUSE_MS) == [called("a", "b", "c")]
    assert news.next_due_ms() is None


def test_who_is_alone_or_unknown_calls_nobody() -> None:
    """And what is gone is called no more, its group neither."""
    news = news_of("a", "b")
    news.stir(member("x", "other"), NOW)
    news.hear_epoch(member("x", "other"), 3, NOW)
    news.drop(member("x", "other"))
    news.drop(member("b"))
    news.stir(member("a"), NOW)
    assert news.take_due(NOW) == []
    news.stir(member("a"), NOW)
    news.drop(member("a"))
    assert news.take_due(NOW) == []
    news.enter(member("a"))
    news.clear()
    news.stir(member("a"), NOW)
    assert not news.is_due(NOW)


# ---------------------------------------------------------------------- with members and a broker


async def at_rest(world: UpstreamWorld, name: str, epoch: int, partition: int, via: FakeVia) -> int:
    """A member with one partition, after whose coming nobody is called any more; gives its generation."""
    generation = await world.form(name, granted(epoch, partition), via)
    await trio.sleep(1.5 * PAUSE_MS / 1_000)
    await quieten(*world.vias.values())
    return generation


async def quieten(*vias: FakeVia) -> None:
    """Nothing that was asked is news."""
    for via in vias:
        while via.open:
            via.answer(lambda _: unchanged(1))
    await trio.sleep(LOOK_PAUSE_S)


async def asked_within(world: UpstreamWorld, via: FakeVia) -> float:
    """How long it takes until a member is asked for."""
    began = trio.current_time()
    await world.asked(via)
    return trio.current_time() - began


@pytest.mark.parametrize("event", ["joins", "leaves", "lets go", "hears of another epoch"])
async def test_others_are_asked_for_when_one(event: str, autojump_clock: MockClock) -> None:
    """A broker calls nobody; confluent-kafka-go's tests wait some seconds for a group to be at rest, and a loser that
    was asked for at its interval's end was called 8 s after a newcomer had joined.
    """
    async with upstream_world() as world:
        first, second = FakeVia(), FakeVia(connection=OTHER)
        before = await at_rest(world, "a", 1, 0, first)
        generation = await at_rest(world, "b", 1, 1, second)
        assert await world.beat("a", before, first) is ErrorCode.NONE
        if event == "joins":
            third = FakeVia(connection=OTHER + 1)
            world.send(join_request("c"), third)
            await world.say(granted(2, 2), third)
        elif event == "leaves":
            world.send(leave_request("b"), second)
            await world.say(unchanged(-1), second)
        elif event == "lets go":
            await world.say(granted(1), second)
            await trio.sleep(LOOK_PAUSE_S)
            assert await world.beat("b", generation, second) is ErrorCode.REBALANCE_IN_PROGRESS
            await quieten(first)
            joining = world.send(join_request("b"), second)
            assert (await world.say(unchanged(1), second)).owned == frozenset()
            assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE
        else:
            await world.asked(second)
            await quieten(first)
            await world.say(granted(3, 1), second)
            assert await world.beat("b", generation, second) is ErrorCode.NONE
        assert await asked_within(world, first) < PAUSE_MS / 1_000
        asked = await world.say(unchanged(2), first)
        assert (asked.member_id, asked.member_epoch) == ("a", 1)


async def test_quiet_group_asks_no_more_than_the_broker_wants(autojump_clock: MockClock) -> None:
    """Nobody is asked for because somebody was asked for."""
    async with upstream_world() as world:
        first, second = FakeVia(), FakeVia(connection=OTHER)
        generations = [await at_rest(world, "a", 1, 0, first), await at_rest(world, "b", 1, 1, second)]
        asked = 0
        for _ in range(30):
            await trio.sleep(2)
            for name, via, generation in zip("ab", (first, second), generations, strict=True):
                assert await world.beat(name, generation, via) is ErrorCode.NONE
                while via.open:
                    asked += 1
                    await world.say(unchanged(1), via)
        # A minute has twelve intervals; each begins with the answer, and ends a little early.
        assert asked <= 2 * 13


def test_who_is_alone_has_no_others() -> None:
    """Nor has a member of a group that is never called, or of which nobody is here."""
    news = news_of("a", "b")
    assert news.has_others(member("a"))
    assert not news.drop(member("b"))
    assert not news.has_others(member("a"))
    assert news.has_others(member("c"))
    assert news.drop(member("a"))
    assert not news.has_others(member("a"))
    assert not news_of(*map(str, range(CALLED_MAX + 1))).has_others(member("0"))
