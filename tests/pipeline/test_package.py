"""What travels to a cluster."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from deploy.spark.connector import fetch, matching
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


RESOLVER = """#!/bin/sh
for one in "$@"; do case "$one" in -DoutputDirectory=*) out="${one#*=}";; esac; done
grep -q preview1 pom.xml || { echo "not published"; exit 1; }
mkdir -p "$out" && touch "$out/connector.jar"
"""


def test_connector_is_that_of_the_spark_which_is_there() -> None:
    """Where it is published."""
    assert matching("4.3.0")[0] == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"


def test_next_best_connector_comes_beside_what_is_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody keeps other jars there, for `--jars` too."""
    programs, folder = tmp_path / "programs", tmp_path / "jars"
    programs.mkdir()
    folder.mkdir()
    (folder / "own.jar").touch()
    (programs / "mvn").write_text(RESOLVER, encoding="utf-8")
    (programs / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    assert [jar.name for jar in fetch(folder)] == ["connector.jar", "own.jar"]
