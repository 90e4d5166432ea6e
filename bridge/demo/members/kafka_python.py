"""A kafka-python consumer as a member process, with any of its classic assignors."""

import sys
from collections.abc import Iterable, Mapping

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

from bridge.demo.events import EventWriter, Partition, Protocol, now_ns
from bridge.demo.members.process import MemberOptions, StopSignal, parse_member_options
from bridge.demo.members.recorder import Recorder, consume

POLL_MS = 100
CLOSE_MS = 5000

ASSIGNORS: Mapping[str, type] = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def consumer_settings(options: MemberOptions) -> dict[str, object]:
    """kafka-python's configuration; raises SystemExit for what the library cannot do (it has no KIP-848 client)."""
    if options.protocol is Protocol.CONSUMER:
        raise SystemExit(
            "EB-MEMBER-001: kafka-python speaks only the classic protocol; use the confluent member for consumer."
        )
    if options.assignor not in ASSIGNORS:
        raise SystemExit(f"EB-MEMBER-002: assignor {options.assignor!r} is not one of {', '.join(ASSIGNORS)}.")
    settings: dict[str, object] = {
        "bootstrap_servers": options.bootstrap.split(","),
        "group_id": options.group,
        "client_id": options.client_id,
        "auto_offset_reset": options.auto_offset_reset,
        "enable_auto_commit": False,
        "metadata_max_age_ms": options.metadata_max_age_ms,
        "partition_assignment_strategy": [ASSIGNORS[options.assignor]],
    }
    chosen = {
        "group_instance_id": options.instance_id,
        "session_timeout_ms": options.session_timeout_ms,
        "heartbeat_interval_ms": options.heartbeat_interval_ms,
        "max_poll_interval_ms": options.max_poll_interval_ms,
    }
    settings.update({name: value for name, value in chosen.items() if value is not None})
    return settings


class KafkaPythonMember:
    """The consumer and its recorder; it is its own rebalance listener, called on the library's I/O thread."""

    def __init__(self, options: MemberOptions, recorder: Recorder) -> None:
        self._recorder = recorder
        self._consumer = kafka.KafkaConsumer(**consumer_settings(options))
        self._consumer.subscribe(topics=options.topics, listener=self)

    def take(self) -> None:
        """Process what one poll returns."""
        try:
            polled = self._consumer.poll(timeout_ms=POLL_MS)
        except KafkaError as error:
            self._recorder.fail(f"poll raised {error!r}")
            return
        for partition, records in polled.items():
            for record in records:
                self._recorder.process(_partition(partition), record.offset)

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit and wait; a refusal is written down, and the offsets come again with the next commit if still
        owned.
        """
        if not offsets:
            return
        try:
            self._consumer.commit(_wire_offsets(offsets))
        except KafkaError as error:
            self._recorder.fail(f"commit refused: {error!r}")
            return
        self._recorder.commit(offsets)

    def close(self) -> None:
        """Leave the group (a static member stays); the revoked callback runs inside."""
        self._consumer.close(autocommit=False, timeout_ms=CLOSE_MS)

    async def on_partitions_assigned(self, partitions: Iterable[kafka.TopicPartition]) -> None:
        """kafka-python's callback: everything when eager, what is new when cooperative."""
        self._recorder.assign(map(_partition, partitions))

    async def on_partitions_revoked(self, partitions: Iterable[kafka.TopicPartition]) -> None:
        """kafka-python's callback; a blocking commit would deadlock its I/O thread, hence the awaited one."""
        revoked = [_partition(partition) for partition in partitions]
        offsets = self._recorder.revoke(revoked)
        if offsets:
            await self._commit_in_callback(offsets)
        self._recorder.release(revoked)

    async def on_partitions_lost(self, partitions: Iterable[kafka.TopicPartition]) -> None:
        """kafka-python's callback for partitions that the group has given away already."""
        self._recorder.lose(map(_partition, partitions))

    async def _commit_in_callback(self, offsets: Mapping[Partition, int]) -> None:
        try:
            await self._consumer.commit_async(_wire_offsets(offsets))
        except KafkaError as error:
            self._recorder.fail(f"commit in the revoked callback refused: {error!r}")
            return
        self._recorder.commit(offsets)


kafka.AsyncConsumerRebalanceListener.register(KafkaPythonMember)
"""A virtual subclass, because the library is untyped and a real one would make the class untyped too."""


def _partition(partition: kafka.TopicPartition) -> Partition:
    return Partition(partition.topic, partition.partition)


def _wire_offsets(offsets: Mapping[Partition, int]) -> dict[kafka.TopicPartition, kafka.OffsetAndMetadata]:
    return {
        kafka.TopicPartition(*partition): kafka.OffsetAndMetadata(offset, "", -1)
        for partition, offset in offsets.items()
    }


def main(arguments: list[str]) -> None:
    """Run one member until SIGTERM."""
    options, stop = parse_member_options(arguments), StopSignal()
    recorder = Recorder(options, EventWriter(sys.stdout), now_ns)
    recorder.start("kafka-python", kafka.__version__)
    consume(KafkaPythonMember(options, recorder), recorder, stop.is_set)


if __name__ == "__main__":
    main(sys.argv[1:])
