"""A confluent-kafka producer as a process: numbered records to every partition at a given rate, with the
acknowledged offsets.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import confluent_kafka

from bridge.demo.events import Ended, EventWriter, Failed, Partition, Produced, Protocol, SpanCollector, Started, now_ns
from bridge.demo.members.process import StopSignal

REPORT_INTERVAL_NS = 200_000_000
TURN_S = 0.02
FLUSH_S = 10.0
BURST_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions:
    """Where to write, how many partitions each topic has, and how many records per second over all of them."""

    bootstrap: str
    topics: tuple[str, ...]
    partitions: int
    rate: float
    name: str


def parse_producer_options(arguments: Sequence[str]) -> ProducerOptions:
    """The options of the producer process; usage errors end it with status 2."""
    parser = argparse.ArgumentParser(description="Writes numbered records and prints which offsets were acknowledged.")
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--topic", required=True, action="append", help="may be given several times")
    parser.add_argument("--partitions", required=True, type=int, help="partitions of each topic")
    parser.add_argument("--rate", type=float, default=200.0, help="records per second over all partitions")
    parser.add_argument("--name", default="producer")
    parsed = parser.parse_args(arguments)
    return ProducerOptions(
        bootstrap=parsed.bootstrap,
        topics=tuple(parsed.topic),
        partitions=parsed.partitions,
        rate=parsed.rate,
        name=parsed.name,
    )


def due_records(elapsed_ns: int, rate: float, sent: int) -> int:
    """How many records to send now so that `sent` catches up with the rate, in bursts of at most BURST_MAX."""
    return max(0, min(BURST_MAX, int(elapsed_ns * rate / 1_000_000_000) - sent))


class Source:
    """Sends records round robin and collects what was acknowledged."""

    def __init__(self, options: ProducerOptions, writer: EventWriter) -> None:
        self._writer = writer
        self._targets = [Partition(topic, index) for index in range(options.partitions) for topic in options.topics]
        self._acknowledged = SpanCollector()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": options.bootstrap,
                "client.id": options.name,
                "enable.idempotence": True,
                "linger.ms": 5,
            }
        )
        self.sent = 0

    def send(self, count: int) -> None:
        """Queue the next records: key = partition, value = number within the partition; then serve acknowledgements."""
        for _ in range(count):
            turn, position = divmod(self.sent, len(self._targets))
            topic, partition = self._targets[position]
            self._producer.produce(
                topic, str(turn).encode(), str(partition).encode(), partition, on_delivery=self._delivered
            )
            self.sent += 1
        self._producer.poll(TURN_S)

    def report(self) -> None:
        """Write what was acknowledged since the last report."""
        at_ns = now_ns()
        for span in self._acknowledged.take():
            self._writer.write(Produced(at_ns=at_ns, partition=span.partition, first=span.first, last=span.last))

    def finish(self) -> None:
        """Wait until every queued record is acknowledged, within a bound, and report."""
        waiting = self._producer.flush(FLUSH_S)
        if waiting:
            self._writer.write(Failed(at_ns=now_ns(), reason=f"{waiting} records not acknowledged within {FLUSH_S} s"))
        self.report()

    def _delivered(
        self, error: confluent_kafka.KafkaError | None, message: "confluent_kafka.Message[bytes, bytes]"
    ) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is not None or topic is None or partition is None or offset is None:
            self._writer.write(Failed(at_ns=now_ns(), reason=f"a record was not written: {error}"))
            return
        self._acknowledged.add(Partition(topic, partition), offset)


def main(arguments: list[str]) -> None:
    """Produce until SIGTERM."""
    options = parse_producer_options(arguments)
    stop = StopSignal()
    writer = EventWriter(sys.stdout)
    began_ns = reported_ns = now_ns()
    writer.write(_started(options, began_ns))
    source = Source(options, writer)
    while not stop.is_set():
        source.send(due_records(now_ns() - began_ns, options.rate, source.sent))
        if now_ns() - reported_ns >= REPORT_INTERVAL_NS:
            source.report()
            reported_ns = now_ns()
    source.finish()
    writer.write(Ended(at_ns=now_ns()))


def _started(options: ProducerOptions, at_ns: int) -> Started:
    return Started(
        at_ns=at_ns,
        seat=options.name,
        client_id=options.name,
        library="confluent-kafka",
        library_version=version("confluent-kafka"),
        protocol=Protocol.CLASSIC,
        assignor="",
        instance_id=None,
        pid=os.getpid(),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
