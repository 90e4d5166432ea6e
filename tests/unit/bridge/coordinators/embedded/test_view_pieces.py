"""Many groups are shown in pieces, between which others are served."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded import view_pieces, views
from bridge.coordinators.embedded.view_pieces import PIECE_MEMBERS, ViewPieces
from bridge.engine.describe import describe_consumer_group
from bridge.engine.state import Shard
from tests.support.embedded_world import embedded_world, native_join
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
    DescribedConsumerGroup,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId
from translators.dialects.messages import GroupReply

REQUEST = DescribeGroups(group_ids=(GroupId("a"), GroupId("b")))
NAMES = tuple(GroupId(f"group-{number}") for number in range(6))


def steps(seen: list[str], name: str, *members: int, problem: Exception | None = None) -> Iterator[int]:
    """Groups of so many members."""
    for count in members:
        seen.append(f"{name}{count}")
        yield count
    if problem is not None:
        raise problem
    seen.append(f"{name} is over")


def test_requests_take_turns_piece_by_piece() -> None:
    """A small one is over at once, whatever else is under way."""
    seen, woken = list[str](), list[None]()
    pieces = ViewPieces()
    pieces.wake = lambda: woken.append(None)
    answers = list[GroupReply]()
    pieces.begin(1, steps(seen, "a", PIECE_MEMBERS, 1, PIECE_MEMBERS), REQUEST, answers.append)
    pieces.begin(2, steps(seen, "b", 2 * PIECE_MEMBERS, 0), REQUEST, answers.append)
    pieces.begin(3, steps(seen, "c", 3), REQUEST, answers.append)
    assert seen == [f"a{PIECE_MEMBERS}", f"b{2 * PIECE_MEMBERS}", "c3", "c is over"]
    del seen[:]
    while woken:
        woken.pop()
        pieces.go_on()
    assert seen == ["a1", f"a{PIECE_MEMBERS}", "b0", "b is over", "a is over"]
    assert not answers


def test_what_nobody_waits_for_is_not_gone_on_with() -> None:
    """Its client has hung up."""
    seen = list[str]()
    pieces = ViewPieces()
    for connection in (1, 2):
        pieces.begin(connection, steps(seen, f"{connection}: ", PIECE_MEMBERS), REQUEST, lambda _: None)
    pieces.forget(1)
    for _ in range(3):
        pieces.go_on()
    assert seen == [f"1: {PIECE_MEMBERS}", f"2: {PIECE_MEMBERS}", "2:  is over"]


def test_what_goes_wrong_later_ends_its_request_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It is told, and answered with what makes its client ask again."""
    seen, answers = list[str](), list[GroupReply]()
    pieces = ViewPieces()
    pieces.begin(1, steps(seen, "a", PIECE_MEMBERS, problem=ValueError("a bug")), REQUEST, answers.append)
    pieces.begin(1, steps(seen, "b", PIECE_MEMBERS), REQUEST, lambda _: None)
    with caplog.at_level(logging.ERROR):
        pieces.go_on()
        pieces.go_on()
    assert "EB-GROUP-002" in caplog.text
    (answer,) = answers
    assert isinstance(answer, DescribeGroupsReply)
    assert {group.error for group in answer.groups} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert seen[-1] == "b is over"


async def test_groups_are_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> None:
    """Whoever named 10,000 groups kept everybody waiting until the last of their members was looked at."""
    monkeypatch.setattr(view_pieces, "PIECE_MEMBERS", 4)
    looked = list[GroupId]()

    def count(shard: Shard, group_id: GroupId) -> DescribedConsumerGroup:
        looked.append(group_id)
        return describe_consumer_group(shard, group_id)

    monkeypatch.setattr(views, "describe_consumer_group", count)
    async with embedded_world() as world:
        for name in NAMES:
            joining = replace(native_join(f"of-{name}"), group_id=name)
            assert (await world.ask(joining, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        first = world.send(DescribeGroups(group_ids=NAMES))
        assert looked == list(NAMES[:2])
        groups = (await world.answer(first, DescribeGroupsReply)).groups
        assert looked == list(NAMES)
        second = world.send(ConsumerGroupDescribe(NAMES))
        assert looked == [*NAMES, *NAMES[:2]]
        described = (await world.answer(second, ConsumerGroupDescribeReply)).groups
        whole = [(name, ErrorCode.NONE, 1) for name in NAMES]
        assert [(one.group_id, one.error, len(one.members)) for one in groups] == whole
        assert [(one.group_id, one.error, len(one.members)) for one in described] == whole
        del looked[:]
        world.send(DescribeGroups(group_ids=NAMES))
        world.groups.disconnected(world.via.connection)
        await trio.sleep(1)
        assert looked == list(NAMES[:2])
