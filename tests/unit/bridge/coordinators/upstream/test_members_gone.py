"""Of members that are gone nothing is left, whenever and however their broker answers what it was asked for them."""

from collections.abc import Sized

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.coordinators.upstream.questions import SILENT_MS
from tests.support.embedded_world import join_request, leave_request
from tests.support.upstream_world import UpstreamWorld, granted, refused, unchanged, upstream_world
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode

REPLIES: dict[str, ConsumerGroupHeartbeatReply | None] = {
    "is lost": None,
    "moved": refused(ErrorCode.NOT_COORDINATOR),
    "grants": granted(1, 0),
    "goes on": unchanged(1),
}
ENDS = {"disconnects": (False, True), "leaves": (True, False), "leaves and disconnects": (True, True)}
LONG_S = 3 * SILENT_MS // 1000


def kept(groups: UpstreamGroups) -> dict[str, int]:
    """What the coordinator has of anybody, and the room in which it is told whom to call."""
    coordinator = groups._coordinator
    places = (coordinator, coordinator._open, coordinator._news, coordinator._targets)
    found = {name: value for place in places for name, value in vars(place).items() if isinstance(value, Sized)}
    return {name: len(value) for name, value in found.items() if len(value)}


async def go(world: UpstreamWorld, *, leaves: bool, disconnects: bool) -> None:
    """The one member goes."""
    if leaves:
        world.send(leave_request("m"))
    if disconnects:
        del world.vias[world.via.connection]
        world.groups.disconnected(world.via.connection)
    if not leaves:
        # Its session ends.
        await trio.sleep(LONG_S)


@pytest.mark.parametrize("is_at_work", [False, True], ids=["joining", "at work"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("reply", [*REPLIES, "is frozen"])
@pytest.mark.parametrize("late_s", [0, 10, LONG_S])
async def test_nothing_is_left_of_a_member_that_is_gone(
    late_s: int, reply: str, end: str, is_at_work: bool, autojump_clock: MockClock
) -> None:
    """Before a frozen broker each that left stayed noted, as one to be asked for elsewhere, for as long as the bridge
    ran; and each heartbeat of anybody had a look there from then on.
    """
    async with upstream_world() as world:
        if is_at_work:
            await world.form("m", granted(1, 0))
        else:
            world.send(join_request("m"))
        await world.asked()
        leaves, disconnects = ENDS[end]
        await go(world, leaves=leaves, disconnects=disconnects)
        await trio.sleep(late_s)
        for _ in range(LONG_S):
            while world.via.open and reply in REPLIES:
                world.via.answer(lambda _: REPLIES[reply])
            await trio.sleep(1)
        assert kept(world.groups) == {}
