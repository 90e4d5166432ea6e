"""How fast a stream takes the topic of an event log, against counting the same records by Spark's Kafka source.

It must not know how a table is made.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from confluent_kafka import Producer

from bridge.analytics.job_run import open_store
from bridge.analytics.job_stream import Stream
from bridge.analytics.session import SessionSettings, open_session
from bridge.analytics.sources import TopicSource, connector_jars
from bridge.analytics.tables import EVENTS
from bridge.analytics.wishes import StreamWish
from deploy.spark.connector import fetch
from tests.benchmarks.broker import BenchBroker
from tests.benchmarks.figures import Baseline, Figure
from tests.benchmarks.pipeline import PLAN, SETTINGS, STREAM_RATE, require_count, spent
from tests.benchmarks.processes import BenchmarkError
from tests.support.fleet_files import write_runs
from tests.support.kafka import create_topic

EVENTS_IN_TOPIC = 3_000_000
PARTITIONS = 4
TOPIC = "bench-events"
QUEUED_MAX = 100_000


def measure_topic_stream(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Three million events on local[2]; in a process of its own, because Java takes jars when it starts."""
    folder = directory / "topic-stream"
    fetch(folder / "jars")
    truth, runs = write_runs(folder / "events", PLAN, EVENTS_IN_TOPIC)
    create_topic(broker.bootstrap, TOPIC, PARTITIONS)
    count = truth.events * runs
    produced = _produce(broker.bootstrap, folder / "events")
    if produced != count:
        raise BenchmarkError(f"{produced} of {count} events came into the topic")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_measure, broker.bootstrap, folder, count).result()


def _measure(bootstrap: str, folder: Path, count: int) -> list[Figure]:
    jars = connector_jars([str(folder / "jars")])
    spark = open_session(SessionSettings(master="local[2]", settings={**SETTINGS, **jars}))
    try:
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", TOPIC)
        records = reader.load().selectExpr("cast(value as string)").where("value is not null")
        baseline_s, _ = spent(records.count)
        store = open_store(spark, str(folder / "tables"))
        source = TopicSource(bootstrap=bootstrap, topic=TOPIC, batch_lines=StreamWish(out="").batch_lines)
        stream = Stream(store)
        stream_s, stream_cpu_s = spent(lambda: stream.start(source, is_once=True).awaitTermination())
        require_count(store.read(EVENTS).count(), count)
    finally:
        spark.stop()
    return [
        Figure(
            name=f"stream of {count / 1e6:.1f} million events from the topic",
            value=count / stream_s,
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name="reading and counting records", value=count / baseline_s),
            note=f"{PARTITIONS} partitions; {count / stream_cpu_s:,.0f} per CPU second of all processes",
        )
    ]


def _produce(bootstrap: str, events: Path) -> int:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": "lz4",
            "linger.ms": 50,
            "queue.buffering.max.messages": 2 * QUEUED_MAX,
        }
    )
    count = 0
    for file in sorted(events.iterdir()):
        for line in file.read_bytes().splitlines():
            producer.produce(TOPIC, line, partition=count % PARTITIONS)
            count += 1
            if count % QUEUED_MAX == 0:
                producer.flush()
    return count - producer.flush()
