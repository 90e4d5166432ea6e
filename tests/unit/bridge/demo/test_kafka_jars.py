"""How Kafka's jars are named to a resolver, where they are kept, and what is said when they can't be had."""

import fcntl
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bridge.demo import kafka_jars as jars_module
from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_jars import (
    Coordinate,
    cache_directory,
    ivy_jar,
    kafka_coordinates,
    kafka_jars,
    keep,
    locked,
    parse_coordinate,
    render_ivy,
    render_pom,
    resolve,
    resolve_with_maven,
)

HOME = Path("/home/anyone")
MAVEN_NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"


def write_program(path: Path, script: str) -> None:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "binding"), [("4.3.1", "log4j-slf4j-impl"), ("3.9.1", "slf4j-reload4j"), ("3.7.0", "slf4j-reload4j")]
)
def test_version_decides_logging_backend(version: str, binding: str) -> None:
    """Broker and tools are of the same version; the binding fits what that version logs with."""
    broker, tools, logging = kafka_coordinates(version)
    assert broker == Coordinate(group="org.apache.kafka", artifact="kafka_2.13", version=version)
    assert tools == Coordinate(group="org.apache.kafka", artifact="kafka-tools", version=version)
    assert logging.artifact == binding


def test_pom_names_every_coordinate() -> None:
    """Maven reads group, artifact and version from the dependencies."""
    tree = ET.fromstring(render_pom(kafka_coordinates("4.3.1")))
    found = [
        Coordinate(group=one[0].text or "", artifact=one[1].text or "", version=one[2].text or "")
        for one in tree.iter(f"{MAVEN_NAMESPACE}dependency")
    ]
    assert tuple(found) == kafka_coordinates("4.3.1")


def test_ivy_module_names_every_coordinate() -> None:
    """Ivy reads org, name and rev, and takes what is needed at run time."""
    tree = ET.fromstring(render_ivy(kafka_coordinates("3.9.1")))
    found = [(one.get("org"), one.get("name"), one.get("rev"), one.get("conf")) for one in tree.iter("dependency")]
    assert found == [
        (one.group, one.artifact, one.version, "default->default(runtime)") for one in kafka_coordinates("3.9.1")
    ]


def test_coordinates_alone_come_without_what_they_depend_on() -> None:
    """As the jars of Spark's Kafka source do: the rest PySpark has, in versions of its own."""
    pom = ET.fromstring(render_pom(kafka_coordinates("4.3.1"), is_alone=True))
    excluded = [one[0].text for one in pom.iter(f"{MAVEN_NAMESPACE}exclusion")]
    assert excluded == ["*"] * len(kafka_coordinates("4.3.1"))
    ivy = ET.fromstring(render_ivy(kafka_coordinates("4.3.1"), is_alone=True))
    assert {(one.get("transitive"), one.get("conf")) for one in ivy.iter("dependency")} == {
        ("false", "default->default")
    }


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({}, "/home/anyone/.cache"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches"),
        ({"XDG_CACHE_HOME": "rel"}, "/home/anyone/.cache"),
    ],
)
def test_cache_follows_xdg(environment: dict[str, str], root: str) -> None:
    """XDG base directories: an absolute XDG_CACHE_HOME wins, a relative one is ignored."""
    assert cache_directory("4.3.1", environment, HOME) == Path(root, "epochbridge", "kafka", "4.3.1")


def test_second_copy_gives_way_to_first(tmp_path: Path) -> None:
    """Two runs that resolve at once: the rename of the later one finds a full directory, which stands."""
    first, second, final = tmp_path / "one", tmp_path / "two", tmp_path / "final"
    for folder in (first, second):
        folder.mkdir()
        (folder / "a.jar").write_text(folder.name, encoding="utf-8")
    keep(first, final)
    keep(second, final)
    assert (final / "a.jar").read_text(encoding="utf-8") == "one"


def test_failed_resolver_is_a_sentence_with_its_words(tmp_path: Path) -> None:
    """EB-KAFKA-003 carries what the resolver said."""
    maven = tmp_path / "mvn"
    write_program(maven, "echo unknown host; exit 3")
    with pytest.raises(KafkaLaunchError, match=r"(?s)^EB-KAFKA-003: .*exit status 3.*unknown host$"):
        resolve_with_maven(str(maven), kafka_coordinates("4.3.1"), tmp_path)


def test_no_resolver_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EB-KAFKA-002 names both ways out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jars_module, "ivy_jar", lambda: None)
    with pytest.raises(KafkaLaunchError, match=r"^EB-KAFKA-002: .*Install Maven, or run: pip install 'epochbridge"):
        resolve([parse_coordinate("a:b:1")], tmp_path)


def test_cached_version_asks_no_resolver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once kept, a version is found without mvn, Java or network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    kept = tmp_path / "epochbridge" / "kafka" / "4.3.1"
    kept.mkdir(parents=True)
    assert kafka_jars("4.3.1") == kept


def test_resolver_that_leaves_nothing_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that ends well without the broker's jar must not fill the cache."""
    programs = tmp_path / "programs"
    programs.mkdir()
    write_program(programs / "mvn", "mkdir -p jars")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    with pytest.raises(KafkaLaunchError, match=r"^EB-KAFKA-003: .*no kafka_2\.13-4\.3\.1\.jar"):
        kafka_jars("4.3.1")
    assert [path for path in (tmp_path / "epochbridge" / "kafka").iterdir() if path.is_dir()] == []


def test_lock_keeps_others_out_until_it_is_given_back(tmp_path: Path) -> None:
    """Two processes that both miss a version must not both fetch it."""
    path = tmp_path / "lock"
    with path.open("w") as other:
        with locked(path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_ivy_comes_with_pyspark_or_not_at_all() -> None:
    """Unit tests run with and without PySpark."""
    found = ivy_jar()
    assert found is None or (found.name.startswith("ivy-") and found.is_file())
