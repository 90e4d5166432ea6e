"""The topics that sequences make and grow, made directly on the broker.

It knows the admin client, and must not know who reads the topics.
"""

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

READY_S = 180.0


@dataclass(frozen=True, slots=True)
class Topics:
    """Makes topics on one cluster."""

    admin: AdminClient

    @classmethod
    def at(cls, bootstrap: str) -> "Topics":
        """For the cluster at this address; its client does not mention when that ends."""
        return cls(AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}))

    def make(self, name: str, partitions: int) -> None:
        """Make a topic; raise KafkaException if it can't be."""
        futures = self.admin.create_topics(
            [NewTopic(name, num_partitions=partitions, replication_factor=1)], operation_timeout=READY_S
        )
        futures[name].result(READY_S)

    def grow(self, name: str, partitions: int) -> None:
        """Make a topic that is not there, or give it this many partitions if it has fewer."""
        known = self.admin.list_topics(name, timeout=READY_S).topics[name].partitions
        if not known:
            self.make(name, partitions)
        elif len(known) < partitions:
            self.admin.create_partitions([NewPartitions(name, partitions)])[name].result(READY_S)
