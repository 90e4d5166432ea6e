"""Java's own consumer as a member process: runs Kafka's VerifiableConsumer and translates what it prints."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.events import EventWriter, Protocol, now_ns
from bridge.demo.kafka_java import archive_options
from bridge.demo.members.process import MemberOptions, StopSignal, parse_member_options
from bridge.demo.members.recorder import Recorder

LOOK_S = 0.05
TRANSLATOR = (sys.executable, "-m", "tests.support.clients.java_translator")
PACKAGE = "org.apache.kafka.clients.consumer"
ASSIGNORS: Mapping[str, str] = {
    "range": f"{PACKAGE}.RangeAssignor",
    "roundrobin": f"{PACKAGE}.RoundRobinAssignor",
    "sticky": f"{PACKAGE}.StickyAssignor",
    "cooperative-sticky": f"{PACKAGE}.CooperativeStickyAssignor",
    "default": f"{PACKAGE}.RangeAssignor,{PACKAGE}.CooperativeStickyAssignor",
}
"""By the names the other clients use; "default" is Java's own list, which runs eagerly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Which Java runs which jars."""

    java: str
    classpath: str
    library_version: str


def parse_runtime(arguments: Sequence[str]) -> tuple[Runtime, list[str]]:
    """The wrapper's own options, and the rest, which is every member's."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--java", required=True)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--library-version", default="")
    parsed, rest = parser.parse_known_args(arguments)
    return Runtime(java=parsed.java, classpath=parsed.classpath, library_version=parsed.library_version), rest


def consumer_properties(options: MemberOptions) -> str:
    """The consumer's properties file: what VerifiableConsumer has no option for."""
    properties = {"client.id": options.client_id, "metadata.max.age.ms": str(options.metadata_max_age_ms)}
    if options.protocol is Protocol.CLASSIC and options.heartbeat_interval_ms is not None:
        properties["heartbeat.interval.ms"] = str(options.heartbeat_interval_ms)
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def java_command(runtime: Runtime, options: MemberOptions, properties: Path) -> list[str]:
    """The whole command line; with the consumer protocol the broker sets timeouts and assignor (KIP-848)."""
    (topic,) = options.topics
    command = [runtime.java, "-Xmx128m", "-XX:TieredStopAtLevel=1"]
    command += [*archive_options(Path(runtime.java), Path(runtime.classpath).parent), "-cp", runtime.classpath]
    command += ["org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", options.bootstrap, "--topic", topic]
    command += ["--group-id", options.group, "--group-protocol", options.protocol.value]
    command += ["--reset-policy", options.auto_offset_reset, "--consumer.config", str(properties)]
    if options.instance_id is not None:
        command += ["--group-instance-id", options.instance_id]
    if options.protocol is Protocol.CLASSIC:
        command += ["--assignment-strategy", ASSIGNORS[options.assignor]]
        if options.session_timeout_ms is not None:
            command += ["--session-timeout", str(options.session_timeout_ms)]
    return command


def run(runtime: Runtime, options: MemberOptions) -> int:
    """Run one member until SIGTERM; 0 if Java's consumer closed in good order."""
    stop = StopSignal()
    writer = EventWriter(sys.stdout)
    recorder = Recorder(options, writer, now_ns)
    recorder.start("java", runtime.library_version)
    with tempfile.TemporaryDirectory() as directory:
        properties = Path(directory) / "consumer.properties"
        properties.write_text(consumer_properties(options))
        command = java_command(runtime, options, properties)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            # Its own session: it outlives a kill of this one until it has told all that Java printed before.
            translator = subprocess.Popen([*TRANSLATOR, options.mode.value], stdin=child.stdout, start_new_session=True)
            wait_for_end(child, stop)
        has_closed = translator.wait() == 0
    if not has_closed:
        recorder.fail(f"VerifiableConsumer ended with status {child.returncode} without closing")
        return 1
    recorder.end()
    return 0


def wait_for_end(child: subprocess.Popen[bytes], stop: StopSignal) -> None:
    """Pass SIGTERM on once, and wait until Java has ended."""
    while child.poll() is None and not stop.is_set():
        time.sleep(LOOK_S)
    if child.poll() is None:
        child.terminate()
    child.wait()


if __name__ == "__main__":
    own, rest = parse_runtime(sys.argv[1:])
    sys.exit(run(own, parse_member_options(rest)))
