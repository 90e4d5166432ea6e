"""Fetches the jars of Spark's Kafka source, which PySpark does not carry, into a folder for `analytics stream --jars`.

It knows which jars fit which Spark, and must not know where they are fetched from: Maven or Ivy decide that.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from pyspark import __version__ as spark_version

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_jars import Coordinate, parse_coordinate, resolve

SPARK = "org.apache.spark"
NEXT_BEST = (
    f"{SPARK}:spark-sql-kafka-0-10_2.13:4.2.0",
    f"{SPARK}:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
)
"""For a Spark whose own connector is not published as a whole: these two ran on PySpark 4.2.0 and 4.3.0."""
BESIDE = ("org.apache.kafka:kafka-clients:3.9.2", "org.apache.commons:commons-pool2:2.13.1")


def matching(version: str) -> tuple[str, ...]:
    """The connector of exactly this Spark."""
    names = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
    return tuple(f"{SPARK}:{name}:{version}" for name in names)


def put(coordinates: Sequence[Coordinate], folder: Path) -> None:
    """Put these jars into a folder, and nothing they depend on: the rest PySpark has.

    Raises KafkaLaunchError if one can't be had.
    """
    with tempfile.TemporaryDirectory() as work:
        for jar in resolve(coordinates, Path(work), is_alone=True).glob("*.jar"):
            shutil.move(jar, folder / jar.name)


def fetch(folder: Path) -> list[Path]:
    """The jars for the Spark that is installed: its own connector where that is published, else the next best."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        put([parse_coordinate(text) for text in (*matching(spark_version), *BESIDE)], folder)
    except KafkaLaunchError:
        put([parse_coordinate(text) for text in (*NEXT_BEST, *BESIDE)], folder)
    return sorted(folder.glob("*.jar"))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def main(folder: Path) -> None:
    """Fetch the jars into FOLDER."""
    try:
        for jar in fetch(folder):
            click.echo(jar)
    except KafkaLaunchError as problem:
        raise click.ClickException(str(problem)) from problem


if __name__ == "__main__":
    sys.exit(main())
