"""Partitions have names where somebody told them; changes of topics are told once."""

from dataclasses import replace

from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.schema.facts import TopicsChanged, TopicsSeen
from tests.support.passing_words import TOPIC_ID, by_id, named
from translators.dialects.ids import Topic, TopicId, TopicName, TopicPartition

T3 = Topic(TOPIC_ID, TopicName("t"), 3)


def test_partition_is_named_or_called_by_its_topics_id() -> None:
    """Ids are written as Kafka writes them."""
    book = TopicBook()
    assert book(by_id(1)) == {TopicPartition(TopicName("dHR0dHR0dHR0dHR0dHR0dA"), 1)}
    assert not book.knows(by_id(1))
    book.change([T3], ())
    assert book(by_id(1)) == named(1)
    assert book.knows(by_id(1))


def test_first_look_says_what_there_is_and_later_ones_tell_the_difference() -> None:
    """New topics, more partitions, topics that are gone."""
    book = TopicBook()
    new = Topic(TopicId(b"u" * 16), TopicName("u"), 1)
    assert book.change([T3], ()) == TopicsSeen(topics=("t",), partition_counts=(3,))
    assert book.change([T3], ()) is None
    assert book.change([T3, new], ()) == TopicsChanged(topics=("u",), partition_counts=(1,))
    assert book.change([Topic(TOPIC_ID, TopicName("t"), 4)], ()) == TopicsChanged(topics=("t",), partition_counts=(4,))
    assert book.change((), [new.topic_id]) == TopicsChanged(topics=("u",), partition_counts=(0,))
    assert book.change((), [TOPIC_ID]) == TopicsChanged(topics=("t",), partition_counts=(0,))


def test_topic_that_was_made_anew_has_changed() -> None:
    """It is another topic, even with as many partitions; whatever was to be read of the old one is gone."""
    book = TopicBook()
    book.change([T3], ())
    anew = Topic(TopicId(b"u" * 16), T3.name, 3)
    assert book.change([anew], [TOPIC_ID]) == TopicsChanged(topics=("t",), partition_counts=(3,))
    assert book.change([replace(anew, partition_count=4)], ()) == TopicsChanged(topics=("t",), partition_counts=(4,))
    assert book.change((), [anew.topic_id]) == TopicsChanged(topics=("t",), partition_counts=(0,))
