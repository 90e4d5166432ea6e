"""A topic that gets more partitions while a fleet consumes it."""

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from bridge.demo.cluster import LOG_LEVEL, TIMEOUT_S, partitions_of
from bridge.demo.events import Partition


def grow_topic(bootstrap: str, topic: str, partitions: int) -> frozenset[Partition]:
    """Raise a topic's number of partitions to `partitions` and wait for it."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": LOG_LEVEL})
    for grown in admin.create_partitions([NewPartitions(topic, partitions)], operation_timeout=TIMEOUT_S).values():
        grown.result(TIMEOUT_S)
    return partitions_of([topic], partitions)
