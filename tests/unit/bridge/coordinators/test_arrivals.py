"""The order of one turn."""

from bridge.coordinators.arrivals import Arrival, MembershipRequest, in_turn, seats_named
from bridge.engine.commands import PassDeadlines
from tests.support.embedded_world import join_request, leave_request, native_join
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import InstanceId, MemberId, RequestRef


def arrival(request: MembershipRequest) -> Arrival:
    """A request from anywhere."""
    return Arrival(RequestRef(0, 0, 0), CLIENT, request)


def beat(name: str, seat: str | None = None) -> Arrival:
    """A heartbeat."""
    return arrival(Heartbeat(GROUP, 1, MemberId(name), None if seat is None else InstanceId(seat)))


def test_heartbeats_go_last() -> None:
    """They would cut the joins into several targets; commands keep their place."""
    first, join, second, deadlines, other = beat("x"), arrival(join_request("a")), beat("y"), PassDeadlines(), beat("z")
    assert in_turn([first, join, second, deadlines, other]) == [join, deadlines, first, second, other]


def test_heartbeat_keeps_its_place_among_its_members_requests() -> None:
    """Before or behind a join or leave of the same member, by id or seat."""
    for named in (arrival(join_request("a")), arrival(leave_request("b", "a")), arrival(native_join("a"))):
        order = [beat("a"), named, arrival(join_request("c"))]
        assert in_turn(order) == order


def test_seats_are_named_by_ids_and_instances() -> None:
    """A newcomer names none."""
    assert not list(seats_named(join_request("")))
    assert list(seats_named(beat("m", "s").request)) == [(GROUP, "member m"), (GROUP, "instance s")]
