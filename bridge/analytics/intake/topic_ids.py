"""Whether a topic is still the one that a stream came to. One that was deleted and made anew has another id, and its
offsets mean other records.

By offsets alone nobody can tell, as soon as the new one holds more records than the stream had taken of the old one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from bridge.analytics.tables.store import Store

NOTES, BETWEEN = "_topics", "-"
"""The folder beside the checkpoint of a stream, in which a file for each topic is called after the batch that first
came of it as it is now, 0 where it never was another one, and its id.
"""
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What Kafka's client says where a broker knows no ids: one before 2.8."""
UNKNOWN = "UnknownTopicOrPartitionException"


@dataclass(frozen=True, slots=True)
class _Noted:
    topic: str
    topic_id: str
    since: int
    path: str


class TopicIds:
    """Asks brokers for the ids of topics, by Kafka's own client, which comes with Spark's Kafka source."""

    def __init__(self, spark: SparkSession, settings: Mapping[str, str], topics: Sequence[str]) -> None:
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "Spark runs"
        told, self._topics = jvm.java.util.HashMap(), jvm.java.util.ArrayList()
        for name, value in settings.items():
            told.put(name, value)
        for topic in topics:
            self._topics.add(topic)
        self._names = [*topics]
        self._admin: JavaObject = jvm.org.apache.kafka.clients.admin.AdminClient.create(told)

    def look(self) -> dict[str, str]:
        """By topic its id, none of those that have none; raise what Java raises where no broker says anything."""
        answers = self._admin.describeTopics(self._topics).topicNameValues()
        found = ((name, self._id_by(answers.get(name))) for name in self._names)
        return {name: one for name, one in found if one != NO_ID}

    def _id_by(self, answer: JavaObject) -> str:
        """None of a topic that this broker has not heard of yet; who reads it says so if there is none."""
        try:
            return str(answer.get().topicId().toString())
        except Py4JJavaError as problem:
            if UNKNOWN not in str(problem):
                raise
            return NO_ID

    def close(self) -> None:
        """Leave the brokers."""
        self._admin.close()


def made_anew(store: Store, ids: Mapping[str, str], batch: int) -> frozenset[str]:
    """The topics that have another id than before this batch; a batch that is tried again finds the same ones."""
    known = _known(store) if batch else {}
    return frozenset(name for name, one in ids.items() if name in known and _is_other(known[name], one, batch))


def note_ids(store: Store, ids: Mapping[str, str], batch: int) -> None:
    """Keep the ids of topics of which a batch is taken."""
    known = _known(store)
    for name, one in ids.items():
        before = known.get(name)
        if before is None or before.topic_id != one:
            # All of it is in the name, for a file that somebody began to write would say something else, or nothing.
            store.files.write(store.path(NOTES, name, f"{batch if before else 0}{BETWEEN}{one}"), "")
            if before is not None:
                store.files.delete(before.path)


def _is_other(known: _Noted, one: str, batch: int) -> bool:
    return one != known.topic_id or known.since == batch


def _known(store: Store) -> dict[str, _Noted]:
    noted = map(_read, store.files.find(store.path(NOTES, "*", "*")))
    return {one.topic: one for one in sorted(noted, key=lambda one: one.since)}


def _read(path: str) -> _Noted:
    *_, topic, name = path.split("/")
    since, _, topic_id = name.partition(BETWEEN)
    return _Noted(topic, topic_id, int(since), path)
