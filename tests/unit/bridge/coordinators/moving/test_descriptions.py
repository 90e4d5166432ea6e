"""A description that is an error says nothing of who is in a group."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving import descriptions
from bridge.coordinators.moving.descriptions import describe, undescribed
from bridge.migration.orders import MoveOrder, MoveStage
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable, GroupRefused
from tests.support.embedded_world import FakeBroker
from tests.support.moving_world import moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, unchanged
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition

ZERO = frozenset({TopicPartition(TOPIC, 0)})
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
Described = DescribedGroup | DescribedConsumerGroup


def group(error: ErrorCode) -> list[Described]:
    """Both answers."""
    return [DescribedGroup(error=error, group_id=GROUP), DescribedConsumerGroup(error=error, group_id=GROUP)]


@pytest.mark.parametrize("said", [*group(ErrorCode.NONE), *group(ErrorCode.GROUP_ID_NOT_FOUND)])
async def test_word_of_a_broker_is_given_as_it_is(said: Described, autojump_clock: MockClock) -> None:
    """Also that it knows no such group."""
    assert await describe(FakeBroker(described=said), GROUP) is said


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        *((one, BrokerUnreachable) for one in group(LOADING)),
        *((one, BrokerUnreachable) for one in group(ErrorCode.NOT_COORDINATOR)),
        *((one, GroupRefused) for one in group(ErrorCode.TOPIC_AUTHORIZATION_FAILED)),
        *((one, GroupRefused) for one in group(ErrorCode.GROUP_AUTHORIZATION_FAILED)),
    ],
)
async def test_error_is_no_group_without_members(
    said: Described, problem: type[BrokerUnreachable], autojump_clock: MockClock
) -> None:
    """It says which, and when to try again."""
    with pytest.raises(problem, match=rf"EB-MOVE-253.*{said.error.name}.*order it again"):
        await describe(FakeBroker(described=said), GROUP)


@pytest.mark.parametrize("to", [Road.UPSTREAM, Road.EMBEDDED, Road.PASS])
@pytest.mark.parametrize("said", group(LOADING))
async def test_order_that_finds_a_loading_coordinator_is_refused_for_that(
    to: Road, said: Described, autojump_clock: MockClock
) -> None:
    """It was told that its group has no members."""
    async with moving_world() as world:
        world.upstream.broker.described = said
        refusal = await world.order(to)
        assert (refusal.stage, [one.code for one in refusal.obstacles]) == (MoveStage.REFUSED, ["EB-MOVE-204"])


async def test_group_is_not_moved_on_from_upstream_as_long_as_it_is_not_said_who_else_is_in_it(
    autojump_clock: MockClock,
) -> None:
    """Members of the consumer protocol that are not the bridge's can't be adopted."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(5, 0))
        world.upstream.broker.described = group(LOADING)[1]
        checked = await world.live.check(MoveOrder(GROUP, Road.EMBEDDED))
        assert [one.code for one in checked.obstacles] == ["EB-MOVE-204"]


@pytest.mark.parametrize("to", [Road.UPSTREAM, Road.EMBEDDED])
async def test_coordinator_that_loads_or_moves_is_waited_for(to: Road, autojump_clock: MockClock) -> None:
    """It does so for some seconds behind each start of its broker: an order that came just then was refused."""
    async with moving_world() as world:
        world.joined("a")
        world.upstream.broker.described = group(ErrorCode.NOT_COORDINATOR)[0]
        world.live.start(MoveOrder(GROUP, to))
        await trio.sleep(3)
        assert world.progress().stage is MoveStage.PREPARING
        world.at_broker({"a": ZERO})
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.MOVING


async def test_coordinator_is_waited_for_as_well_on_the_way_from_upstream(autojump_clock: MockClock) -> None:
    """Nothing of the group's own has to be known for that, but who else is in it."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(5, 0))
        world.answer("a", unchanged(5))
        world.upstream.broker.described = group(LOADING)[1]
        world.live.start(MoveOrder(GROUP, Road.EMBEDDED))
        await trio.sleep(3)
        assert world.progress().stage is MoveStage.PREPARING
        world.upstream.broker.described = group(ErrorCode.NONE)[1]
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.MOVING


def test_remedy_is_that_of_what_stands_in_the_way() -> None:
    """To whom its broker was away it was said that a right is missing."""
    away, refused = (undescribed(GROUP, kind("why")) for kind in (BrokerUnreachable, GroupRefused))
    assert (away.code, refused.code) == ("EB-MOVE-225", "EB-MOVE-225")
    assert ("DESCRIBE" in away.remedy, "DESCRIBE" in refused.remedy) == (False, True)


def test_every_move_asks_this_way() -> None:
    """Whoever asks the port itself takes errors for groups without members."""
    room = Path(descriptions.__file__).parent
    asking = [one.name for one in room.glob("*.py") if ".describe_group(" in one.read_text(encoding="utf-8")]
    assert asking == ["descriptions.py"]
