"""Law of what follows and claims groups: twice the members, or twice the groups, cost at most about twice the work.

Claims went through all groups of the bridge, and whoever was given partitions was compared with the silent members of
all groups.
"""

from collections.abc import Callable
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.bridge_meeting import Place
from bridge.coordinators.embedded.other_bridges import Bridges
from tests.support.embedded_world import FakeBroker
from tests.support.heard import Ears
from tests.support.passing_words import beat, beaten, join, joined, named, sync, synced
from tests.support.work_done import growth_faults
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    MemberId,
    Topic,
    TopicId,
    TopicIdPartition,
    TopicName,
)

SIZES = (10, 20, 40)
HOST = "/127.0.0.1"
TOPIC_ID = TopicId(b"t" * 16)


def rebalance(size: int) -> None:
    """A classic group that passes forms, is called and rebalances, and each member fetches what it was given."""
    ears = Ears()
    names = [f"member-{number}" for number in range(size)]
    for generation in (1, 2):
        if generation > 1:
            for name in names:
                ears.pass_by(beat(name, 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
        refs = [ears.ask(join(name), connection) for connection, name in enumerate(names)]
        for name, ref in zip(names, refs, strict=True):
            members = tuple(names) if name == names[0] else ()
            ears.answer(ref, joined(name, generation, leader=names[0], members=members))
        shares = {name: (number + generation,) for number, name in enumerate(names)}
        for name in names:
            given = shares if name == names[0] else None
            ears.pass_by(sync(name, generation, given), synced(*shares[name]))
        for name in names:
            client = ClientIdentity(client_id=f"client-{name}", client_host=HOST)
            ears.follower.fetched(client, named(*shares[name]), False, ears.now_us)
    ears.follower.writer.look(ears.follower.groups[GroupId("g")], ears.now_us)


def fall_silent(size: int) -> None:
    """As many members lose their connections as those of another group are given partitions."""
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2 * size)], ())
    for group, first in (("silent", 0), ("taking", size)):
        for number in range(first, first + size):
            _report(ears, group, number)
            if group == "silent":
                ears.follower.lost(number, ears.now_us)


def _report(ears: Ears, group: str, number: int) -> None:
    member_id = MemberId(f"member-{number}")
    request = ConsumerGroupHeartbeat(
        group_id=GroupId(group),
        member_id=member_id,
        member_epoch=JOIN_EPOCH,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(TopicName("t"),),
        owned=frozenset(),
    )
    reply = ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_id=member_id,
        member_epoch=1,
        heartbeat_interval_ms=5_000,
        assignment=frozenset({TopicIdPartition(TOPIC_ID, number)}),
    )
    ears.answer(ears.ask(request, number), reply)


def claims(size: int) -> None:
    """A bridge that is alone, or takes itself to be, claims one group after the other, and they get members."""
    live: list[GroupId] = []
    living: set[GroupId] = set()

    async def claim() -> None:
        place = Place(bridge="a", where="at a", group_id=GroupId("bridges"))
        bridges = Bridges(FakeBroker(), place, lambda: iter(live), living.__contains__, lambda: 0)
        for number in range(size):
            group_id = GroupId(f"group-{number}")
            await bridges.claim(group_id)
            live.append(group_id)
            living.add(group_id)

    trio.run(claim, clock=MockClock(autojump_threshold=0))


@pytest.mark.parametrize("story", [rebalance, fall_silent, claims])
def test_twice_the_size_costs_at_most_about_twice_the_work(story: Callable[[int], None]) -> None:
    """Lines that ran and bytes that were allocated, of sizes that double."""
    assert not growth_faults([partial(story, size) for size in SIZES])


def test_law_finds_a_look_through_all_members() -> None:
    """It would be worth nothing if a comprehension in one line counted once."""
    assert growth_faults([partial(_look_through_all, size) for size in (200, 400, 800)])


def _look_through_all(size: int) -> None:
    members = list(range(size))
    for one in members:
        assert [other for other in members if other == one] == [one]
