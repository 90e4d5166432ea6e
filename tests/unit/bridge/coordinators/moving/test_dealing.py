"""Whether a broker would deal anew what members have: what range and uniform make of ids, memory and balance."""

from collections.abc import Mapping

import pytest

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.moving.dealing import deals_anew, stand_otherwise
from bridge.migration.moves.members import ClassicMember
from tests.support.owned_group import CLIENT
from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.ids import InstanceId, MemberId, Topic, TopicId, TopicName, TopicPartition

ORDERS, BILLS = TopicName("orders"), TopicName("bills")
CATALOG = Catalog()
CATALOG.update([Topic(TopicId(b"o" * 16), ORDERS, 2), Topic(TopicId(b"b" * 16), BILLS, 2)])
COOPERATIVE = "cooperative-sticky"


def member(
    member_id: str, *using: TopicPartition, protocol: str = "range", metadata: bytes | None = None, instance: str = ""
) -> ClassicMember:
    """Who subscribes to the topic of the first partition that it has, or to orders."""
    topics = tuple(sorted({one.topic for one in using})) or (ORDERS,)
    blob = encode_subscription(Subscription(version=1, topics=topics)) if metadata is None else metadata
    return ClassicMember(
        member_id=MemberId(member_id),
        instance_id=InstanceId(instance) if instance else None,
        client=CLIENT,
        protocols=(Protocol(protocol, blob),),
        protocol_name=protocol,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        generation=3,
        using=frozenset(using),
    )


def order(number: int) -> TopicPartition:
    """A partition of orders."""
    return TopicPartition(ORDERS, number)


def bill(number: int) -> TopicPartition:
    """A partition of bills."""
    return TopicPartition(BILLS, number)


def deals(*members: ClassicMember, seats: Mapping[str, str] | None = None) -> bool:
    """Whether it would, for seats of these names (those of their clients)."""
    named = seats or {}
    return deals_anew(members, lambda one: MemberId(named.get(one, one)), CATALOG)


def test_range_leaves_what_it_dealt_itself() -> None:
    """In the order of ids, of static members in that of their instances."""
    assert not deals(member("a", order(0)), member("b", order(1)))
    assert not deals(member("b", order(0), instance="first"), member("a", order(1), instance="second"))
    assert not deals(member("a", order(0)), member("b", order(1)), member("c"))


def test_range_has_no_memory() -> None:
    """A bridge that deals its own groups may have given the first member the last partition: it is exchanged."""
    assert deals(member("a", order(1)), member("b", order(0)))
    assert deals(member("a", order(0)), member("b"), member("c", order(1)))


def test_seats_may_stand_in_another_order_than_their_clients() -> None:
    """A release takes them in whatever order ids are handed out."""
    pair = member("a", order(0)), member("b", order(1))
    seats = {"a": "y", "b": "x"}
    assert deals(*pair, seats=seats)
    assert not deals(*pair, seats={"a": "x", "b": "y"})
    assert stand_otherwise(pair, lambda one: MemberId(seats[one]))
    assert not stand_otherwise(pair, lambda one: one)


def test_one_name_for_range_makes_it_the_groups() -> None:
    """Classic members of other assignors name none, and who names none has no vote."""
    assert deals(member("a", order(1), protocol=COOPERATIVE), member("b", order(0)))


@pytest.mark.parametrize("protocol", [COOPERATIVE, "roundrobin", "sticky"])
def test_uniform_keeps_what_is_in_balance(protocol: str) -> None:
    """Whoever has it, and whatever its seat is called."""
    pair = member("a", order(1), protocol=protocol), member("b", order(0), protocol=protocol)
    assert not deals(*pair)
    assert not deals(*pair, seats={"a": "y", "b": "x"})
    assert not stand_otherwise(pair, lambda one: MemberId({"a": "y", "b": "x"}[one]))


def test_uniform_evens_out_what_is_not() -> None:
    """As the leader of a classic group may have left it."""
    all_of_it = member("a", order(0), order(1), bill(0), bill(1), protocol="roundrobin")
    blob = all_of_it.protocols[0].metadata
    assert deals(all_of_it, member("b", protocol="roundrobin", metadata=blob))


def test_partition_that_nobody_has_yet_is_dealt() -> None:
    """A leader looks for new partitions every five minutes, and a broker deals them at its next epoch."""
    assert deals(member("a", order(0)))


def test_topic_that_nobody_has_looked_at_is_dealt_nobody_knows_how() -> None:
    """Behind a restart no topic is known: of none nobody has anything, and nobody would be given anything."""
    pair = member("a", order(0)), member("b", order(1))
    assert not deals_anew(pair, lambda one: one, CATALOG)
    assert deals_anew(pair, lambda one: one, Catalog())


def test_who_can_not_be_read_may_want_anything() -> None:
    """So it is not proved that everybody keeps what it has."""
    assert deals(member("a", order(0)), member("b", order(1), metadata=b"?"))
