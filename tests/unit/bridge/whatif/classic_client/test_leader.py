"""What a played leader gives to whom."""

from bridge.whatif.classic_client import assign_as_leader
from translators.dialects.classic import JoinedMember
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.ids import MemberId, TopicName, TopicPartition

FOO, BAR = TopicName("foo"), TopicName("bar")
COUNTS = {FOO: 3, BAR: 2}


def member(name: str, *topics: TopicName) -> JoinedMember:
    """A member as the leader is told of it."""
    return JoinedMember(
        member_id=MemberId(name), instance_id=None, metadata=encode_subscription(Subscription(version=1, topics=topics))
    )


def parts(topic: TopicName, *numbers: int) -> frozenset[TopicPartition]:
    """Partitions of a topic."""
    return frozenset(TopicPartition(topic, number) for number in numbers)


BOTH = (member("a", FOO, BAR), member("b", FOO))


def test_range_gives_each_topic_in_ranges() -> None:
    """bar is a's alone."""
    shares = assign_as_leader("range", BOTH, COUNTS, {})
    assert shares == {"a": parts(FOO, 0, 1) | parts(BAR, 0, 1), "b": parts(FOO, 2)}


def test_round_robin_gives_one_after_the_other() -> None:
    """Topics by name, members by id, those that don't want a topic passed over."""
    shares = assign_as_leader("roundrobin", BOTH, COUNTS, {})
    assert shares == {"a": parts(BAR, 0, 1) | parts(FOO, 1), "b": parts(FOO, 0, 2)}


def test_sticky_keeps_what_it_gave() -> None:
    """Under any of its names."""
    before = {MemberId("a"): parts(FOO, 2), MemberId("b"): parts(FOO, 0)}
    members = (member("a", FOO), member("b", FOO))
    for name in ("sticky", "cooperative-sticky", "uniform"):
        shares = assign_as_leader(name, members, {FOO: 3}, before)
        assert all(before[one.member_id] <= shares[one.member_id] for one in members)


def test_topic_that_is_not_there_has_nothing() -> None:
    """Members come before their topics."""
    assert assign_as_leader("range", [member("a", TopicName("none"))], COUNTS, {}) == {"a": frozenset()}
