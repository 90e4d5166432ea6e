"""Groups without members and offsets are forgotten (K5.31)."""

import logging

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.partition_queue import PartitionQueue
from bridge.coordinators.embedded.recommit import Recommit
from bridge.coordinators.embedded.retention import Retention
from bridge.engine.queries import group_type
from bridge.engine.settings import EngineSettings
from bridge.ports import BrokerUnreachable
from tests.support.embedded_world import FakeBroker, embedded_world, join_request, leave_request, say_at_once
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId
from translators.dialects.offsets import FetchedGroup, FetchedPartition, FetchedTopic

OPEN = ErrorCode.UNSTABLE_OFFSET_COMMIT
CODES = ("EB-OFFSETS-001", "EB-OFFSETS-005")
MANY = tuple(GroupId(f"idle-{number}") for number in range(300))
SOON = EmbeddedSettings(retention_check_ms=1_000)


def keep(group_id: GroupId) -> ErrorCode:
    """Nobody is to be forgotten."""
    raise AssertionError(group_id)


def offsets(*partitions: FetchedPartition) -> FetchedGroup:
    """What the broker has."""
    return FetchedGroup(group_id=GROUP, topics=(FetchedTopic(name=TOPIC, partitions=partitions),))


async def test_empty_group_is_forgotten_when_its_last_offset_is_gone(autojump_clock: MockClock) -> None:
    """Not while somebody is in it, nor while an offset or a transaction's is there."""
    async with embedded_world(settings=SOON) as world:
        shard = world.groups.owner.shard
        await world.form()
        await trio.sleep(2)
        assert group_type(shard, GROUP) is not None
        world.send(leave_request("a"))
        for kept in (FetchedPartition(partition=0, offset=3), FetchedPartition(partition=0, offset=-1, error=OPEN)):
            world.broker.offsets[GROUP] = offsets(kept)
            await trio.sleep(2)
            assert group_type(shard, GROUP) is not None
        world.broker.offsets[GROUP] = offsets(FetchedPartition(partition=0, offset=-1))
        await trio.sleep(2)
        assert group_type(shard, GROUP) is None


async def test_group_that_ids_are_promised_in_is_forgotten_with_them(autojump_clock: MockClock) -> None:
    """As in Kafka, whose clean-up asks for the group's state alone; who comes with such an id joins anew (K5.31)."""
    async with embedded_world(EngineSettings(group_begins_classic=True), SOON) as world:
        shard = world.groups.owner.shard
        promised = await world.ask(join_request(NO_MEMBER_ID), JoinGroupReply)
        assert promised.error is ErrorCode.MEMBER_ID_REQUIRED
        assert list(shard.classic_groups[GROUP].pending) == [promised.member_id]
        await trio.sleep(2)
        assert (group_type(shard, GROUP), shard.deadlines.due) == (None, {})
        refused = await world.ask(join_request(promised.member_id), JoinGroupReply)
        assert refused.error is ErrorCode.UNKNOWN_MEMBER_ID


async def test_who_comes_while_the_broker_is_asked_finds_the_group(autojump_clock: MockClock) -> None:
    """And a broker that says nothing, or a bug, leaves it as it is."""
    forgotten: list[GroupId] = []
    idle = [GROUP]

    def forget(group_id: GroupId) -> ErrorCode:
        forgotten.append(group_id)
        return ErrorCode.NONE

    broker = FakeBroker(offsets={GROUP: offsets()}, delay_s=0.5)
    with trio.move_on_after(3.4):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                Retention(broker, forget, 1_000, say_at_once).run, lambda: tuple(idle), idle.__contains__
            )
            await trio.sleep(1.2)
            idle.clear()
            await trio.sleep(1)
            assert forgotten == []
            idle.append(GROUP)
    assert forgotten == [GROUP]


@pytest.mark.parametrize(
    ("fault", "code"), [(BrokerUnreachable("away"), "EB-OFFSETS-005"), (ZeroDivisionError("bug"), "EB-OFFSETS-006")]
)
async def test_group_whose_offsets_are_not_known_stays(
    fault: Exception, code: str, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is looked at again in the next round."""
    with caplog.at_level(logging.WARNING), trio.move_on_after(2.5):
        await Retention(FakeBroker(raises=fault), keep, 1_000, say_at_once).run(lambda: (GROUP,), lambda _: True)
    assert caplog.text.count(code) == 2


async def test_broker_that_is_away_is_a_line_a_minute_however_many_groups_are_asked_for(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It was one for each idle group and one for each live one, every round: the log said nothing else."""
    async with embedded_world() as world:
        say, broker = world.groups.offsets.say, FakeBroker(is_down=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Retention(broker, keep, 1_000, say).run, lambda: MANY, lambda _: True)
            nursery.start_soon(Recommit(broker, PartitionQueue(), 1_000, say).run, lambda: MANY)
            await trio.sleep(50)
            # Which of the two rounds comes first in the same moment trio draws.
            assert sorted(code for message in caplog.messages for code in CODES if code in message) == sorted(CODES)
            await trio.sleep(30)
            nursery.cancel_scope.cancel()
    told = [message for message in caplog.messages if any(code in message for code in CODES)]
    assert len(told) == 2 * len(CODES)
    assert all("the test took the broker away" in message for message in told)
    counted = [int(message.split(" (and ")[1].split()[0]) for message in told[len(CODES) :]]
    assert all(count > len(MANY) for count in counted)


async def test_groups_own_rounds_are_told_of_the_same_way(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a group that lives by the one round, and once nobody is in it by the other."""
    settings = EmbeddedSettings(retention_check_ms=1_000, recommit_ms=1_000)
    async with embedded_world(settings=settings) as world:
        await world.form()
        for code, rounds in zip(CODES, (20, 20), strict=True):
            world.broker.is_down = True
            await trio.sleep(rounds)
            assert [code in message for message in caplog.messages if "EB-OFFSETS" in message].count(True) == 1
            world.broker.is_down = False
            world.send(leave_request("a"))
            await trio.sleep(1)
