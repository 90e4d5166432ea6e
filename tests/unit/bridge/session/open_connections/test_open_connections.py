"""Connections that are open, in all and of each address."""

from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.open_connections import OpenConnections

NOW_MS = 5


def test_each_address_has_so_many_at_once() -> None:
    """One more is refused until one of them ends; others are not touched."""
    opened = OpenConnections(Limits(address_connections_max=2))
    for _ in range(2):
        assert opened.refusal("a", NOW_MS) is None
        opened.begin("a")
    assert opened.refusal("a", NOW_MS) is CloseReason.TOO_MANY_OF_ADDRESS
    assert opened.refusal("b", NOW_MS) is None
    opened.end("a")
    assert opened.refusal("a", NOW_MS) is None
    assert opened.count == 1


def test_connection_of_a_balancer_is_of_whom_it_brings() -> None:
    """Once that is known; in all it counts from the beginning, and once."""
    opened = OpenConnections(Limits(address_connections_max=1))
    opened.begin("")
    assert (opened.refusal("a", NOW_MS), opened.count) == (None, 1)
    opened.name("a")
    assert (opened.refusal("a", NOW_MS), opened.count) == (CloseReason.TOO_MANY_OF_ADDRESS, 1)
    opened.end("a")
    assert (opened.refusal("a", NOW_MS), opened.count) == (None, 0)


def test_both_bounds_of_an_address_hold() -> None:
    """How many there are, and how many come within a second."""
    opened = OpenConnections(Limits(new_connections_max=1))
    assert opened.refusal("a", NOW_MS) is None
    assert opened.refusal("a", NOW_MS) is CloseReason.TOO_MANY_NEW_CONNECTIONS
    assert opened.refusal("a", NOW_MS + 1_000) is None


def test_addresses_of_one_network_share_what_one_may_have() -> None:
    """Whoever has an IPv6 address has all of its network: each had as many connections as one address may, and as many
    new ones.
    """
    opened = OpenConnections(Limits(address_connections_max=2, new_connections_max=3))
    for host in ("2001:db8::1", "2001:db8::2"):
        assert opened.refusal(host, NOW_MS) is None
        opened.begin(host)
    assert opened.refusal("2001:db8::3", NOW_MS) is CloseReason.TOO_MANY_OF_ADDRESS
    assert opened.refusal("2001:db8:0:1::3", NOW_MS) is None
    opened.end("2001:db8::1")
    assert opened.refusal("2001:db8::3", NOW_MS) is None
    assert opened.refusal("2001:db8::4", NOW_MS) is CloseReason.TOO_MANY_NEW_CONNECTIONS
    assert opened.refusal("2001:db8::4", NOW_MS + 1_000) is None
    opened.end("2001:db8::2")
    assert not opened._by_place
