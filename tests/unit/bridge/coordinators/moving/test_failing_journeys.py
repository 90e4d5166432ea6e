"""Moves whose tasks fail on the way: once, and again and again."""

from itertools import pairwise
from typing import NoReturn

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving import journey
from bridge.coordinators.moving.adopt import AdoptMove
from bridge.coordinators.moving.places import Places
from bridge.coordinators.moving.requests import Held
from bridge.migration.orders import MoveOrder, MoveStage
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted
from translators.dialects.classic import HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition

ZERO = frozenset({TopicPartition(TOPIC, 0)})


class Failing:
    """What fails whenever it is called, and when that was, in seconds from the first time on."""

    def __init__(self) -> None:
        self._at_s: list[float] = []

    def __call__(self, *_: object) -> NoReturn:
        self._at_s.append(trio.current_time())
        raise ZeroDivisionError

    @property
    def pauses_s(self) -> list[float]:
        """What was between two calls each."""
        return [round(later - one, 2) for one, later in pairwise(self._at_s)]


async def test_whole_group_whose_move_fails_again_and_again_is_given_up_and_goes_on(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried four times a second, for ever, with heartbeats answered whose sessions ran out at the broker."""
    failing = Failing()

    async with moving_world() as world:
        world.formed({"a": ZERO})
        monkeypatch.setattr(AdoptMove, "_compare", failing)
        monkeypatch.setattr(AdoptMove, "go_on", failing)
        world.live.start(MoveOrder(GROUP, Road.EMBEDDED))
        await trio.sleep(0.1)
        beat = world.beat("a")
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        await trio.sleep(60)
        told = world.progress()
        assert (told.stage, [one.code for one in told.obstacles]) == (MoveStage.STOPPED, ["EB-MOVE-255"])
        assert failing.pauses_s == [journey.AGAIN_S, 2 * journey.AGAIN_S, 4 * journey.AGAIN_S]
        assert (world.road(), world.facts.kept) == (Road.PASS, {})
        monkeypatch.undo()
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE
        assert (await world.order(Road.UPSTREAM)).stage is MoveStage.MOVING


async def test_end_that_can_t_be_written_is_tried_again_with_pauses(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried at once each time: nobody else had a turn any more."""
    failing = Failing()
    async with moving_world() as world:
        world.formed({"a": ZERO})
        monkeypatch.setattr(Places, "end_move", failing)
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(60)
        assert failing.pauses_s == [0.25, 0.5, 1, 2, 4, 8, 16]
        monkeypatch.undo()
        await trio.sleep(30)
        assert "move" not in "".join(world.facts.kept.values())


async def test_whole_group_whose_task_fails_on_the_way_gets_a_road_all_the_same(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its requests were held: they go where the group is then."""
    calls: list[str] = []

    async def fail(move: AdoptMove[Held]) -> None:
        calls.append("a bug")
        raise ZeroDivisionError

    async with moving_world() as world:
        world.formed({"a": ZERO})
        with monkeypatch.context() as patch:
            patch.setattr(AdoptMove, "_compare", fail)
            world.live.start(MoveOrder(GROUP, Road.EMBEDDED))
            await trio.sleep(0.1)
            beat = world.beat("a")
            world.answer("a", HeartbeatReply(ErrorCode.NONE))
            await trio.sleep(1)
        assert (calls, world.progress().stage) == (["a bug"], MoveStage.REFUSED)
        assert (world.road(), world.facts.kept) == (Road.PASS, {})
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE
