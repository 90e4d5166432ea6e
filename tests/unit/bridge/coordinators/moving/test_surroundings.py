"""Where members are, and words on them."""

from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.surroundings import in_a_sentence
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition

A, B = MemberId("a"), MemberId("b")


async def test_home_of_a_member(autojump_clock: MockClock) -> None:
    """With a machine, with a seat, or neither."""
    async with moving_world() as world:
        assert world.candidates.around.home(GROUP, A) is Road.PASS
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 0)})})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        world.mapped.put(GROUP, MappedSeat(member_id=B, generation=1, seat_id=B, seat_generation=2))
        assert (world.candidates.around.home(GROUP, A), world.candidates.around.home(GROUP, B)) == (
            Road.UPSTREAM,
            Road.MAPPED,
        )


def test_refusals_are_said_in_a_sentence() -> None:
    """The code by name, and what the broker said."""
    refused = Refused(ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
    assert in_a_sentence(refused) == "GROUP_ID_NOT_FOUND: no such group"
