"""A confluent-kafka (librdkafka) consumer as a member process, classic or KIP-848."""

import sys
from collections.abc import Mapping
from importlib.metadata import version

import confluent_kafka

from bridge.demo.events import EventWriter, Partition, Protocol, now_ns
from bridge.demo.members.process import MemberOptions, StopSignal, parse_member_options
from bridge.demo.members.recorder import Recorder, consume

RECORDS_PER_TURN = 2000
POLL_S = 0.1

Setting = str | int | bool


def consumer_settings(options: MemberOptions) -> dict[str, Setting]:
    """The configuration of librdkafka; with the consumer protocol the broker sets the timeouts (KIP-848, client
    configuration).
    """
    settings: dict[str, Setting] = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "client.id": options.client_id,
        "auto.offset.reset": options.auto_offset_reset,
        "enable.auto.commit": False,
        "topic.metadata.refresh.interval.ms": options.metadata_max_age_ms,
        "group.protocol": options.protocol.value,
    }
    if options.instance_id is not None:
        settings["group.instance.id"] = options.instance_id
    if options.max_poll_interval_ms is not None:
        settings["max.poll.interval.ms"] = options.max_poll_interval_ms
    if options.protocol is Protocol.CLASSIC:
        settings["partition.assignment.strategy"] = options.assignor
        timeouts = {
            "session.timeout.ms": options.session_timeout_ms,
            "heartbeat.interval.ms": options.heartbeat_interval_ms,
        }
        settings.update({name: value for name, value in timeouts.items() if value is not None})
    return settings


class ConfluentMember:
    """The consumer and its recorder; callbacks run inside poll and close, on the main thread."""

    def __init__(self, options: MemberOptions, recorder: Recorder) -> None:
        self._recorder = recorder
        self._consumer = confluent_kafka.Consumer({**consumer_settings(options), "error_cb": self._reported})
        self._consumer.subscribe(
            list(options.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def take(self) -> None:
        """Process what has arrived: wait briefly for the first record, then take the rest of one turn."""
        timeout_s = POLL_S
        for _ in range(RECORDS_PER_TURN):
            message = self._consumer.poll(timeout_s)
            if message is None:
                return
            self._process(message)
            timeout_s = 0.0

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit and wait; a refusal is written down, and the offsets come again with the next commit if still
        owned.
        """
        if not offsets:
            return
        wanted = [confluent_kafka.TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        try:
            answers = self._consumer.commit(offsets=wanted, asynchronous=False)
        except confluent_kafka.KafkaException as error:
            self._recorder.fail(f"commit refused: {error}")
            return
        for answer in answers:
            if answer.error is not None:
                self._recorder.fail(f"commit of {answer.topic}-{answer.partition} refused: {answer.error}")
        acknowledged = {_partition(answer): answer.offset for answer in answers if answer.error is None}
        if acknowledged:
            self._recorder.commit(acknowledged)

    def close(self) -> None:
        """Leave the group (a static classic member stays); the revoked callback runs inside."""
        self._consumer.close()

    def _process(self, message: "confluent_kafka.Message[bytes, bytes]") -> None:
        error, topic, partition, offset = message.error(), message.topic(), message.partition(), message.offset()
        if error is not None or topic is None or partition is None or offset is None:
            self._recorder.fail(f"poll returned an error: {error}")
            return
        self._recorder.process(Partition(topic, partition), offset)

    def _assigned(self, _: confluent_kafka.Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
        self._recorder.assign(map(_partition, partitions))

    def _revoked(self, _: confluent_kafka.Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
        revoked = [_partition(partition) for partition in partitions]
        self.commit(self._recorder.revoke(revoked))
        self._recorder.release(revoked)

    def _lost(self, _: confluent_kafka.Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
        self._recorder.lose(map(_partition, partitions))

    def _reported(self, error: confluent_kafka.KafkaError) -> None:
        self._recorder.fail(f"librdkafka reported: {error}")


def _partition(partition: confluent_kafka.TopicPartition) -> Partition:
    return Partition(partition.topic, partition.partition)


def main(arguments: list[str]) -> None:
    """Run one member until SIGTERM."""
    options, stop = parse_member_options(arguments), StopSignal()
    recorder = Recorder(options, EventWriter(sys.stdout), now_ns)
    recorder.start("confluent-kafka", f"{version('confluent-kafka')} (librdkafka {confluent_kafka.libversion()[0]})")
    consume(ConfluentMember(options, recorder), recorder, stop.is_set)


if __name__ == "__main__":
    main(sys.argv[1:])
