"""Orders of the admin room, carried out by the coordinators."""

import pytest
from trio.testing import MockClock

from bridge.admin.contracts import Removal, RemovalResult, RemovedSeat
from bridge.app_commands import AppCommands
from bridge.coordinators.operators import Operators
from tests.support.embedded_world import embedded_world

SEAT = RemovedSeat(member_id="a", instance_id=None, error="")


@pytest.mark.parametrize(
    ("removal", "seats"),
    [
        (Removal(group="g", member_ids=("a",)), (SEAT,)),
        (Removal(group="g", is_all=True), (SEAT,)),
        (
            Removal(group="g", instance_ids=("s",)),
            (RemovedSeat(member_id="", instance_id="s", error="UNKNOWN_MEMBER_ID"),),
        ),
    ],
)
async def test_removal_tells_every_seat(
    removal: Removal, seats: tuple[RemovedSeat, ...], autojump_clock: MockClock
) -> None:
    """Kafka's names for what went wrong, nothing for what went well."""
    async with embedded_world() as world:
        await world.form("a")
        commands = AppCommands(Operators(world.groups))
        assert await commands.remove_members(removal) == RemovalResult(error="", seats=seats)
        assert await commands.remove_members(Removal(group="other", is_all=True)) is None
