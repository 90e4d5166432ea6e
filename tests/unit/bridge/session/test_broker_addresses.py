"""Brokers, where they are, and the ports that stand for them."""

from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.wire.endpoints import Endpoint


def directory(first_port: int = 9093) -> Directory:
    """A directory that counts ports up, with one fixed port."""
    return Directory(Advertised(host="bridge", first_port=first_port, ports={5: 7005}))


def test_ports_are_counted_up_and_fixed_ones_kept() -> None:
    """Bootstrap + 1 and on, in the order asked for; a configured port stands apart."""
    one = directory()
    assert [one.port_to_try(node_id) for node_id in (1, 5, 9)] == [9093, 7005, 9094]
    assert [one.is_fixed(node_id) for node_id in (1, 5)] == [False, True]
    assert directory(first_port=0).port_to_try(1) == 0


def test_learning_names_the_brokers_without_a_listener() -> None:
    """Lowest id first; gaps are fine; nobody and negative ids are passed over."""
    one = directory()
    brokers = (Endpoint(1001, "a", 1), Endpoint(7, "b", 2), Endpoint(-1, "", -1), Endpoint(8, "", 0))
    assert one.learn(brokers) == (7, 1001)
    one.settle(7, 9093)
    assert one.learn(()) == (1001,)
    assert one.ours == {7: Address("bridge", 9093)}
    assert not one.is_settled(brokers)
    one.settle(1001, 9094)
    assert one.is_settled(brokers)


def test_changed_address_unsettles_but_keeps_the_port() -> None:
    """A broker that moved is reached at its new address by the same port."""
    one = directory()
    one.learn((Endpoint(1, "a", 1),))
    one.settle(1, 9093)
    moved = (Endpoint(1, "b", 2),)
    assert not one.is_settled(moved)
    assert one.learn(moved) == ()
    assert (one.brokers[1], one.ours[1]) == (Address("b", 2), Address("bridge", 9093))


def test_address_of_version_6_is_bracketed() -> None:
    """So that host and port stay apart."""
    assert (str(Address("h", 1)), str(Address("::1", 2))) == ("h:1", "[::1]:2")
