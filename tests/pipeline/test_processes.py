"""The commands as processes: a stream that is killed for good, a real topic, a Java that won't do."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pyspark.sql import SparkSession

from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.tables.definitions import EVENTS, GAPS
from bridge.analytics.tables.publishing import pinned
from bridge.analytics.tables.store import Store
from deploy.spark.connector import fetch
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.kafka import KafkaUnderTest, TopicFactory, kafka_43, topic_factory
from tests.support.sasl_kafka import LISTENER, PASSWORDS, login_of, sasl_kafka
from tests.support.table_truth import contents
from tests.support.whatif_log import write_whatif_log

__all__ = ["kafka_43", "topic_factory"]
ANALYTICS = (sys.executable, "-m", "bridge", "analytics")
SMALL = ("--master", "local[2]", "--setting", "spark.sql.shuffle.partitions=1")
COMMAND_S = 1_200


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small log in three complete files, of which one comes twice, and the tables of a run beside it."""
    folder = tmp_path_factory.mktemp("made")
    write_log(folder / "events", FleetPlan(groups=2, rebalances=4), files=3)
    first = folder / "events" / "events-b1-000001.jsonl"
    (folder / "events" / "events-b1-000004.jsonl").write_bytes(first.read_bytes() + b"stranger\n")
    make_tables(Store(spark, str(folder / "run")), event_lines(spark, str(folder / "events")), lambda _: None)
    return folder


@pytest.fixture
def events(tmp_path: Path, made: Path) -> Path:
    """The log, in a copy of the test's own."""
    return Path(shutil.copytree(made / "events", tmp_path / "events"))


@pytest.fixture
def expected(spark: SparkSession, tmp_path: Path, made: Path) -> Store:
    """The tables, in a copy of the test's own."""
    return Store(spark, str(shutil.copytree(made / "run", tmp_path / "run")))


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that is killed at the end of the block, Java and all."""
    process = subprocess.Popen([*ANALYTICS, *arguments], stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


def finish(*arguments: str) -> str:
    """Run a command to its end and return what it printed."""
    answer = subprocess.run([*ANALYTICS, *arguments], capture_output=True, text=True, timeout=COMMAND_S, check=False)
    assert answer.returncode == 0, answer.stderr[-3000:]
    return answer.stdout


def refuse(*arguments: str) -> str:
    """Run a command that can't do what it is to do, and return what it says of that."""
    answer = subprocess.run([*ANALYTICS, *arguments], capture_output=True, text=True, timeout=COMMAND_S, check=False)
    assert answer.returncode == 1, answer.stderr[-3000:]
    return answer.stderr


def _await(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + COMMAND_S
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.timeout(900)
def test_killed_stream_goes_on_where_it_was(spark: SparkSession, tmp_path: Path, events: Path, expected: Store) -> None:
    """kill -9 while a batch is written, then the same command again."""
    out = tmp_path / "stream"
    options = ("stream", "--once", "--events", str(events), "--settled-s", "0", "--out", str(out), *SMALL)
    with running(*options) as process:
        _await(out / "events", process)
    finish(*options)
    assert contents(Store(spark, str(out))) == contents(expected)


@pytest.mark.timeout(900)
def test_killed_run_leaves_the_earlier_tables(tmp_path: Path, events: Path, expected: Store) -> None:
    """kill -9 while new ones are made, and nobody else may write there meanwhile."""
    earlier, out, version = contents(expected), Path(expected.root), expected.log(EVENTS).version or 0
    write_log(events, FleetPlan(groups=3, rebalances=4), files=3)
    options = ("run", "--events", str(events), "--out", str(out), *SMALL)
    with running(*options) as process:
        _await(out / "_writer", process)
        assert f"EB-ANALYTICS-014: process {process.pid} writes the tables in {out}" in refuse(*options)
        _await(out / "events" / "_delta_log" / f"{version + 1:020}.json", process)
    assert contents(pinned(expected)) == earlier != contents(expected)


@pytest.mark.timeout(900)
def test_topic_gives_the_tables_of_its_files(
    spark: SparkSession, events: Path, expected: Store, kafka_43: KafkaUnderTest, topic_factory: TopicFactory
) -> None:
    """Spark's own Kafka source against a real broker: two partitions, so that events come out of order; kill -9 while
    the records of the first batch are written down.
    """
    topic = topic_factory(kafka_43.bootstrap, 2)
    producer = Producer({"bootstrap.servers": kafka_43.bootstrap})
    for file in sorted(events.iterdir()):
        for place, line in enumerate(file.read_bytes().splitlines()):
            producer.produce(topic, line, partition=place % 2)
    assert producer.flush(60) == 0
    jars = events.parent / "jars"
    fetch(jars)
    out = events.parent / "stream"
    source = ("--bootstrap", kafka_43.bootstrap, "--topic", topic, "--jars", str(jars))
    options = ("stream", "--once", *source, "--out", str(out), *SMALL)
    with running(*options) as process:
        _await(out / "_next" / "lines", process)
    assert "1 foreign" in finish(*options)
    store = Store(spark, str(out))
    assert contents(store) == contents(expected)
    assert not (out / "_next" / "lines").exists()
    begin = lose_records(kafka_43.bootstrap, topic)
    assert f"EB-ANALYTICS-015: the topic '{topic}' no longer holds what comes next" in refuse(*options)
    assert "5 foreign" in finish(*options, "--on-gap", "note")
    gaps = store.read(GAPS).select("source", "from_offset", "to_offset").collect()
    assert gaps == [(f"{topic}-0", begin, begin + 2)]


@pytest.mark.timeout(900)
def test_topic_of_a_cluster_that_asks_for_a_login_is_followed(
    spark: SparkSession, events: Path, expected: Store, tmp_path: Path
) -> None:
    """By settings of Kafka's client in a file, here with a password that such a file has to escape."""
    jars, out, client = tmp_path / "jars", tmp_path / "stream", tmp_path / "client.properties"
    fetch(jars)
    login = f'username="bridge" password="{PASSWORDS["bridge"]}"'
    client.write_text(
        f"# of the bridge\nsecurity.protocol={LISTENER}\nsasl.mechanism = SCRAM-SHA-256\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  {login};\n"
    )
    (tmp_path / "kafka").mkdir()
    with sasl_kafka(tmp_path / "kafka") as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **login_of("admin")})
        admin.create_topics([NewTopic("events", num_partitions=1, replication_factor=1)])["events"].result(60)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, **login_of("alice")})
        for file in sorted(events.iterdir()):
            for line in file.read_bytes().splitlines():
                producer.produce("events", line)
        assert producer.flush(60) == 0
        source = ("--bootstrap", kafka.bootstrap, "--topic", "events", "--jars", str(jars))
        assert "1 foreign" in finish(
            "stream", "--once", *source, "--out", str(out), "--kafka-config", str(client), *SMALL
        )
    assert contents(Store(spark, str(out))) == contents(expected)


@pytest.mark.timeout(900)
def test_topic_that_is_made_anew_is_told_by_its_id(
    spark: SparkSession, events: Path, kafka_43: KafkaUnderTest, tmp_path: Path
) -> None:
    """It holds more records than the stream has taken of the one before, so no offset says so."""
    topic, out, jars = "made-anew", tmp_path / "stream", tmp_path / "jars"
    lines = min(events.iterdir()).read_bytes().splitlines()
    fetch(jars)
    source = ("--bootstrap", kafka_43.bootstrap, "--topic", topic, "--jars", str(jars))
    options = ("stream", "--once", *source, "--out", str(out), *SMALL)
    make_topic(kafka_43.bootstrap, topic, lines[:3])
    finish(*options)
    admin = AdminClient({"bootstrap.servers": kafka_43.bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    make_topic(kafka_43.bootstrap, topic, lines[:5])
    assert f"({topic} has another id than before); " in refuse(*options)
    finish(*options, "--on-gap", "note")
    store = Store(spark, str(out))
    assert store.read(GAPS).select("source", "from_offset", "to_offset").collect() == [(f"{topic}-0", 0, 3)]
    assert store.count(EVENTS) == 5
    finish(*options)


def make_topic(bootstrap: str, topic: str, lines: Sequence[bytes]) -> None:
    """A topic of one partition with these records; one that was deleted takes a while to go."""
    admin, producer = AdminClient({"bootstrap.servers": bootstrap}), Producer({"bootstrap.servers": bootstrap})
    deadline = time.monotonic() + 60
    while True:
        try:
            admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])[topic].result(60)
        except KafkaException:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        else:
            break
    for line in lines:
        producer.produce(topic, line, partition=0)
    assert producer.flush(60) == 0


def lose_records(bootstrap: str, topic: str) -> int:
    """Five records that are no events come to partition 0, and Kafka removes all up to the second of them; a partition
    more comes with another one. Returns the offset of the first.
    """
    admin, producer = AdminClient({"bootstrap.servers": bootstrap}), Producer({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(60)
    offsets: list[int] = []

    def note(_: object, record: Message) -> None:
        offsets.append(int(record.offset() or 0))

    for partition in (0, 0, 0, 0, 0, 2):
        producer.produce(topic, b"stranger", partition=partition, on_delivery=note)
        assert producer.flush(60) == 0
    place = TopicPartition(topic, 0, offsets[0] + 2)
    admin.delete_records([place])[place].result(60)
    return offsets[0]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_followed_folder_is_taken_until_told_to_end(
    spark: SparkSession, tmp_path: Path, events: Path, expected: Store, number: signal.Signals
) -> None:
    """The last file comes while it runs; whoever ends it, a service manager or a hand, has the tables made again."""
    out, late = tmp_path / "stream", events / "events-b1-000004.jsonl"
    text = late.read_bytes()
    late.unlink()
    watched = ("stream", "--events", str(events), "--settled-s", "0", "--refresh-s", "5", "--end-within-s", "600")
    options = (*watched, "--out", str(out), *SMALL)
    with running(*options) as process:
        _await(out / "daily", process)
        late.write_bytes(text)
        _await(out / "_checkpoint" / "commits" / "1", process)
        process.send_signal(number)
        assert process.wait(COMMAND_S) == 0
    assert contents(Store(spark, str(out))) == contents(expected)


def test_command_runs_where_its_environment_is_not_on_the_path(tmp_path: Path) -> None:
    """Under pipx, systemd or cron; it says what it has to say, and Spark nothing."""
    java = shutil.which("java")
    assert java is not None, "Spark's Java comes from PATH"
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment |= {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(Path(java).resolve().parent.parent)}
    write_whatif_log(tmp_path / "events")
    command = [*ANALYTICS, "replay", "--events", str(tmp_path / "events"), *SMALL]
    answer = subprocess.run(
        command, capture_output=True, text=True, timeout=COMMAND_S, check=False, env=environment, cwd=tmp_path
    )
    assert (answer.returncode, answer.stderr) == (0, "read …\nplay …\ntell …\n")
