"""The topics of the cluster as the event log knows them: names for ids, and what changed since the last look."""

from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable

from bridge.telemetry.following.joins import Partitions
from bridge.telemetry.schema.facts import TopicsChanged, TopicsSeen
from translators.dialects.ids import Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

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

    def change(self, seen: Collection[Topic], gone: Iterable[TopicId]) -> Found | None:
        """Take some topics as they are now, and the ids of some that are gone; gives what changed, if anything.

        The first look changes nothing: all there is was there before. A topic that was made anew has another id.
        """
        is_first = not self._counts
        changed = {topic.name: topic.partition_count for topic in seen if self._is_news(topic)}
        lost = {self._names[topic_id] for topic_id in gone if topic_id in self._names}
        lost &= self._counts.keys() - {topic.name for topic in seen}
        self._names |= {topic.topic_id: topic.name for topic in seen}
        self._counts |= changed
        for name in lost:
            del self._counts[name]
        changed |= dict.fromkeys(sorted(lost), 0)
        if not changed:
            return None
        kind = TopicsSeen if is_first else TopicsChanged
        return kind(topics=tuple(changed), partition_counts=tuple(changed.values()))

    def _is_news(self, topic: Topic) -> bool:
        return topic.topic_id not in self._names or self._counts.get(topic.name) != topic.partition_count


def _written(topic_id: TopicId) -> TopicName:
    return TopicName(urlsafe_b64encode(topic_id).decode().rstrip("="))
