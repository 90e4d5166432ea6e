"""The cluster's topics."""

from bridge.simulation.topics import Topics
from translators.dialects.ids import TopicName, TopicPartition

A, B = TopicName("a"), TopicName("b")


def test_topic_made_again_has_a_new_id() -> None:
    """Ids of the first are nothing any more."""
    topics = Topics()
    assert topics.create(A, 1)
    assert not topics.create(A, 5)
    old = topics.to_ids({TopicPartition(A, 0)})
    assert topics.delete(A)
    assert not topics.delete(A)
    assert topics.create(A, 1)
    assert topics.to_ids({TopicPartition(A, 0)}).isdisjoint(old)
    assert topics.to_names(old) == frozenset()


def test_names_and_ids_of_living_topics_match() -> None:
    """There and back; unknown topics vanish."""
    topics = Topics()
    topics.create(A, 2)
    every = topics.partitions([A, A, B])
    assert every == {TopicPartition(A, 0), TopicPartition(A, 1)}
    assert topics.to_names(topics.to_ids(every | {TopicPartition(B, 0)})) == every


def test_topic_grows_if_it_is_there() -> None:
    """Its partitions are more then, its id the same."""
    topics = Topics()
    topics.create(A, 1)
    before = topics.all()[0]
    assert topics.grow(A, 2)
    assert not topics.grow(B, 2)
    assert (topics.all()[0].topic_id, topics.all()[0].partition_count) == (before.topic_id, 3)
