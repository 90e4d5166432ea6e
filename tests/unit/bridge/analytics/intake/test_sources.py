"""Where streams come from, and what is said when they can't."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.sources import (
    FolderSource,
    TopicSource,
    connector_jars,
    require_client_file,
    require_reachable,
)
from tests.support.spark import records_of


def test_broker_that_listens_is_reachable() -> None:
    """One of the list is enough."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        require_reachable(f"127.0.0.1:1,127.0.0.1:{port}")


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:kafka", "h:70000", "h:²"])
def test_broker_out_of_reach_is_one_sentence(bootstrap: str) -> None:
    """Issue: an unreachable topic."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-005: .*(check that Kafka runs|write --bootstrap)"):
        require_reachable(bootstrap)


def test_settings_of_the_client_are_read_as_kafkas_tools_read_them(spark: SparkSession, tmp_path: Path) -> None:
    """Comments, blanks, escapes and lines that go on are Java's; what the command names itself stays what it is."""
    file = tmp_path / "client.properties"
    file.write_text(
        "# one\n! two\nsecurity.protocol = SSL\nbootstrap.servers=other:1\nfetch.max.wait.ms: 7\n"
        'sasl.jaas.config=org.Module required \\\n   password="a\\u00e9=b";\n'
    )
    source = TopicSource(bootstrap="h:1", topic="t", batch_lines=1)
    told = replace(source, client_file=str(file)).options(spark)
    changed = {name: value for name, value in told.items() if source.options(spark).get(name) != value}
    assert changed == {
        "kafka.security.protocol": "SSL",
        "kafka.fetch.max.wait.ms": "7",
        "kafka.sasl.jaas.config": 'org.Module required password="aé=b";',
    }


def test_settings_that_can_not_be_read_are_one_sentence(tmp_path: Path) -> None:
    """Before Spark starts."""
    require_client_file(None)
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-043: {path}, .*security\.protocol=SASL_SSL"):
            require_client_file(str(path))


def test_missing_kafka_source_says_where_jars_come_from(spark: SparkSession) -> None:
    """PySpark brings none."""
    source = TopicSource(bootstrap="127.0.0.1:1", topic="t", batch_lines=1)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-006: .*--jars DIR"):
        source.rows(spark)


def test_batch_of_records_has_their_lines(spark: SparkSession) -> None:
    """And the records themselves, for whoever can write them down."""
    records = records_of(spark, [("one\ntwo", "t-0")])
    delivery = TopicSource(bootstrap="127.0.0.1:1", topic="t", batch_lines=1).delivery(records)
    assert delivery.records is records
    assert delivery.lines.collect() == [("one", "t-0"), ("two", "t-0")]


def test_folder_gives_files_and_a_batch_of_them_their_lines(spark: SparkSession, tmp_path: Path) -> None:
    """The paths stream; the lines have the same two columns as from a topic."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    log = folder / "events-b1-000001.jsonl"
    log.write_text("hello\n")
    source = FolderSource(folder=str(folder), batch_files=1)
    rows = source.rows(spark)
    assert (rows.isStreaming, rows.columns) == (True, ["path"])
    delivery = source.delivery(spark.createDataFrame([(log.as_uri(),)], "path string"))
    assert delivery.files == (LogFile(str(log), log.name),)
    assert delivery.lines.collect() == [("hello", log.name)]


def test_jars_are_named_one_by_one_or_by_folder(tmp_path: Path) -> None:
    """None are no setting at all."""
    for name in ("b.jar", "a.jar", "readme"):
        (tmp_path / name).write_text("")
    a, b = str(tmp_path / "a.jar"), str(tmp_path / "b.jar")
    assert connector_jars([]) == {}
    assert connector_jars([str(tmp_path)]) == {"spark.jars": f"{a},{b}"}
    assert connector_jars([b, "hdfs://x/y.jar"]) == {"spark.jars": f"{b},hdfs://x/y.jar"}


def test_jars_that_are_not_there_are_refused(tmp_path: Path) -> None:
    """Spark would only warn."""
    for place in (tmp_path, tmp_path / "a.jar"):
        with pytest.raises(AnalyticsError, match="EB-ANALYTICS-006"):
            connector_jars([str(place)])
