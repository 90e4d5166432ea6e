"""The resolver for machines without Maven, on a small artefact; the brokers' own jars come by whichever is at hand."""

from pathlib import Path

from bridge.demo.kafka_jars import ivy_jar, parse_coordinate, resolve_with_ivy


def test_ivy_of_pyspark_fetches_without_maven(tmp_path: Path) -> None:
    """PySpark's Ivy brings an artefact with what it needs at run time, from an empty cache."""
    ivy = ivy_jar()
    assert ivy is not None, "PySpark is not installed; run the tests with: tox run -e endtoend"
    jars = resolve_with_ivy(ivy, [parse_coordinate("org.slf4j:slf4j-reload4j:1.7.36")], tmp_path)
    assert {path.name.partition("-1.")[0] for path in jars.glob("*.jar")} == {"slf4j-reload4j", "slf4j-api", "reload4j"}
