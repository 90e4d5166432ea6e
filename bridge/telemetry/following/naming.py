"""Names for partitions that are known by their topic's id.

It must not know where names come from.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable

from bridge.telemetry.following.tracks import Partitions
from translators.dialects.ids import TopicId, TopicIdPartition, TopicName, TopicPartition

Lookup = Callable[[TopicId], TopicName | None]


class Namer:
    """Asks one place after the other; a topic that none knows is called by its id, as Kafka writes it."""

    def __init__(self, *lookups: Lookup) -> None:
        self._lookups = lookups
        self.unknown: set[TopicId] = set()
        """Ids that were asked for in vain since this was last emptied."""

    def __call__(self, partitions: Iterable[TopicIdPartition]) -> Partitions:
        """Partitions by name."""
        return frozenset(TopicPartition(self.name(topic_id), partition) for topic_id, partition in partitions)

    def name(self, topic_id: TopicId) -> TopicName:
        """The topic's name, or its id in 22 characters."""
        for lookup in self._lookups:
            found = lookup(topic_id)
            if found is not None:
                return found
        self.unknown.add(topic_id)
        return TopicName(urlsafe_b64encode(topic_id).decode().rstrip("="))
