"""The cluster behind the bridge: topics that grow and go, and a broker that takes commits in order and late."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from tests.support.simulation.subject import OnCommitted
from tests.support.simulation.timeline import Timeline
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition
from translators.dialects.offsets import CommittedPartition, CommittedTopic, OffsetCommit, OffsetCommitReply


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


USUAL_MS = 5
Landed = Callable[[RequestRef, OffsetCommit], None]


class Broker:
    """Commits land after a while and in order; while the upstream is broken they may land or not, and nobody hears."""

    def __init__(self, timeline: Timeline, seed: int, landed: Landed) -> None:
        self.is_broken = False
        self.delay_ms = USUAL_MS
        self._timeline, self._landed = timeline, landed
        self._chance = Random(f"broker {seed}")
        self._lands_ms = 0

    def ask(self, ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
        """Take a commit."""
        delay_ms = self._chance.randint(0, self.delay_ms)
        self._lands_ms = max(self._lands_ms, self._timeline.now_ms + delay_ms)
        if not self.is_broken:
            self._timeline.at(self._lands_ms, lambda: self._land(ref, request, answer))
            return
        if self._chance.random() < 0.5:
            self._timeline.at(self._lands_ms, lambda: self._landed(ref, request))
        self._timeline.after(self._chance.randint(0, self.delay_ms), lambda: answer(None))

    def _land(self, ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
        self._landed(ref, request)
        answer(_accepted(request))


def _accepted(request: OffsetCommit) -> OffsetCommitReply:
    return OffsetCommitReply(
        topics=tuple(
            CommittedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(CommittedPartition(entry.partition, ErrorCode.NONE) for entry in topic.partitions),
            )
            for topic in request.topics
        )
    )
