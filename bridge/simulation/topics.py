"""The cluster's topics: what exists, under which ids, and how it grows.

It must not know who subscribes.
"""

from collections.abc import Iterable
from dataclasses import replace

from translators.dialects.ids import Topic, TopicId, TopicIdPartition, TopicName, TopicPartition


class Topics:
    """Topics by name; a topic that is made again has a new id."""

    def __init__(self) -> None:
        self._topics: dict[TopicName, Topic] = {}
        self._names: dict[TopicId, TopicName] = {}

    def create(self, name: TopicName, partitions: int) -> bool:
        """Make a topic, unless it is there."""
        if name in self._topics:
            return False
        topic_id = TopicId(f"topic-{len(self._names):010}".encode())
        self._names[topic_id] = name
        self._topics[name] = Topic(topic_id, name, partitions)
        return True

    def grow(self, name: TopicName, partitions: int) -> bool:
        """Add partitions to a topic, if it is there."""
        topic = self._topics.get(name)
        if topic is not None:
            self._topics[name] = replace(topic, partition_count=topic.partition_count + partitions)
        return topic is not None

    def delete(self, name: TopicName) -> bool:
        """Delete a topic, if it is there."""
        return self._topics.pop(name, None) is not None

    def all(self) -> tuple[Topic, ...]:
        """All topics that exist."""
        return tuple(self._topics.values())

    def partitions(self, names: Iterable[TopicName]) -> frozenset[TopicPartition]:
        """All partitions of those of these topics that exist."""
        found = (self._topics[name] for name in set(names) if name in self._topics)
        return frozenset(
            TopicPartition(topic.name, number) for topic in found for number in range(topic.partition_count)
        )

    def to_ids(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicIdPartition]:
        """Partitions by id; those of topics that are gone vanish."""
        return frozenset(
            TopicIdPartition(self._topics[name].topic_id, number) for name, number in partitions if name in self._topics
        )

    def to_names(self, partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
        """Partitions by name, as a client reads its metadata; ids that are gone vanish."""
        live = {topic.topic_id: topic.name for topic in self._topics.values()}
        return frozenset(TopicPartition(live[topic_id], number) for topic_id, number in partitions if topic_id in live)
