"""Ways of orders: every road to every other, what comes behind each move, and what a restart makes of a half of it."""

from itertools import product

import pytest

from bridge.migration.moves.itinerary import End, Itinerary, Leg, Outcome, order_resumed, planned, resumed
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

GROUP = GroupId("orders")
ONLY = (MemberId("a"),)
ROADS = (Road.PASS, Road.UPSTREAM, Road.EMBEDDED)
OF_A_GROUP = [
    planned(MoveOrder(GROUP, to), origin, has_machines=machines, has_user_data=user_data)
    for origin, to, machines, user_data in product(ROADS, ROADS, (False, True), (False, True))
    if (origin is not to or machines) and machines <= (origin is not Road.EMBEDDED)
    # Who is not here, nor its broker's by rule, is found by nobody who could have it adopted (EB-MOVE-203).
    if machines or (origin, to) != (Road.UPSTREAM, Road.EMBEDDED)
]


def way(to: Road, origin: Road, *members: MemberId, machines: bool = False, user_data: bool = False) -> tuple[Leg, ...]:
    """The moves of an order."""
    return planned(MoveOrder(GROUP, to, members), origin, has_machines=machines, has_user_data=user_data).legs


def test_each_road_leads_to_each_other() -> None:
    """By as few moves as there are."""
    assert way(Road.UPSTREAM, Road.PASS) == (Leg.TAKE_OVER,)
    assert way(Road.UPSTREAM, Road.PASS, user_data=True) == (Leg.RESEAT, Leg.TAKE_OVER)
    assert way(Road.UPSTREAM, Road.EMBEDDED) == (Leg.RELEASE, Leg.TAKE_OVER)
    assert way(Road.EMBEDDED, Road.PASS) == (Leg.ADOPT,)
    assert way(Road.EMBEDDED, Road.UPSTREAM, machines=True) == (Leg.GIVE_BACK, Leg.RESEAT, Leg.ADOPT)
    assert way(Road.EMBEDDED, Road.PASS, machines=True) == (Leg.GIVE_BACK, Leg.RESEAT, Leg.ADOPT)
    assert way(Road.PASS, Road.UPSTREAM, machines=True) == (Leg.GIVE_BACK, Leg.RESEAT)
    assert way(Road.PASS, Road.EMBEDDED) == (Leg.RELEASE,)
    assert way(Road.PASS, Road.PASS) == (Leg.RESEAT,)


def test_group_of_which_only_some_come_back_is_not_reseated() -> None:
    """The others are consumer members of it still."""
    assert way(Road.PASS, Road.UPSTREAM, *ONLY, machines=True) == (Leg.GIVE_BACK,)
    assert way(Road.UPSTREAM, Road.PASS, *ONLY) == (Leg.TAKE_OVER,)


@pytest.mark.parametrize("begun", OF_A_GROUP, ids=str)
def test_whatever_becomes_of_its_moves_a_way_ends_where_it_says(begun: Itinerary) -> None:
    """Refused is only what has changed nothing, half way only what has changed something; made all along it arrives."""
    for outcomes in product(Outcome, repeat=len(begun.legs)):
        at: Itinerary | End = begun
        told = list[Outcome]()
        for outcome in outcomes:
            assert isinstance(at, Itinerary)
            told.append(outcome)
            at = at.behind(outcome)
            if isinstance(at, End):
                break
        assert isinstance(at, End)
        if at is End.REFUSED:
            assert told == [Outcome.KEPT]
        if at is End.HALF_WAY:
            assert told != [Outcome.KEPT]
            assert begun.destination is not Road.PASS
        if set(told) == {Outcome.MADE}:
            assert at is End.ARRIVED


@pytest.mark.parametrize("begun", OF_A_GROUP, ids=str)
def test_restart_goes_on_with_the_move_that_was_at_hand(begun: Itinerary) -> None:
    """By what the journal tells: the road that was written, and who has the group. A way by two moves to embedded ends
    behind the first, and whoever was on it has a road and an owner.
    """
    at = begun
    while True:
        order = MoveOrder(GROUP, at.destination)
        # A reseat writes so once it sends its scout.
        written = Road.MAPPED if at.leg is Leg.RESEAT else at.written_origin
        goes_on = order_resumed(order, written)
        is_in_engine = at.leg is Leg.RELEASE
        again = resumed(goes_on, written, is_in_engine=is_in_engine, has_members=True)
        assert again.leg is at.leg
        assert again.destination in (at.destination, Road.PASS)
        if at.leg is not Leg.RESEAT:
            assert again.stands is at.stands or at.destination is Road.EMBEDDED
        if len(at.legs) == 1:
            break
        at = at.onward()


def test_group_stands_where_it_stood_until_a_move_is_made() -> None:
    """A refused order leaves its road as it was, also if that is not the broker's by rule; behind a first move the
    group is its broker's.
    """
    assert planned(MoveOrder(GROUP, Road.UPSTREAM), Road.UPSTREAM, has_machines=False, has_user_data=True).stands is (
        Road.UPSTREAM
    )
    released = planned(MoveOrder(GROUP, Road.UPSTREAM), Road.EMBEDDED, has_machines=False, has_user_data=False)
    assert (released.stands, released.onward().stands) == (Road.EMBEDDED, Road.PASS)
    assert released.onward().behind(Outcome.KEPT) is End.HALF_WAY


def test_restart_of_whom_nobody_is_known_begins_no_round() -> None:
    """There is nobody whose place it could take."""
    back = resumed(MoveOrder(GROUP, Road.PASS), Road.MAPPED, is_in_engine=False, has_members=False)
    assert back.legs == (Leg.GIVE_BACK, Leg.RESEAT)
    over = resumed(MoveOrder(GROUP, Road.UPSTREAM), Road.MAPPED, is_in_engine=False, has_members=False)
    assert (over.legs, over.origin) == ((Leg.TAKE_OVER,), Road.PASS)
