"""How fast a stream takes the topic of an event log, against the same events from files.

It must not know how a table is made.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from bridge.analytics.intake.sources import FolderSource, TopicSource, connector_jars
from bridge.analytics.job_run import open_store
from bridge.analytics.job_stream import Stream
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.specs import StreamSpec
from bridge.analytics.tables.definitions import BATCH, EVENTS
from deploy.spark.connector import fetch
from tests.benchmarks.broker import BenchBroker
from tests.benchmarks.figures import Baseline, Figure
from tests.benchmarks.pipeline import (
    BATCH_FILES,
    PLAN,
    SETTINGS,
    STREAM_EVENTS,
    STREAM_RATE,
    require_count,
    spent,
)
from tests.benchmarks.processes import BenchmarkError
from tests.support.fleet_files import write_runs
from tests.support.kafka import create_topic

PARTITIONS = 4
TOPIC = "bench-events"
QUEUED_MAX = 100_000
FIRST_BATCHES = 2
"""In which Spark compiles most of what it runs, and processes that read files start."""


@dataclass(frozen=True, slots=True)
class Taking:
    """What a stream took, and how many events a second it took after its first micro-batches."""

    wall_s: float
    cpu_s: float
    later_rate: float


def measure_topic_stream(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Six million events on local[2] from the topic, and from their files; each in a Java of its own."""
    folder = directory / "topic-stream"
    fetch(folder / "jars")
    truth, runs = write_runs(folder / "events", PLAN, STREAM_EVENTS)
    create_topic(broker.bootstrap, TOPIC, PARTITIONS)
    count = truth.events * runs
    produced = _produce(broker.bootstrap, folder / "events")
    if produced != count:
        raise BenchmarkError(f"{produced} of {count} events came into the topic")
    source = TopicSource(bootstrap=broker.bootstrap, topic=TOPIC, batch_lines=StreamSpec(out="").batch_lines)
    files = FolderSource(folder=str(folder / "events"), batch_files=BATCH_FILES)
    return _figures(count, _apart(source, folder, count), _apart(files, folder, count))


def _figures(count: int, topic: Taking, files: Taking) -> list[Figure]:
    name = f"stream of {count / 1e6:.1f} million events from the topic"
    note = f"{PARTITIONS} partitions; {count / topic.cpu_s:,.0f} and {count / files.cpu_s:,.0f} per CPU second"
    return [
        Figure(
            name=f"{name}, with all that Spark compiles meanwhile",
            value=count / topic.wall_s,
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name="the same events from files", value=count / files.wall_s),
            note=note,
        ),
        Figure(
            name=f"{name}, after its first two micro-batches",
            value=topic.later_rate,
            unit="events/s",
            target=STREAM_RATE,
            baseline=Baseline(name="the same events from files", value=files.later_rate),
        ),
    ]


def _apart(source: TopicSource | FolderSource, folder: Path, count: int) -> Taking:
    """In a process of its own, because Java takes jars when it starts, and compiles what it sees."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_take, source, folder, count).result()


def _take(source: TopicSource | FolderSource, folder: Path, count: int) -> Taking:
    jars = connector_jars([str(folder / "jars")])
    spark = open_session(SessionSettings(master="local[2]", settings={**SETTINGS, **jars}))
    try:
        store = open_store(spark, str(folder / type(source).__name__))
        queries: list[StreamingQuery] = []
        wall_s, cpu_s = spent(lambda: queries.append(_drained(Stream(store), source)))
        events = store.read(EVENTS)
        require_count(events.count(), count)
        later = events.where(f.col(BATCH) >= FIRST_BATCHES).count()
        return Taking(wall_s, cpu_s, later / _later_s(queries[0]))
    finally:
        spark.stop()


def _drained(stream: Stream, source: TopicSource | FolderSource) -> StreamingQuery:
    query = stream.start(source, is_once=True)
    query.awaitTermination()
    stream.close()
    return query


def _later_s(query: StreamingQuery) -> float:
    told = [progress for progress in query.recentProgress if progress["batchId"] >= FIRST_BATCHES]
    return sum(float(progress["durationMs"]["triggerExecution"]) for progress in told) / 1e3


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
