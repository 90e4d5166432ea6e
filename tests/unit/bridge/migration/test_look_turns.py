"""However many names one address makes up, another's look-up begins within one place's time."""

import pickle
from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.look_turns import LookTurns
from tests.support.work_done import growth_faults

PLACES = 32
FLOOD, HOST = "10.0.0.9", "10.0.0.1"
Ticket = tuple[str, int]


class Looks:
    """Everything that was asked for, and what of it is under way."""

    def __init__(self, places: int = PLACES) -> None:
        self.turns = LookTurns[Ticket](places)
        self.places = places
        self.waiting: list[Ticket] = []
        self.under_way: list[Ticket] = []
        self.begun: list[Ticket] = []
        self.asked = 0

    def ask(self, host: str) -> Ticket:
        """One more name."""
        self.asked += 1
        ticket = host, self.asked
        self.waiting.append(ticket)
        self._begin(self.turns.ask(host, ticket))
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """It was answered, or its client has hung up."""
        (self.waiting if ticket in self.waiting else self.under_way).remove(ticket)
        self._begin(self.turns.leave(ticket[0], ticket))

    def held(self, host: str) -> int:
        """How many places an address has."""
        return sum(one[0] == host for one in self.under_way)

    def _begin(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            assert ticket == next(one for one in self.waiting if one[0] == ticket[0]), "in the order asked"
            self.waiting.remove(ticket)
            self.under_way.append(ticket)
            self.begun.append(ticket)


@st.composite
def crowds(draw: st.DrawFn, hosts: int) -> Looks:
    """What so many addresses have come to, of which each asks for as many names as it likes and hangs up when it
    likes; at least as many as there are places are asked for.
    """
    looks = Looks()
    for number in draw(st.lists(st.integers(0, 2 * hosts - 1), max_size=120)):
        if number < hosts:
            looks.ask(f"10.0.1.{number}")
        elif everything := looks.under_way + looks.waiting:
            looks.leave(everything[number % len(everything)])
    for number in range(2 * PLACES):
        looks.ask(f"10.0.1.{number % hosts}")
    return looks


@given(st.integers(1, 12).flatmap(crowds))
def test_places_are_shared_by_addresses(looks: Looks) -> None:
    """All that may be are used: who waits has as many as are free, and whoever has none waits for one to be free."""
    free = looks.places - len(looks.under_way)
    assert free >= 0
    assert all(looks.held(host) >= free for host, _ in looks.waiting)


@given(crowds(1), st.integers(1, 4))
def test_who_asks_for_any_number_of_names_keeps_nobody_else_waiting(looks: Looks, others: int) -> None:
    """Not for one place's time: its next begin is behind theirs, too."""
    assert looks.held("10.0.1.0") <= looks.places // 2 + others
    for number in range(others):
        assert looks.ask(f"10.0.0.{number}") in looks.under_way


@given(st.integers(1, 60).flatmap(crowds), st.randoms(use_true_random=False))
def test_before_a_newcomer_nobody_begins_twice(looks: Looks, random: Random) -> None:
    """However many addresses flood the bridge at once: a place that gets free is somebody's who has none, in turn."""
    own, before = looks.ask(HOST), len(looks.begun)
    while own in looks.waiting:
        looks.leave(random.choice(looks.under_way))
        looks.ask(f"10.0.1.{random.randrange(60)}")
    ahead = [host for host, _ in looks.begun[before:] if host != HOST]
    assert len(ahead) == len(set(ahead))


def test_what_is_waited_for_no_more_has_no_place() -> None:
    """Its client has hung up, before its turn or behind it."""
    looks = Looks(2)
    first, second = looks.ask(FLOOD), looks.ask(FLOOD)
    assert looks.waiting == [second]
    looks.leave(second)
    looks.leave(first)
    third = looks.ask(FLOOD)
    assert looks.under_way == [third]
    looks.leave(third)
    assert pickle.dumps(looks.turns) == pickle.dumps(Looks(2).turns), "nothing is kept of who was there"


def test_of_ipv6_a_network_is_one_address() -> None:
    """Its owner has 2 to the power of 64 of them."""
    looks = Looks()
    for number in range(PLACES):
        looks.ask(f"2001:db8::{number:x}")
    assert len(looks.under_way) == PLACES // 2


def test_work_grows_with_the_names_and_not_with_their_square() -> None:
    """Names of one address, and addresses of one name each."""

    def drained(count: int, hosts: int) -> Callable[[], object]:
        def drain() -> None:
            turns = LookTurns[Ticket](PLACES)
            under_way = list[Ticket]()
            for number in range(count):
                host = f"10.{number % hosts // 250}.0.{number % hosts % 250}"
                under_way += turns.ask(host, (host, number))
            while under_way:
                ticket = under_way.pop()
                under_way += turns.leave(ticket[0], ticket)

        return drain

    for hosts in (1, 10_000):
        assert growth_faults([drained(count, hosts) for count in (250, 500, 1_000, 2_000)]) == []
