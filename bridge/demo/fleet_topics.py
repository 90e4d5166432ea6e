"""Topics and committed offsets of a cluster, asked for with confluent-kafka; every function blocks.
It must not know the fleet or its processes.
"""

from collections.abc import Collection, Mapping

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from bridge.demo.events import Partition

TIMEOUT_S = 20.0
LOG_LEVEL = 0
"""librdkafka writes to standard error, which is no place for it; what fails is raised."""


def partitions_of(topics: Collection[str], count: int) -> frozenset[Partition]:
    """The partitions of topics that have `count` each."""
    return frozenset(Partition(topic, index) for topic in topics for index in range(count))


def create_topics(bootstrap: str, topics: Collection[str], partitions: int) -> frozenset[Partition]:
    """Create topics with one replica and wait for it; raises KafkaException with the broker's refusal."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": LOG_LEVEL})
    wanted = [NewTopic(topic, num_partitions=partitions, replication_factor=1) for topic in topics]
    for created in admin.create_topics(wanted, operation_timeout=TIMEOUT_S).values():
        created.result(TIMEOUT_S)
    return partitions_of(topics, partitions)


def grow_topic(bootstrap: str, topic: str, partitions: int) -> frozenset[Partition]:
    """Raise a topic's number of partitions to `partitions` and wait for it."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": LOG_LEVEL})
    for grown in admin.create_partitions([NewPartitions(topic, partitions)], operation_timeout=TIMEOUT_S).values():
        grown.result(TIMEOUT_S)
    return partitions_of([topic], partitions)


def read_committed(bootstrap: str, group: str, partitions: Collection[Partition]) -> Mapping[Partition, int]:
    """What the group has committed according to the broker; partitions without a commit are left out. Joins nothing."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": LOG_LEVEL}
    )
    try:
        answers = consumer.committed([TopicPartition(*partition) for partition in sorted(partitions)], TIMEOUT_S)
    finally:
        consumer.close()
    return {Partition(answer.topic, answer.partition): answer.offset for answer in answers if answer.offset >= 0}
