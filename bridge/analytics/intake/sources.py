"""Lines as a stream: from the Kafka topic by Spark's own source, or from a folder of files."""

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake.closed_files import FILES
from bridge.analytics.intake.delivery import Delivery, delivery_of, delivery_of_records
from bridge.analytics.intake.gaps import OFFSET
from bridge.analytics.intake.reading import LINE, SOURCE
from translators.dialects.counts import read_count

PORT_MAX = 65_535
REACH_TIMEOUT_S = 10.0
_OF_FILES = "path string, modificationTime timestamp, length long, content binary"
ANY_AGE = "36500d"
"""Spark passes over a file, without a word, that is a week older than the last one that it has seen: so would be the
log of a bridge that somebody brings late.
"""
_AT_ONCE = {
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 * 2**20),
    "kafka.fetch.max.wait.ms": "20",
}
"""Kafka's consumer hands out 500 records at a time unless it is told otherwise, and waits 500 ms at the end of a
partition for records that Spark has not asked for.
"""
NO_TOPIC, NO_CONNECTOR, NO_SETTINGS = "EB-ANALYTICS-005", "EB-ANALYTICS-006", "EB-ANALYTICS-043"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSource:
    """A topic; `batch_lines` bounds how many lines a micro-batch takes; whether to go on with what there is where the
    topic no longer holds what comes next; how many seconds lie between two looks for more; and a file with settings of
    Kafka's client, if there is one.
    """

    bootstrap: str
    topic: str
    batch_lines: int
    goes_on_at_gaps: bool = False
    look_s: int = 1
    client_file: str | None = None

    def rows(self, spark: SparkSession) -> DataFrame:
        """The records of the topic from its beginning; raise AnalyticsError if Spark has no Kafka source."""
        try:
            records = spark.readStream.format("kafka").options(**self.options(spark)).load()
        except AnalysisException as problem:
            raise AnalyticsError(
                f"{NO_CONNECTOR}: Spark {spark.version} has no Kafka source: its jars do not come with PySpark; "
                "give them with --jars DIR (docs/howto/tables-from-the-event-log.md tells which, and how to get them)"
            ) from problem
        place = f.concat_ws("-", "topic", "partition")
        return records.select(f.col("value").cast("string").alias(LINE), place.alias(SOURCE), OFFSET)

    @property
    def topics(self) -> list[str]:
        """Each topic, for Spark takes several of them with commas between."""
        return [one.strip() for one in self.topic.split(",")]

    def client(self, spark: SparkSession) -> dict[str, str]:
        """Settings of a client of the cluster, under Kafka's names."""
        told = {} if self.client_file is None else client_settings(spark, self.client_file)
        return {**told, "bootstrap.servers": self.bootstrap}

    def options(self, spark: SparkSession) -> dict[str, str]:
        """What Spark's Kafka source is told: settings of Kafka's client under their names with `kafka.` before them."""
        return {
            **_AT_ONCE,
            **{f"kafka.{name}": value for name, value in self.client(spark).items()},
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "failOnDataLoss": str(not self.goes_on_at_gaps).lower(),
            "maxOffsetsPerTrigger": str(self.batch_lines),
        }

    def delivery(self, rows: DataFrame) -> Delivery:
        """The lines of a micro-batch of them."""
        return delivery_of_records(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource:
    """A folder of complete files; `batch_files` bounds how many of them a micro-batch takes. Those of an inbox are the
    stream's own, and nobody needs what they hold once it has been taken; it is fed as often as somebody looks.
    """

    folder: str
    batch_files: int
    is_inbox: bool = False
    look_s: int = 5

    def rows(self, spark: SparkSession) -> DataFrame:
        """The paths of all files there are, and of those that come; what is in them nobody reads for that."""
        options = {"pathGlobFilter": FILES, "maxFilesPerTrigger": str(self.batch_files), "maxFileAge": ANY_AGE}
        files = spark.readStream.format("binaryFile").schema(_OF_FILES).options(**options).load(self.folder)
        return files.select("path")

    def delivery(self, rows: DataFrame) -> Delivery:
        """The lines of the files of a micro-batch."""
        return delivery_of(rows.sparkSession, (unquote(urlsplit(row["path"]).path) for row in rows.collect()))


Source = TopicSource | FolderSource


def is_of_folder(noted: str) -> bool:
    """Whether what Spark has noted of a source, how far a stream is, is of files; else it is of topics."""
    try:
        return isinstance(json.loads(noted).get("logOffset"), int)
    except (ValueError, AttributeError):
        return noted.strip().isdecimal()


def require_reachable(bootstrap: str) -> None:
    """Raise AnalyticsError if no broker of the list takes a connection; Spark itself would try for minutes."""
    faults: list[str] = []
    for address in bootstrap.split(","):
        host, colon, port = address.strip().rpartition(":")
        number = read_count(port, PORT_MAX)
        if not colon or not number:
            raise AnalyticsError(f"{NO_TOPIC}: {address!r} is no HOST:PORT; write --bootstrap like 127.0.0.1:9092")
        try:
            with socket.create_connection((host.strip("[]"), number), timeout=REACH_TIMEOUT_S):
                return
        except OSError as problem:
            faults.append(f"{address}: {problem.strerror or problem}")
    raise AnalyticsError(
        f"{NO_TOPIC}: no broker of --bootstrap takes connections ({'; '.join(faults)}); "
        "check that Kafka runs and that the address is the one its clients use"
    )


def require_client_file(path: str | None) -> None:
    """Raise AnalyticsError if a file with settings of Kafka's client is named that can't be read."""
    if path is None:
        return
    try:
        Path(path).open("rb").close()
    except OSError as problem:
        raise AnalyticsError(
            f"{NO_SETTINGS}: {path}, which --kafka-config names, can't be read: {problem.strerror or problem}; name a "
            "file with settings of Kafka's clients, a line each, such as security.protocol=SASL_SSL"
        ) from problem


def client_settings(spark: SparkSession, path: str) -> dict[str, str]:
    """The settings in a file, as Kafka's own tools read it (`--command-config`): by Java, which has rules of its own
    for what is a comment, an escape, or a line that goes on.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "Spark runs"
    settings, file = jvm.java.util.Properties(), jvm.java.io.FileInputStream(str(Path(path).resolve()))
    try:
        settings.load(file)
    finally:
        file.close()
    return {str(name): str(settings.getProperty(name)) for name in settings.stringPropertyNames()}


def connector_jars(places: Sequence[str]) -> dict[str, str]:
    """The setting that brings jars into a session; each place is a jar or a folder of jars."""
    jars: list[str] = []
    for place in places:
        found = sorted(str(jar) for jar in Path(place).glob("*.jar")) if Path(place).is_dir() else [place]
        if not found or not all("://" in jar or Path(jar).is_file() for jar in found):
            raise AnalyticsError(f"{NO_CONNECTOR}: --jars {place} is no jar and no folder with jars; check the path")
        jars += found
    return {"spark.jars": ",".join(jars)} if jars else {}
