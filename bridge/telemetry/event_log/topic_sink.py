"""Events to a Kafka topic: kept on disk first, sent by an idempotent producer, given up only when acknowledged.

After a crash some are sent again: readers know them by their event ids.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import confluent_kafka
import orjson
from confluent_kafka import KafkaError, KafkaException

from bridge.telemetry.event_log.sinks import Fate, Line, SinkUnusable, TopicAccess
from bridge.telemetry.event_log.spool import Segment, Spool

LOG = logging.getLogger("epochbridge.telemetry")
IN_FLIGHT_MAX, IN_FLIGHT_BYTES_MAX = 10_000, 33_554_432
"""How many events may be with the producer, unacknowledged, and how long they are; the others wait on disk. Clients
choose how long an event is, and of a topic that was away all that the disk may keep stood in memory, too.
"""
MESSAGE_BYTES_MAX = 16_777_216
POLL_S = 0.05
PUMPS_MAX = 10
CLOSE_S = 5.0
TENDS_TURNED_AWAY = 10
"""So often a producer that brokers turned away is let be before another one reads password and certificates anew, and
tries those.
"""
TURNED_AWAY = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
Delivered = Callable[[KafkaError | None, "confluent_kafka.Message[bytes, bytes]"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Where events go."""

    bootstrap: tuple[str, ...]
    topic: str
    access: TopicAccess = dict


class TopicSink:
    """One topic; the broker may come and go."""

    def __init__(self, settings: TopicSettings, spool: Spool) -> None:
        self.fate = Fate()
        self._settings = settings
        self._spool = spool
        self._in_flight = self._in_flight_bytes = 0
        self._is_away = False
        self._is_full = False
        self._is_failed = False
        self._tends_let_be = 0
        self._producer = self._connect()

    def write(self, lines: Sequence[Line]) -> None:
        """See `Sink.write`."""
        try:
            kept = self._spool.append([line.data for line in lines])
        except OSError as problem:
            kept = 0
            LOG.warning(
                "EB-EVENTS-009: events for topic %r can't be kept: %s; make room in events.spool.path, or see its disk",
                self._settings.topic,
                problem.strerror,
            )
        self._note_full(len(lines) - kept)
        self._pump()

    def tend(self) -> None:
        """See `Sink.tend`: send what is kept, and hear what was acknowledged."""
        self._tends_let_be = max(0, self._tends_let_be - 1)
        for _ in range(PUMPS_MAX):
            before = self.fate.written
            self._pump()
            self._producer.poll(POLL_S)
            if self.fate.written == before:
                return

    def close(self) -> None:
        """See `Sink.close`; what was not acknowledged stays on disk for the next run."""
        self._pump()
        self._producer.flush(CLOSE_S)
        self._spool.close()

    def _connect(self) -> "confluent_kafka.Producer":
        """Raises SinkUnusable."""
        wanted: dict[str, object] = {
            "bootstrap.servers": ",".join(self._settings.bootstrap),
            "client.id": "epochbridge-events",
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "message.max.bytes": MESSAGE_BYTES_MAX,
            # What is with the producer waits for the broker as long as it takes; the rest waits on disk.
            "message.timeout.ms": 0,
            "queue.buffering.max.messages": 2 * IN_FLIGHT_MAX,
            "reconnect.backoff.max.ms": 1_000,
            "log_level": 0,
            "error_cb": self._note_error,
            **self._settings.access(),
        }
        try:
            return confluent_kafka.Producer(wanted)
        except KafkaException as problem:
            # It looks at certificates, and waits for a first token, before there is one.
            raise SinkUnusable(
                f"EB-EVENTS-017: events can't be sent to topic {self._settings.topic!r}: the client library says "
                f"{problem.args[0].str()!r}; see the files of upstream.tls and upstream.sasl"
            ) from None

    def _pump(self) -> None:
        if self._is_failed:
            self._begin_anew()
        while self._in_flight < IN_FLIGHT_MAX and self._in_flight_bytes < IN_FLIGHT_BYTES_MAX:
            taken = self._spool.take()
            if taken is None:
                break
            self._send(*taken)
        self._producer.poll(0)

    def _send(self, segment: Segment, line: bytes) -> None:
        delivered: Delivered = partial(self._note_delivery, self._producer, segment, len(line))
        try:
            self._producer.produce(self._settings.topic, line.rstrip(b"\n"), _key(line), on_delivery=delivered)
        except (KafkaException, orjson.JSONDecodeError) as problem:
            # A line that the producer does not even take, such as one that is too long, or one that is no event.
            told = "EB-EVENTS-010: an event of %d bytes can't be sent and is left out: %s; please report this"
            LOG.warning(told, len(line), problem)
            self.fate.lost += 1
            self._spool.settle(segment)
        else:
            self._in_flight += 1
            self._in_flight_bytes += len(line)

    def _note_delivery(
        self,
        producer: "confluent_kafka.Producer",
        segment: Segment,
        line_bytes: int,
        error: KafkaError | None,
        message: "confluent_kafka.Message[bytes, bytes]",
    ) -> None:
        if producer is not self._producer:
            return
        self._in_flight -= 1
        self._in_flight_bytes -= line_bytes
        if error is None:
            self.fate.written += 1
            self._spool.settle(segment)
            self._note_back()
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self.fate.lost += 1
            self._spool.settle(segment)
        else:
            self._note_error(error)
            self._is_failed = True

    def _begin_anew(self) -> None:
        """The producer gave something up, or itself: a new one sends again all that was not acknowledged."""
        try:
            producer = self._connect()
        except SinkUnusable as problem:
            self._note_away(str(problem))
            return
        self._is_failed = False
        self._producer.purge()
        self._producer = producer
        self._in_flight = self._in_flight_bytes = 0
        self._spool.rewind()

    def _note_error(self, error: KafkaError) -> None:
        if error.code() in TURNED_AWAY and not self._tends_let_be:
            self._tends_let_be = TENDS_TURNED_AWAY
            self._is_failed = True
        self._note_away(error.str())

    def _note_away(self, why: str) -> None:
        if not self._is_away:
            self._is_away = True
            LOG.warning(
                "EB-EVENTS-011: events can't be sent to topic %r at %s now (%s); they are kept on disk meanwhile: see "
                "that these brokers run, have the topic, let the bridge write to it, and want no other TLS or login "
                "than the bridge has (none at brokers that bootstrap does not name)",
                self._settings.topic,
                ",".join(self._settings.bootstrap),
                why,
            )

    def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            LOG.info("events are sent to topic %r again", self._settings.topic)

    def _note_full(self, dropped: int) -> None:
        self.fate.lost += dropped
        if dropped and not self._is_full:
            LOG.error(
                "EB-EVENTS-012: too many events wait for topic %r; further ones are lost: let the bridge reach its "
                "brokers, or raise events.spool.bytes.max",
                self._settings.topic,
            )
        self._is_full = dropped > 0


def _key(line: bytes) -> bytes | None:
    document: object = orjson.loads(line)
    group_id = document.get("group_id") if isinstance(document, dict) else None
    return group_id.encode() if isinstance(group_id, str) else None


def open_topic(bootstrap: tuple[str, ...], topic: str, spool: Spool, access: TopicAccess = dict) -> TopicSink:
    """A sink for one topic of the cluster at `bootstrap` (HOST:PORT each); it need not be reachable yet. Raises what
    `access` does.
    """
    return TopicSink(TopicSettings(bootstrap=bootstrap, topic=topic, access=access), spool)
