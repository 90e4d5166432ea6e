"""Groups of road upstream as the admin room shows them."""

from functools import partial

import trio
from trio.testing import MockClock

from bridge.admin.contracts import TopicPartitions
from bridge.app.views import UpstreamViews
from tests.support.embedded_world import LOOK_PAUSE_S, FakeVia, leave_request
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged, upstream_world
from tests.support.work_done import work_of
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


async def test_group_shows_its_translated_members(autojump_clock: MockClock) -> None:
    """What each has, what the broker wants it to have, and both of its numbers."""
    async with upstream_world() as world:
        views = UpstreamViews(world.groups)
        assert (list(views.summaries()), views.view(GROUP)) == ([], None)
        generation = await world.form("a", granted(9, 0, 1))
        view = views.view(GROUP)
        assert view is not None
        (summary,) = views.summaries()
        assert summary == view.summary
        assert (summary.road, summary.type, summary.state, summary.group_epoch) == ("upstream", "consumer", "Stable", 9)
        assert (summary.member_count, summary.assignor) == (1, "range")
        (member,) = view.members
        assert (member.state, member.generation, member.member_epoch) == ("Stable", generation, 9)
        assert member.assigned == (TopicPartitions(TOPIC, (0, 1)),)
        assert views.view(GroupId("other")) is None


async def test_member_that_has_to_let_go_makes_its_group_reconcile(autojump_clock: MockClock) -> None:
    """As Kafka says of a consumer group; a member that is fenced or leaves is shown until it is gone."""
    async with upstream_world() as world:
        views = UpstreamViews(world.groups)
        generation = await world.form("a", granted(9, 0, 1))
        await world.say(unchanged(9))
        assert await world.beat("a", generation) is ErrorCode.NONE
        await world.say(granted(9, 0))
        await trio.sleep(LOOK_PAUSE_S)
        (count,) = views.counts()
        assert (count.state, count.classic_members, count.consumer_members) == ("Reconciling", 1, 0)
        view = views.view(GROUP)
        assert view is not None
        assert view.members[0].pending_revocation == (TopicPartitions(TOPIC, (1,)),)
        assert await world.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS
        await world.say(refused(ErrorCode.FENCED_MEMBER_EPOCH))
        world.send(leave_request("a"))
        await trio.sleep(LOOK_PAUSE_S)
        view = views.view(GROUP)
        assert view is not None
        assert [(one.state, one.assigned, one.generation) for one in view.members] == [("Leaving", (), None)]


def _count_all(views: UpstreamViews) -> None:
    for _ in views.counts():
        pass


async def test_counting_groups_takes_no_look_at_members(autojump_clock: MockClock) -> None:
    """Anybody may ask for the metrics as often as it likes: each time what every member has was compared with what it
    should have, while everybody else waited.
    """
    taken = list[int]()
    for size in (2, 12):
        async with upstream_world() as world:
            views = UpstreamViews(world.groups)
            for number in range(size):
                await world.form(f"m{number}", granted(9, *range(number * size, (number + 1) * size)), FakeVia(number))
            (count,) = views.counts()
            assert (count.state, count.classic_members) == ("Stable", size)
            taken.append(work_of(partial(_count_all, views)).lines)
    assert taken[0] == taken[1]
