"""Brokers, where they are, and the ports that stand for them. Which broker a host stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.session.broker_addresses import (
    BROKERS_MAX,
    NO_PORT,
    NODE_ID_MAX,
    Address,
    Advertised,
    Directory,
    HostNames,
    HostPattern,
    UnknownHost,
)
from bridge.wire.endpoints import Endpoint


def directory(first_port: int = 9093) -> Directory:
    """A directory with one port that is given."""
    return Directory(Advertised(host="bridge", first_port=first_port, ports={5: 7005}))


@given(st.permutations(range(5)), st.sets(st.integers(0, 4)))
def test_port_of_a_broker_follows_from_its_id_alone(order: list[int], known: set[int]) -> None:
    """Whatever order brokers are asked for in, and whichever of them are up: the first port plus the id."""
    one = directory()
    one.learn(Endpoint(node_id, "a", 1) for node_id in sorted(known))
    assert {node_id: one.port(node_id) for node_id in order} == {node_id: 9093 + node_id for node_id in range(5)}
    assert one.port(5) == 7005


def test_without_a_first_port_each_broker_has_any_but_a_given_one() -> None:
    """As a demo has them."""
    assert [directory(first_port=0).port(node_id) for node_id in (1, 5)] == [0, 7005]


def test_no_more_brokers_are_known_than_a_bridge_can_listen_for() -> None:
    """Answers may name others each time; those that are known may move all the same."""
    one = directory()
    many = [Endpoint(node_id, "a", 1) for node_id in range(BROKERS_MAX + 3)]
    assert len(one.learn(many)) == len(one.brokers) == BROKERS_MAX
    assert (one.left_out(many), one.left_out(many[:BROKERS_MAX])) == (3, 0)
    one.learn([Endpoint(0, "b", 2), Endpoint(BROKERS_MAX, "b", 2)])
    assert (one.brokers[0], BROKERS_MAX in one.brokers) == (Address("b", 2), False)


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


def test_listener_that_was_there_first_is_told_once_its_broker_is_known() -> None:
    """Clients must not be told of brokers that nobody has named."""
    one = directory()
    one.settle(5, 7005)
    assert one.ours == {}
    broker = (Endpoint(5, "a", 1),)
    assert not one.is_settled(broker)
    assert one.learn(broker) == ()
    assert one.is_settled(broker)
    assert one.ours == {5: Address("bridge", 7005)}


def test_broker_without_a_port_is_told_as_one_that_nobody_reaches_and_asked_for_again() -> None:
    """Answers that name it are still readable; once it has its port, that one is told."""
    one, broker = directory(), (Endpoint(1, "a", 1),)
    assert one.learn(broker) == (1,)
    one.pass_over(1)
    assert one.ours == {1: Address("bridge", NO_PORT)}
    assert not one.is_settled(broker)
    assert one.learn(broker) == (1,)
    one.settle(1, 9094)
    assert one.ours == {1: Address("bridge", 9094)}
    assert one.is_settled(broker)


def test_address_of_version_6_is_bracketed() -> None:
    """So that host and port stay apart."""
    assert (str(Address("h", 1)), str(Address("::1", 2))) == ("h:1", "[::1]:2")


PATTERN = HostPattern(prefix="b", suffix=".kafka.example")
NAMES = HostNames(bootstrap="bootstrap.kafka.example", pattern=PATTERN)


@given(
    st.integers(0, NODE_ID_MAX),
    st.text("abc019-.", max_size=8),
    st.text("abc019-.", max_size=8),
)
def test_every_broker_has_one_host_that_leads_back_to_it(node_id: int, prefix: str, suffix: str) -> None:
    """Whatever stands around the id, digits too."""
    pattern = HostPattern(prefix=prefix, suffix=suffix)
    assert pattern.node_id(pattern.host(node_id)) == node_id


@pytest.mark.parametrize(
    ("name", "broker_id"),
    [
        ("bootstrap.kafka.example", None),
        ("BOOTSTRAP.kafka.example.", None),
        ("b0.kafka.example", 0),
        ("B12.Kafka.Example", 12),
        ("b7.kafka.example.", 7),
    ],
)
def test_hosts_are_the_same_in_any_case_and_with_their_last_dot(name: str, broker_id: int | None) -> None:
    """As in DNS."""
    assert NAMES.broker_id(name) == broker_id


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "kafka.example",
        "b.kafka.example",
        "b01.kafka.example",
        "b-1.kafka.example",
        "b1.kafka.example.evil",
        "xb1.kafka.example",
        "b99999999999.kafka.example",
        "b4294967296.kafka.example",
        "b\u0661.kafka.example",
        "b1\n.kafka.example",
    ],
)
def test_other_hosts_stand_for_nobody(name: str | None) -> None:
    """Also two names for one broker, ids beyond Kafka's, and digits of other scripts."""
    with pytest.raises(UnknownHost) as caught:
        NAMES.broker_id(name)
    assert caught.value.name == name


def test_parts_of_a_host_do_not_overlap() -> None:
    """A host that is shorter than what stands around the id."""
    assert HostPattern(prefix="ab", suffix="ba").node_id("aba") is None
