"""Many groups are shown in pieces, between which others are served."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded import view_pieces, views
from bridge.coordinators.embedded.classic_view import ClassicView
from bridge.coordinators.embedded.view_pieces import PIECE_MEMBERS, ViewPieces
from bridge.engine import describe
from bridge.engine.describe import ConsumerSketch, describe_consumer_group
from bridge.engine.model import Member
from bridge.engine.state import Partitions, Shard
from tests.support.embedded_world import embedded_world, native_join
from tests.support.owned_group import GROUP
from translators.dialects.admin import (
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
    DescribedConsumerMember,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, GroupId, MemberId
from translators.dialects.messages import GroupReply

REQUEST = DescribeGroups(group_ids=(GroupId("a"), GroupId("b")))
MEMBERS = 7
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
    """Those that come at once have the time of one, also if they are small: 200 of 30 bytes come in one turn."""
    seen, woken = list[str](), list[None]()
    pieces = ViewPieces()
    pieces.wake = lambda: woken.append(None)
    answers = list[GroupReply]()
    pieces.begin(1, steps(seen, "first", 3), REQUEST, answers.append)
    pieces.begin(1, steps(seen, "a", PIECE_MEMBERS, 1, PIECE_MEMBERS), REQUEST, answers.append)
    pieces.begin(2, steps(seen, "b", 2 * PIECE_MEMBERS, 0), REQUEST, answers.append)
    for _ in range(200):
        pieces.begin(3, steps(seen, "c", 1), REQUEST, answers.append)
    assert seen == ["first3", "first is over", f"a{PIECE_MEMBERS}"]
    turns = list[list[str]]()
    while woken:
        del seen[:], woken[:]
        pieces.go_on()
        turns.append(seen[:])
    assert turns[0] == ["a1", f"a{PIECE_MEMBERS}"]
    assert turns[1] == [f"b{2 * PIECE_MEMBERS}"]
    assert turns[2] == ["c1", "c is over"] * 200 + ["a is over", "b0", "b is over"]
    assert not answers
    pieces.begin(1, steps(seen, "last", 3), REQUEST, answers.append)
    assert seen[-1] == "last is over"


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

    def count(shard: Shard, group_id: GroupId) -> ConsumerSketch:
        looked.append(group_id)
        return describe_consumer_group(shard, group_id)

    monkeypatch.setattr(views, "describe_consumer_group", count)
    async with embedded_world() as world:
        for name in NAMES:
            joining = replace(native_join(f"of-{name}"), group_id=name)
            assert (await world.ask(joining, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        first = world.send(DescribeGroups(group_ids=NAMES))
        assert 0 < len(looked) < len(NAMES)
        groups = (await world.answer(first, DescribeGroupsReply)).groups
        assert looked == list(NAMES)
        del looked[:]
        second = world.send(ConsumerGroupDescribe(NAMES))
        assert 0 < len(looked) < len(NAMES)
        described = (await world.answer(second, ConsumerGroupDescribeReply)).groups
        assert looked == list(NAMES)
        whole = [(name, ErrorCode.NONE, 1) for name in NAMES]
        assert [(one.group_id, one.error, len(one.members)) for one in groups] == whole
        assert [(one.group_id, one.error, len(one.members)) for one in described] == whole
        del looked[:]
        world.send(DescribeGroups(group_ids=NAMES))
        seen = len(looked)
        world.groups.disconnected(world.via.connection)
        await trio.sleep(1)
        assert len(looked) == seen


async def test_groups_are_listed_in_pieces(monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> None:
    """A list of 10,000 is asked for in 20 bytes, and 200 of these questions come in one turn."""
    monkeypatch.setattr(view_pieces, "STEP_MEMBERS", 2)
    monkeypatch.setattr(view_pieces, "PIECE_MEMBERS", 4)
    looked = list[GroupId]()
    async with embedded_world() as world:
        for name in NAMES:
            joining = replace(native_join(f"of-{name}"), group_id=name)
            assert (await world.ask(joining, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        show = ClassicView.listed

        def count(view: ClassicView, entry: ListedGroup) -> ListedGroup:
            looked.append(entry.group_id)
            return show(view, entry)

        monkeypatch.setattr(ClassicView, "listed", count)
        refs = [world.send(ListGroups()) for _ in range(5)]
        for _ in refs:
            world.via.answer(lambda _: ListGroupsReply(error=ErrorCode.NONE, groups=()))
        assert len(looked) <= 2 * view_pieces.PIECE_MEMBERS
        answers = [await world.answer(ref, ListGroupsReply) for ref in refs]
        assert [[one.group_id for one in answer.groups] for answer in answers] == [list(NAMES)] * len(refs)


async def test_members_of_one_group_are_looked_at_in_pieces(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """Of 10,000 in one group nobody else was served for a third of a second; who leaves meanwhile is still shown."""
    monkeypatch.setattr(view_pieces, "STEP_MEMBERS", 2)
    monkeypatch.setattr(view_pieces, "PIECE_MEMBERS", 3)
    described = list[MemberId]()
    describe_one = describe._describe_member

    def count(shard: Shard, member: Member, target: Mapping[MemberId, Partitions]) -> DescribedConsumerMember:
        described.append(member.subscription.member_id)
        return describe_one(shard, member, target)

    monkeypatch.setattr(describe, "_describe_member", count)
    async with embedded_world() as world:
        for number in range(MEMBERS):
            joining = native_join(f"member-{number}")
            assert (await world.ask(joining, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        ids = tuple(world.groups.owner.shard.groups[GROUP].members)
        ref = world.send(ConsumerGroupDescribe((GROUP,)))
        assert len(described) == 2
        (consumers,) = (await world.answer(ref, ConsumerGroupDescribeReply)).groups
        assert tuple(one.member_id for one in consumers.members) == tuple(described) == ids
        del described[:]
        ref = world.send(DescribeGroups(group_ids=(GROUP,)))
        assert len(described) == 2
        world.send(ConsumerGroupHeartbeat(group_id=GROUP, member_id=ids[-1], member_epoch=LEAVE_EPOCH))
        (classics,) = (await world.answer(ref, DescribeGroupsReply)).groups
        assert tuple(one.member_id for one in classics.members) == tuple(described) == ids
