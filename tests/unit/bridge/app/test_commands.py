"""Orders of the admin room, carried out by the coordinators."""

import pytest
from trio.testing import MockClock

from bridge.admin.contracts import Conversion, ConvertedMember, Removal, RemovalResult, RemovedSeat
from bridge.app.commands import AppCommands
from bridge.coordinators.embedded.operators import Operators
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


async def test_conversion_tells_every_member_what_it_means(autojump_clock: MockClock) -> None:
    """The same keys for a dry run."""
    async with embedded_world() as world:
        await world.form("a")
        commands = AppCommands(Operators(world.groups))
        done = await commands.convert(Conversion(group="g", to="classic"))
        assert done is not None
        assert (done.error, done.is_dry_run) == ("", False)
        assert done.members == (
            ConvertedMember(
                member_id="a",
                instance_id=None,
                client_id="client",
                protocol="classic",
                is_disturbed=False,
                loses=(),
                gains=(),
            ),
        )
        again = await commands.convert(Conversion(group="g", to="classic", is_dry_run=True))
        assert again is not None
        assert (again.error, again.members) == ("group g is a classic group already", ())
        assert await commands.convert(Conversion(group="other", to="classic")) is None
