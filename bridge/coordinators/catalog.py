"""The topics of the cluster as coordinators see them: names to ids and back, what changed since the last look, and the
watch that looks.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256

import trio

from bridge.log_lines import Line, RateLimitedLog
from bridge.ports import Broker, BrokerUnreachable, Clock
from translators.dialects.ids import NO_TOPIC_ID, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class TopicsChange:
    """Topics that are new or have other numbers of partitions, and ids that are gone."""

    changed: tuple[Topic, ...]
    removed: tuple[TopicId, ...]

    def __bool__(self) -> bool:
        """Whether anything changed at all."""
        return bool(self.changed or self.removed)


class Catalog:
    """The last known topics; `has_ids` is false where the broker's Metadata names none (decision 19)."""

    def __init__(self) -> None:
        self._by_name: dict[TopicName, Topic] = {}
        self._by_id: dict[TopicId, Topic] = {}
        self._doubted: set[Topic] = set()
        self.has_ids = True

    def begin_with(self, topics: Iterable[Topic]) -> None:
        """Forget every look and know exactly these topics, as a journal has them."""
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.topic_id: topic for topic in self._by_name.values()}
        self._doubted = set()

    def update(self, topics: Iterable[Topic], cluster_id: str = "") -> TopicsChange:
        """Take the cluster's topics in full and tell the difference.

        A topic without an id gets one made from the cluster's id and its name, the same at every look, so that
        classic members can be served where Metadata is older than version 10 (decision 19). One broker may lag behind
        the others, so a topic is gone only after two looks without it, and never has fewer partitions than before.
        """
        found = tuple(topics)
        self.has_ids = all(topic.topic_id != NO_TOPIC_ID for topic in found)
        seen = {topic.name: self._never_shrunk(_identified(topic, cluster_id)) for topic in found}
        missing = {topic for name, topic in self._by_name.items() if name not in seen}
        current = seen | {topic.name: topic for topic in missing - self._doubted}
        ids = {topic.topic_id for topic in current.values()}
        changed = tuple(topic for name, topic in current.items() if self._by_name.get(name) != topic)
        removed = tuple(topic_id for topic_id in self._by_id if topic_id not in ids)
        self._doubted = missing - self._doubted
        self._by_name = current
        self._by_id = {topic.topic_id: topic for topic in current.values()}
        return TopicsChange(changed, removed)

    def knows(self, names: Iterable[TopicName]) -> bool:
        """Whether every one of the topics exists as far as the last look told."""
        return all(name in self._by_name for name in names)

    def topic(self, topic_id: TopicId) -> Topic | None:
        """The topic of that id."""
        return self._by_id.get(topic_id)

    def name_for(self, name: TopicName, topic_id: TopicId) -> TopicName:
        """The name, looked up by id where it is empty; empty when neither is known."""
        if name:
            return name
        known = self._by_id.get(topic_id)
        return known.name if known is not None else name

    def id_for(self, name: TopicName, topic_id: TopicId) -> TopicId:
        """The id, looked up by name where it is zero; zero when neither is known."""
        if topic_id != NO_TOPIC_ID:
            return topic_id
        known = self._by_name.get(name)
        return known.topic_id if known is not None else topic_id

    def names(self) -> Iterable[TopicName]:
        """Every topic's name."""
        return self._by_name.keys()

    def to_ids(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicIdPartition]:
        """The partitions by id; those of unknown topics vanish, as in Kafka (K4.12)."""
        by_name = self._by_name
        return frozenset(
            TopicIdPartition(by_name[topic].topic_id, partition) for topic, partition in partitions if topic in by_name
        )

    def to_names(self, partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
        """The partitions by name; those of unknown topics vanish, as in Kafka (K4.22)."""
        by_id = self._by_id
        return frozenset(
            TopicPartition(by_id[topic_id].name, partition) for topic_id, partition in partitions if topic_id in by_id
        )

    def _never_shrunk(self, topic: Topic) -> Topic:
        known = self._by_id.get(topic.topic_id)
        return known if known is not None and known.partition_count > topic.partition_count else topic


def _identified(topic: Topic, cluster_id: str) -> Topic:
    if topic.topic_id != NO_TOPIC_ID:
        return topic
    digest = sha256(f"{cluster_id}\0{topic.name}".encode()).digest()
    return replace(topic, topic_id=TopicId(digest[:16]))


LOOK_PAUSE_MS = 250
"""Looks begin no sooner after one another; a topic that a client just created is seen after at most so long."""

LOG = logging.getLogger("epochbridge.coordinators")


@dataclass(slots=True)
class _Look:
    """A look that is under way; `began_ms` once the broker is asked, `problem` if it could not be."""

    began_ms: int | None = None
    problem: BrokerUnreachable | None = None
    over: trio.Event = field(default_factory=trio.Event)


class TopicWatcher:
    """Keeps the catalog up to date; `changed` is called after every difference."""

    def __init__(
        self, broker: Broker, catalog: Catalog, changed: Callable[[TopicsChange], None], clock: Clock, interval_ms: int
    ) -> None:
        self._broker = broker
        self._catalog = catalog
        self._changed = changed
        self._clock = clock
        self._interval_ms = interval_ms
        self._log = RateLimitedLog(LOG)
        """Brokers may be away for hours, and are asked every few seconds."""
        self._looked_ms: int | None = None
        """When the last look began that told something."""
        self._began_ms: int | None = None
        """When the last one began, whatever came of it: a crowd whose time is over had the broker asked for each."""
        self._running: _Look | None = None

    @property
    def has_looked(self) -> bool:
        """Whether the cluster was ever looked at."""
        return self._looked_ms is not None

    async def look(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Know what the cluster has now, by a look that begins no earlier; raises BrokerUnreachable.

        None is begun if what is known `is_enough` when those that others began are over.
        """
        wanted_ms = self._clock.now_ms()
        await trio.lowlevel.checkpoint()
        while (running := self._running) is not None:
            # All that wait go on at once: handed on from one to the next, 1,000 newcomers of a group took 1,000 turns.
            await running.over.wait()
            if is_enough() or (self._looked_ms is not None and self._looked_ms >= wanted_ms):
                return
            if running.problem is not None and running.began_ms is not None and running.began_ms >= wanted_ms:
                raise BrokerUnreachable(str(running.problem)) from running.problem
        if not is_enough() and (self._looked_ms is None or self._looked_ms < wanted_ms):
            await self._look()

    async def _look(self) -> None:
        running = self._running = _Look()
        try:
            if self._began_ms is not None:
                await trio.sleep(max(0, self._began_ms + LOOK_PAUSE_MS - self._clock.now_ms()) / 1000)
            self._began_ms = running.began_ms = self._clock.now_ms()
            found = await self._broker.fetch_topics()
            self._looked_ms = running.began_ms
            change = self._catalog.update(found.topics, found.cluster_id)
            if change:
                self._changed(change)
        except BrokerUnreachable as problem:
            running.problem = problem
            raise
        finally:
            self._running = None
            running.over.set()

    async def watch(self, is_needed: Callable[[], bool]) -> None:
        """Look at every interval in which anybody needs it; a cluster that is away is asked again at the next."""
        while True:
            await trio.sleep(self._interval_ms / 1000)
            self._log.catch_up(self._clock.now_ms())
            if not is_needed():
                continue
            try:
                await self.look()
            except BrokerUnreachable as problem:
                message = "EB-TOPICS-001: the cluster's topics could not be looked at: %s; tried again soon"
                self._log.write(self._clock.now_ms(), "EB-TOPICS-001", Line(logging.WARNING, message, (problem,)))
            except Exception:
                LOG.exception("EB-TOPICS-002: looking at topics failed; tried again soon, please report this")
