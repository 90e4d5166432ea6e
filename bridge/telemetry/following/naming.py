"""The topics of the cluster as the event log knows them: names for ids, and what changed since the last look.

It must not know who looks.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable

from bridge.telemetry.following.tracks import Partitions
from bridge.telemetry.schema.facts import TopicsChanged, TopicsSeen
from translators.dialects.ids import NO_TOPIC_ID, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

Found = TopicsSeen | TopicsChanged


class TopicBook:
    """Names and partition counts; calling it names partitions."""

    def __init__(self) -> None:
        self._names: dict[TopicId, TopicName] = {}
        self._counts: dict[TopicName, int] = {}

    def __call__(self, partitions: Iterable[TopicIdPartition]) -> Partitions:
        """Partitions by name; a topic that is not known is called by its id, as Kafka writes it."""
        names = self._names
        return frozenset(
            TopicPartition(names.get(topic_id) or _written(topic_id), partition) for topic_id, partition in partitions
        )

    def knows(self, partitions: Iterable[TopicIdPartition]) -> bool:
        """Whether all their topics have names."""
        return all(partition.topic_id in self._names for partition in partitions)

    def look(self, topics: Iterable[Topic]) -> Found | None:
        """Take the cluster's topics in full; gives what changed, if anything."""
        topics = tuple(topics)
        current = {topic.name for topic in topics}
        return self._change(topics, [name for name in self._counts if name not in current])

    def change(self, seen: Iterable[Topic], gone: Iterable[TopicId]) -> Found | None:
        """Take some topics as they are now, and the ids of some that are gone; gives what changed, if anything."""
        return self._change(tuple(seen), [self._names[topic_id] for topic_id in gone if topic_id in self._names])

    def _change(self, seen: tuple[Topic, ...], gone: list[TopicName]) -> Found | None:
        """The first look changes nothing: all there is was there before."""
        is_first = not self._counts
        changed = {topic.name: topic.partition_count for topic in seen}
        changed = {name: count for name, count in changed.items() if self._counts.get(name) != count}
        for topic in seen:
            if topic.topic_id != NO_TOPIC_ID:
                self._names[topic.topic_id] = topic.name
        self._counts |= changed
        lost = [name for name in gone if self._counts.pop(name, None) is not None]
        changed |= dict.fromkeys(lost, 0)
        if not changed:
            return None
        kind = TopicsSeen if is_first else TopicsChanged
        return kind(topics=tuple(changed), partition_counts=tuple(changed.values()))


def _written(topic_id: TopicId) -> TopicName:
    return TopicName(urlsafe_b64encode(topic_id).decode().rstrip("="))
