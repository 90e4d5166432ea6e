"""Members that lose their machine to a classic group, and what is known of those that have one."""

from bridge.coordinators.machines import Machines
from bridge.coordinators.takeover import Seats, Takeovers
from tests.support.owned_group import CLIENT, GROUP, ClassicClient, OwnedGroup
from translators.classic_member.states import MemberLimits
from translators.dialects.ids import InstanceId, MemberId, MemberRef, Via


def test_member_at_work_is_settled_and_shows_its_generation() -> None:
    """A classic group could go on with it."""
    group = OwnedGroup()
    client = ClassicClient(group, instance_id="seat")
    client.join()
    key, seats = MemberRef(GROUP, client.member_id), Seats(group.owner.machines)
    assert seats.is_settled(key, group.now_ms)
    seat = seats.seat(key, group.now_ms)
    assert seat is not None
    assert (seat.generation, seat.using, seat.identity) == (client.generation, client.owned, CLIENT)
    assert seats.holder_of(GROUP, InstanceId("seat")) == client.member_id


def test_nobody_is_settled_without_a_machine() -> None:
    """Nor has it a seat."""
    seats, nobody = Seats(Machines(MemberLimits())), MemberRef(GROUP, MemberId("m"))
    assert not seats.is_settled(nobody, 0)
    assert seats.seat(nobody, 0) is None


def test_released_group_gives_the_joins_that_its_machines_held() -> None:
    """The classic group answers them, by the connection they came by."""
    group = OwnedGroup()
    first, second = ClassicClient(group), ClassicClient(group)
    first.join()
    second.begin_join()
    released = dict(Takeovers(group.owner.machines).release(GROUP))
    assert released.pop(MemberRef(GROUP, first.member_id)) is None
    held = [one for one in released.values() if one is not None]
    assert [(ref, via, client, request.member_id) for ref, via, client, request in held] == [
        (second.parked, Via(0, second.parked.connection if second.parked else -1), CLIENT, second.member_id)
    ]
    assert len(group.owner.machines) == 0
