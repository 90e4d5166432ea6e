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
from bridge.demo.kafka_jars import IVY_SETTINGS, Coordinate, ivy_jar, parse_coordinate, run_resolver
from bridge.demo.kafka_java import find_java, trust_options

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


def pom(coordinates: Sequence[Coordinate]) -> str:
    """A pom of these jars and nothing they depend on: the rest PySpark has."""
    nothing = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{one.group}</groupId><artifactId>{one.artifact}</artifactId>"
        f"<version>{one.version}</version>{nothing}</dependency>"
        for one in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>local</groupId><artifactId>connector</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def ivy(coordinates: Sequence[Coordinate]) -> str:
    """The same for Ivy."""
    dependencies = "".join(
        f'<dependency org="{one.group}" name="{one.artifact}" rev="{one.version}" transitive="false"'
        ' conf="default->default"/>'
        for one in coordinates
    )
    return (
        '<ivy-module version="2.0"><info organisation="local" module="connector"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def resolve(coordinates: Sequence[Coordinate], folder: Path) -> None:
    """Put these jars into a folder; raise KafkaLaunchError if one can't be had."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        maven, carried = shutil.which("mvn"), ivy_jar()
        if maven is not None:
            (work / "pom.xml").write_text(pom(coordinates), encoding="utf-8")
            run_resolver([maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], work)
        elif carried is not None:
            (work / "ivysettings.xml").write_text(IVY_SETTINGS, encoding="utf-8")
            (work / "ivy.xml").write_text(ivy(coordinates), encoding="utf-8")
            java = [str(find_java()), *trust_options(work), f"-Divy.default.ivy.user.dir={work / 'ivy'}"]
            files = ["-settings", str(work / "ivysettings.xml"), "-ivy", str(work / "ivy.xml"), "-confs", "default"]
            pattern = str(folder / "[artifact]-[revision](-[classifier]).[ext]")
            run_resolver([*java, "-jar", str(carried), *files, "-retrieve", pattern, "-warn"], work)


def fetch(folder: Path) -> list[Path]:
    """The jars for the Spark that is installed: its own connector where that is published, else the next best."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        resolve([parse_coordinate(text) for text in (*matching(spark_version), *BESIDE)], folder)
    except KafkaLaunchError:
        for partial in folder.glob("*.jar"):
            partial.unlink()
        resolve([parse_coordinate(text) for text in (*NEXT_BEST, *BESIDE)], folder)
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
