"""A real Apache Kafka in a child process: KRaft, one node, loopback only; started, asked whether it answers, stopped,
killed and started again, with Kafka's own command line programs at hand.
"""

import base64
import signal
import socket
import struct
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.free_ports import FREE_PORTS, PORT_FIRST, PORT_LAST
from bridge.demo.kafka_jars import kafka_jars
from bridge.demo.kafka_java import archive_options, find_java
from bridge.demo.kafka_properties import (
    BrokerPlace,
    BrokerSettings,
    render_properties,
    server_properties,
    write_logging,
)

API_VERSIONS_KEY = 18
CORRELATION_ID = 1
CLIENT_ID = b"epochbridge-probe"
PROBE_TIMEOUT_S = 5.0
REPLY_BYTES_MAX = 65_536


def encode_probe() -> bytes:
    """Return a framed ApiVersions v0 request: the one version that every broker since 0.10 understands."""
    header = struct.pack(">hhih", API_VERSIONS_KEY, 0, CORRELATION_ID, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header)) + header


def decode_probe(body: bytes) -> dict[int, tuple[int, int]]:
    """Return api key -> (lowest, highest version) from an ApiVersions v0 reply; raise ValueError if it isn't one."""
    try:
        correlation_id, error, count = struct.unpack_from(">ihi", body)
        entries = list(struct.iter_unpack(">hhh", body[10:]))
    except struct.error as fault:
        raise ValueError(f"{len(body)} bytes are no ApiVersions reply") from fault
    if correlation_id != CORRELATION_ID or error != 0 or count != len(entries):
        raise ValueError(f"reply {correlation_id}, error {error}, {len(entries)} of {count} APIs")
    return {key: (low, high) for key, low, high in entries}


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """Receive that many bytes; raise ConnectionError if the peer closes before."""
    received = b""
    while len(received) < count:
        chunk = connection.recv(count - len(received))
        if not chunk:
            raise ConnectionError(f"closed after {len(received)} of {count} bytes")
        received += chunk
    return received


def ask_api_versions(host: str, port: int) -> dict[int, tuple[int, int]]:
    """Ask one broker which APIs it offers; raise OSError if it isn't reached and ValueError if it answers nonsense."""
    with socket.create_connection((host, port), timeout=PROBE_TIMEOUT_S) as connection:
        connection.sendall(encode_probe())
        (size,) = struct.unpack(">i", receive_exactly(connection, 4))
        if not 0 < size <= REPLY_BYTES_MAX:
            raise ValueError(f"a reply of {size} bytes")
        return decode_probe(receive_exactly(connection, size))


TOOL_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a program left: exit status and both outputs as text."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTools:
    """How to run one version's programs: the Java executable, the class path, the option that quiets logging, and what
    else Java is told.
    """

    version: str
    java: Path
    classpath: str
    logging_option: str
    java_options: tuple[str, ...] = ()

    def command(self, class_name: str, *arguments: str) -> list[str]:
        """Return the command line, for callers that keep the program running (VerifiableConsumer)."""
        java = [str(self.java), "-Xmx256m", *self.java_options, self.logging_option, "-cp", self.classpath]
        return [*java, class_name, *arguments]

    def run(self, class_name: str, *arguments: str) -> ToolResult:
        """Run a program to its end; raise KafkaLaunchError (EB-KAFKA-006) if it doesn't run or takes over 120 s."""
        command = self.command(class_name, *arguments)
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise KafkaLaunchError(f"EB-KAFKA-006: {class_name} did not run: {fault}") from fault
        return ToolResult(returncode=answer.returncode, stdout=answer.stdout, stderr=answer.stderr)


def find_tools(version: str, *, directory: Path) -> KafkaTools:
    """Return the programs of this version, fetching its jars if need be; their log settings go into `directory`."""
    java = find_java()
    jars = kafka_jars(version)
    directory.mkdir(parents=True, exist_ok=True)
    option = write_logging(version, directory / "tools-log.properties", level="error", stream="System.err")
    return KafkaTools(
        version=version,
        java=java,
        classpath=str(jars / "*"),
        logging_option=option,
        java_options=archive_options(java, jars),
    )


HOST = "127.0.0.1"
READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.1
LOG_TAIL_LINES = 40


def free_ports(count: int) -> list[int]:
    """Return loopback ports that nothing listens on and that nobody else draws, also while this broker is dead."""
    ports = FREE_PORTS.draw(count)
    if ports is None:
        raise KafkaLaunchError(
            f"EB-KAFKA-004: no {count} free ports in a row between {PORT_FIRST} and {PORT_LAST} on {HOST}"
        )
    return list(ports)


def fresh_cluster_id() -> str:
    """Return a cluster id as Kafka writes them: a random UUID in URL-safe base64, never with a leading dash."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return f"A{text[1:]}" if text.startswith("-") else text


class KafkaBroker:
    """One broker: its ports, files and process. The process may come and go; ports and data stay.

    Used as a context manager it is stopped at the end. Every failure is a KafkaLaunchError.
    """

    def __init__(self, settings: BrokerSettings, place: BrokerPlace, tools: KafkaTools) -> None:
        self.version = settings.version
        self.bootstrap = f"{HOST}:{place.client_port}"
        self.tools = tools
        self._port = place.client_port
        self._log = place.directory / "server.log"
        self._properties = place.directory / "server.properties"
        self._directory = place.directory
        self._process: subprocess.Popen[bytes] | None = None
        log_settings = place.directory / "server-log.properties"
        self._logging = write_logging(settings.version, log_settings, level="info", stream="System.out")
        self._properties.write_text(render_properties(server_properties(settings, place)), encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The process id while the broker runs, else None."""
        return None if self._process is None else self._process.pid

    @property
    def java(self) -> Path:
        """The Java executable that runs this broker."""
        return self.tools.java

    @property
    def classpath(self) -> str:
        """The class path of this broker's version: its jars and its tools' jars."""
        return self.tools.classpath

    def format(self, cluster_id: str = "") -> None:
        """Write the empty metadata log that KRaft starts from, once in the life of the data directory.

        Brokers of one cluster are formatted with one id; without one the broker is a cluster of its own.
        """
        arguments = ("format", "-t", cluster_id or fresh_cluster_id(), "-c", str(self._properties))
        result = self.run_tool("kafka.tools.StorageTool", *arguments)
        if result.returncode != 0:
            raise KafkaLaunchError(
                f"EB-KAFKA-005: Kafka {self.version} refused to format its storage, most likely because of an entry in "
                f"{self._properties}. It said:\n{result.stdout}{result.stderr}"
            )

    def start(self) -> None:
        """Start the process on the broker's own ports and data, and return when it answers; nothing if it runs."""
        if self._process is not None:
            return
        heap = ("-Xmx512m", "-Xms128m")
        command = [str(self.java), *heap, *self.tools.java_options, self._logging, "-cp", self.classpath]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._directory,
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """Ask the process to end (SIGTERM), insist after 30 s (SIGKILL); nothing if it doesn't run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, as `kill -9` does; nothing if it doesn't run."""
        self._end(signal.SIGKILL)

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of what the broker printed, over all its starts."""
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def run_tool(self, class_name: str, *arguments: str) -> ToolResult:
        """Run one of Kafka's own tools by its class, with the jars of this broker's version."""
        return self.tools.run(class_name, *arguments)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        seen = "no answer yet"
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                status, self._process = self._process.returncode, None
                raise KafkaLaunchError(
                    f"EB-KAFKA-007: Kafka {self.version} ended at start with status {status}. "
                    f"It said:\n{self.log_tail()}"
                )
            try:
                ask_api_versions(HOST, self._port)
            except (OSError, ValueError) as fault:
                seen = str(fault)
                time.sleep(POLL_S)
            else:
                return
        self.kill()
        raise KafkaLaunchError(
            f"EB-KAFKA-008: Kafka {self.version} did not answer on {self.bootstrap} within {READY_TIMEOUT_S:.0f} s "
            f"({seen}). It said:\n{self.log_tail()}"
        )

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_broker(settings: BrokerSettings, *, directory: Path) -> KafkaBroker:
    """Fetch this Kafka if need be, format fresh storage in `directory`, and return the broker when it answers.

    Raises KafkaLaunchError. Whatever interrupts the start ends the process too.
    """
    tools = find_tools(settings.version, directory=directory)
    client_port, controller_port = free_ports(2)
    place = BrokerPlace(client_port=client_port, controller_port=controller_port, directory=directory)
    broker = KafkaBroker(settings, place, tools)
    broker.format()
    try:
        broker.start()
    except BaseException:
        broker.kill()
        raise
    return broker
