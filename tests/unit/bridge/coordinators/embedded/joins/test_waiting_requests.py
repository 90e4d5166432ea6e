"""Requests that wait, in the order of their members."""

from bridge.coordinators.arrivals import Arrival, MembershipRequest
from bridge.coordinators.embedded.joins import WaitingRequests
from tests.support.embedded_world import join_request, leave_request
from tests.support.owned_group import CLIENT
from translators.dialects.ids import RequestRef


def arrival(number: int, request: MembershipRequest, connection: int = 1) -> Arrival:
    """A request with its place."""
    return Arrival(RequestRef(0, connection, number), CLIENT, request)


def test_requests_of_a_member_follow_its_join() -> None:
    """Those of others don't; a batch that names a waiting member drags its other members along."""
    held = WaitingRequests()
    join, batch, later = (
        arrival(1, join_request("a")),
        arrival(2, leave_request("b", "a")),
        arrival(3, join_request("b")),
    )
    held.begin(join)
    assert held.leader_of(later) is None
    assert held.leader_of(batch) == join.ref
    held.follow(join.ref, batch)
    assert held.leader_of(later) == join.ref
    held.follow(join.ref, later)
    assert len(held) == 3
    assert list(held.end(join.ref)) == [join, batch, later]
    assert len(held) == 0
    assert held.leader_of(later) is None


def test_newcomers_wait_for_nobody() -> None:
    """Without an id there is no order to keep."""
    held = WaitingRequests()
    held.begin(arrival(1, join_request("")))
    assert held.leader_of(arrival(2, join_request(""))) is None


def test_gone_connections_are_forgotten_and_the_limit_holds() -> None:
    """Nobody waits for their answers."""
    held = WaitingRequests(waiting_max=2)
    held.begin(arrival(1, join_request("a"), connection=7))
    held.follow(RequestRef(0, 7, 1), arrival(2, leave_request("a"), connection=8))
    assert (len(held), held.is_full) == (2, True)
    held.forget(7)
    assert len(held) == 1
    assert [left.ref.connection for left in held.end(RequestRef(0, 7, 1))] == [8]
