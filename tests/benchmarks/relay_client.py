"""A stock client at full speed as a program: it produces or consumes a number of bytes and tells how long it took.

It must not know what stands between it and the broker; arguments: HOST:PORT, topic.
Commands, one a line: `produce MEGABYTES`, `consume MEGABYTES`; each is answered with the seconds it took.
"""

import sys
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

RECORD = bytes(range(256)) * 16
POLL_EVERY = 500
TIMEOUT_S = 120.0
MB = 1_000_000


def produce(bootstrap: str, topic: str, count: int) -> float:
    """Produce `count` records of 4 KiB with librdkafka's defaults and wait until all are acknowledged."""
    failed: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap})

    def note(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    begin = time.monotonic()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, RECORD, on_delivery=note)
                break
            except BufferError:
                producer.poll(0.01)
        if number % POLL_EVERY == 0:
            producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    if left or failed:
        raise SystemExit(f"{left} records were not acknowledged, {len(failed)} failed: {failed[:1]}")
    return time.monotonic() - begin


def consume(bootstrap: str, topic: str, count: int) -> float:
    """Consume `count` records of one partition from its beginning with librdkafka's defaults."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "relay", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    begin, taken = time.monotonic(), 0
    while taken < count:
        messages = consumer.consume(min(POLL_EVERY, count - taken), 10.0)
        if not messages:
            raise SystemExit(f"nothing came for 10 s after {taken} of {count} records")
        for message in messages:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
        taken += len(messages)
    seconds = time.monotonic() - begin
    consumer.close()
    return seconds


def main(arguments: Sequence[str]) -> None:
    """Obey until the standard input ends."""
    bootstrap, topic = arguments
    print("ready", flush=True)
    for line in sys.stdin:
        verb, megabytes = line.split()
        count = int(megabytes) * MB // len(RECORD)
        run = produce if verb == "produce" else consume
        print(run(bootstrap, topic, count), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
