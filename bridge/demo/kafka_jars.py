"""Where Apache Kafka's jars are, fetched once per version and kept outside the source tree.

It knows the coordinates and the two resolvers (Maven, or the Ivy that PySpark carries), and never where they look.
"""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_java import find_java, trust_options
from bridge.demo.kafka_properties import LOG4J2_SINCE_MAJOR, major_version

RESOLVE_TIMEOUT_S = 900
LOG4J2_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
LOG4J1_BINDING = "org.slf4j:slf4j-reload4j:1.7.36"

IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="${ivy.default.ivy.user.dir}/cache"/>
  <resolvers><ibiblio name="central" m2compatible="true" useMavenMetadata="false"/></resolvers>
</ivysettings>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """One artefact of a Maven repository."""

    group: str
    artifact: str
    version: str


def parse_coordinate(text: str) -> Coordinate:
    """Read group:artifact:version."""
    group, artifact, version = text.split(":")
    return Coordinate(group=group, artifact=artifact, version=version)


def kafka_coordinates(version: str) -> tuple[Coordinate, ...]:
    """Return what a broker of this version and its command line tools need, and a logging backend it can use."""
    binding = LOG4J2_BINDING if major_version(version) >= LOG4J2_SINCE_MAJOR else LOG4J1_BINDING
    kafka = (f"org.apache.kafka:kafka_2.13:{version}", f"org.apache.kafka:kafka-tools:{version}")
    return tuple(parse_coordinate(text) for text in (*kafka, binding))


NOTHING_ELSE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
"""Behind a dependency of a pom: none of those that it has in turn."""


def render_pom(coordinates: Sequence[Coordinate], *, is_alone: bool = False) -> str:
    """Return a pom whose only content is the coordinates; where they are alone, without what they depend on."""
    without = NOTHING_ELSE if is_alone else ""
    dependencies = "".join(
        f"    <dependency><groupId>{one.group}</groupId><artifactId>{one.artifact}</artifactId>"
        f"<version>{one.version}</version>{without}</dependency>\n"
        for one in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n  <modelVersion>4.0.0</modelVersion>\n'
        "  <groupId>local</groupId><artifactId>kafka-jars</artifactId><version>1</version>\n"
        f"  <dependencies>\n{dependencies}  </dependencies>\n</project>\n"
    )


def render_ivy(coordinates: Sequence[Coordinate], *, is_alone: bool = False) -> str:
    """Return an Ivy module whose only content is the coordinates, with what they need at run time or alone."""
    wanted = 'transitive="false" conf="default->default"' if is_alone else 'conf="default->default(runtime)"'
    dependencies = "".join(
        f"    <dependency org={quoteattr(one.group)} name={quoteattr(one.artifact)} rev={quoteattr(one.version)}"
        f" {wanted}/>\n"
        for one in coordinates
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="local" module="kafka-jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}  </dependencies>\n</ivy-module>\n"
    )


def cache_directory(version: str, environment: Mapping[str, str], home: Path) -> Path:
    """Return where the jars of this version are kept, by the XDG rule that a relative XDG_CACHE_HOME is ignored."""
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    root = named if named.is_absolute() else home / ".cache"
    return root / "epochbridge" / "kafka" / version


def ivy_jar() -> Path | None:
    """Return the Ivy that PySpark carries, or None if PySpark is not installed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar"))), None)


def run_resolver(command: Sequence[str], work: Path) -> None:
    """Run one resolver in a directory; raise KafkaLaunchError (EB-KAFKA-003) with the end of its words if it fails."""
    try:
        answer = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=RESOLVE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise KafkaLaunchError(f"EB-KAFKA-003: {command[0]} could not resolve Kafka's jars: {fault}") from fault
    if answer.returncode != 0:
        words = "\n".join((answer.stdout + answer.stderr).strip().splitlines()[-15:])
        raise KafkaLaunchError(
            f"EB-KAFKA-003: {command[0]} could not resolve Kafka's jars (exit status {answer.returncode}). "
            f"Most likely the network is out of reach; check it and run again. It said:\n{words}"
        )


def resolve_with_maven(maven: str, coordinates: Sequence[Coordinate], work: Path, *, is_alone: bool = False) -> Path:
    """Resolve with Maven into a fresh directory below `work` and return that directory."""
    (work / "pom.xml").write_text(render_pom(coordinates, is_alone=is_alone), encoding="utf-8")
    jars = work / "jars"
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    run_resolver([maven, "-q", "-B", "dependency:copy-dependencies", *options], work)
    return jars


def resolve_with_ivy(ivy: Path, coordinates: Sequence[Coordinate], work: Path, *, is_alone: bool = False) -> Path:
    """Resolve with Ivy into a fresh directory below `work` and return that directory.

    Ivy wants absolute directories; some of the jars are OSGi bundles, which it fetches only when asked to.
    """
    (work / "ivysettings.xml").write_text(IVY_SETTINGS, encoding="utf-8")
    (work / "ivy.xml").write_text(render_ivy(coordinates, is_alone=is_alone), encoding="utf-8")
    files = ["-settings", str(work / "ivysettings.xml"), "-ivy", str(work / "ivy.xml"), "-confs", "default"]
    pattern = str(work / "jars" / "[artifact]-[revision](-[classifier]).[ext]")
    user_directory = f"-Divy.default.ivy.user.dir={work / 'ivy'}"
    retrieve = ["-retrieve", pattern, "-types", "jar", "bundle", "-warn"]
    java = [str(find_java()), *trust_options(work), user_directory]
    run_resolver([*java, "-jar", str(ivy), *files, *retrieve], work)
    return work / "jars"


def resolve(coordinates: Sequence[Coordinate], work: Path, *, is_alone: bool = False) -> Path:
    """Resolve with whichever resolver this machine has; raise KafkaLaunchError (EB-KAFKA-002) if it has none.

    Where they are alone, without what the coordinates depend on.
    """
    maven = shutil.which("mvn")
    if maven is not None:
        return resolve_with_maven(maven, coordinates, work, is_alone=is_alone)
    ivy = ivy_jar()
    if ivy is not None:
        return resolve_with_ivy(ivy, coordinates, work, is_alone=is_alone)
    raise KafkaLaunchError(
        "EB-KAFKA-002: nothing here can fetch Apache Kafka: there is no mvn on PATH and PySpark is not installed. "
        "Install Maven, or run: pip install 'epochbridge[spark]'"
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only process of this machine that is in here with this path, made if need be; the others wait."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def keep(fresh: Path, final: Path) -> None:
    """Move a complete directory to its final name at once; if another process was first, its copy stands."""
    try:
        fresh.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def kafka_jars(version: str) -> Path:
    """Return the directory that holds all jars of this Kafka version, fetching them if this machine has none yet."""
    final = cache_directory(version, os.environ, Path.home())
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.parent / f"{version}.lock"), tempfile.TemporaryDirectory(dir=final.parent) as work:
        if final.is_dir():
            return final
        jars = resolve(kafka_coordinates(version), Path(work))
        if not any(jars.glob(f"kafka_2.13-{version}.jar")):
            raise KafkaLaunchError(f"EB-KAFKA-003: the resolver ended well but left no kafka_2.13-{version}.jar")
        keep(jars, final)
    return final
