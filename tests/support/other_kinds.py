"""Clients of groups that are none of consumers, in Java: Kafka Streams by KIP-1071, share consumers, Connect's workers.

Each is a process whose output is read; it must not know the bridge.
"""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridge.demo.kafka_broker import KafkaTools
from bridge.demo.kafka_jars import cache_directory, keep, locked, parse_coordinate, resolve

STREAMS_APP = Path(__file__).parent / "java" / "StreamsApp.java"
PATIENCE_S = 120.0
LOOK_S = 0.2
STOP_S = 30.0


class JavaProgram:
    """A running program, and all that it has said so far."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=directory
        )
        self._said: list[str] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def said(self) -> str:
        """Its output so far."""
        return "".join(self._said)

    def wait_for(self, is_reached: Callable[[str], bool], what: str) -> None:
        """Wait until its output is so, or fail with it."""
        give_up_s = time.monotonic() + PATIENCE_S
        while not is_reached(self.said):
            assert self._process.poll() is None, f"it ended before {what}: {self.said[-4000:]}"
            assert time.monotonic() < give_up_s, f"no {what} within {PATIENCE_S:.0f} s: {self.said[-4000:]}"
            time.sleep(LOOK_S)

    def stop(self) -> None:
        """End it in good order, or at once if it does not."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(STOP_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self._said.append(line.decode(errors="replace"))


@contextmanager
def running(command: Sequence[str], directory: Path) -> Iterator[JavaProgram]:
    """Run a program until the end of the block."""
    program = JavaProgram(command, directory)
    try:
        yield program
    finally:
        program.stop()


def streams_jars(version: str) -> Path:
    """The directory with the jars of Kafka Streams, fetched if this machine has none yet; blocks."""
    final = cache_directory(f"streams-{version}", os.environ, Path.home())
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.parent / f"streams-{version}.lock"):
        if not final.is_dir():
            with tempfile.TemporaryDirectory(dir=final.parent) as work:
                keep(resolve([parse_coordinate(f"org.apache.kafka:kafka-streams:{version}")], Path(work)), final)
    return final


def streams_command(tools: KafkaTools, bootstrap: str, group: str, topics: tuple[str, str], state: Path) -> list[str]:
    """Copies one topic to the other in a streams group, and says each state that it comes to."""
    jars = streams_jars(tools.version)
    java = [str(tools.java), "-Xmx256m", tools.logging_option, "-cp", f"{jars}/*:{tools.classpath}"]
    return [*java, str(STREAMS_APP), bootstrap, group, *topics, str(state)]


def share_command(tools: KafkaTools, bootstrap: str, group: str, topic: str) -> list[str]:
    """Kafka's own share consumer, which prints a line of JSON for whatever befalls it."""
    return tools.command(
        *("org.apache.kafka.tools.VerifiableShareConsumer", "--bootstrap-server", bootstrap, "--topic", topic),
        *("--group-id", group, "--offset-reset-strategy", "earliest"),
    )


def connect_command(tools: KafkaTools, bootstrap: str, group: str, directory: Path, port: int) -> list[str]:
    """A worker of Connect's distributed mode without connectors; its REST API is at `port`."""
    settings: Mapping[str, str] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("offset", "config", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "config", "status")},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "listeners": f"http://127.0.0.1:{port}",
    }
    file = directory / f"worker-{port}.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    return tools.command("org.apache.kafka.connect.cli.ConnectDistributed", str(file))
