"""What travels to a cluster."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from bridge.demo.kafka_jars import parse_coordinate
from deploy.spark.connector import BESIDE, ivy, matching, pom
from deploy.spark.package import ROOT, members, pack


def test_package_is_the_same_for_the_same_code(tmp_path: Path) -> None:
    """Byte by byte."""
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    assert pack(one) == pack(other) == len(list(members(ROOT)))
    assert one.read_bytes() == other.read_bytes()


def test_package_is_complete(tmp_path: Path) -> None:
    """Every module of the room can be loaded from it alone."""
    package = tmp_path / "code.zip"
    pack(package)
    names = [name for name in ZipFile(package).namelist() if name.startswith("bridge/analytics/")]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    program = f"import importlib, sys; sys.path.insert(0, {str(package)!r})\n"
    program += f"for name in {modules!r}: assert 'code.zip' in importlib.import_module(name).__file__\n"
    subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, check=True)


def test_connector_is_asked_for_without_what_it_depends_on() -> None:
    """PySpark has the rest, and some of it is not published."""
    wanted = [parse_coordinate(text) for text in (*matching("4.3.0"), *BESIDE)]
    assert pom(wanted).count("<exclusion>") == ivy(wanted).count('transitive="false"') == len(wanted)
    assert matching("4.3.0")[0] == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
