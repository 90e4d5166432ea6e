"""`python -m tests.suites.kafka_tools` runs Kafka's own programs direct and through the bridge, and says what differs.

Two VerifiableConsumers of each protocol are the groups; kafka-consumer-groups looks at them live and left, resets and
deletes; then the programs of Kafka's system tests consume, copy and measure. It wants a JDK, and must not know what the
bridge does to groups.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

from confluent_kafka import Producer

from bridge.demo.kafka_broker import KafkaTools, find_tools, start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.suites.__main__ import BROKER, ROADS
from tests.support.bridge_process import bridge_process
from tests.support.java_tools import Command, Said, run_all
from tests.support.kafka import create_topic

TOOLS = "org.apache.kafka.tools."
GROUPS = f"{TOOLS}consumer.group.ConsumerGroupCommand"
CONSUMER = f"{TOOLS}VerifiableConsumer"
PROTOCOLS = ("classic", "consumer")
MEMBERS, PARTITIONS, RECORDS = 2, 4, 400
WAIT_S = 180.0
TIMEOUT_MS = "60000"

LISTS: Sequence[str] = (
    "--list",
    "--list --type",
    "--list --state",
    "--list --state Stable,Empty",
    "--list --type consumer",
    "--list --type classic",
    "--list --type classic --state Stable",
)
LIVE: Sequence[str] = (
    *LISTS,
    "--describe --all-groups --members",
    "--describe --all-groups --state",
    "--describe --all-groups --offsets --verbose",
    "--describe --group @classic --group @consumer --state --verbose",
    "--reset-offsets --all-groups --all-topics --to-latest --dry-run",
)
OF_LIVE: Sequence[str] = (
    "--describe --group @@",
    "--describe --group @@ --members",
    "--describe --group @@ --members --verbose",
    "--describe --group @@ --state",
    "--describe --group @@ --state --verbose",
    "--describe --group @@ --offsets --verbose",
    "--reset-offsets --group @@ --topic @@ --to-earliest --execute",
    "--delete-offsets --group @@ --topic @@",
    "--delete-offsets --group @@ --topic @@:1",
    "--delete --group @@",
)
OF_LEFT: Sequence[str] = (
    "--describe --group @@ --members --verbose",
    "--describe --group @@ --state --verbose",
    "--describe --group @@ --offsets --verbose",
    "--reset-offsets --group @@ --all-topics --to-earliest",
    "--reset-offsets --group @@ --all-topics --to-earliest --dry-run --export",
    "--reset-offsets --group @@ --topic @@:0,1 --to-offset 7 --execute",
    "--reset-offsets --group @@ --topic @@:0 --shift-by -3 --execute",
    "--reset-offsets --group @@ --topic @@:0 --shift-by 100000 --execute",
    "--reset-offsets --group @@ --all-topics --to-current --execute",
    "--reset-offsets --group @@ --all-topics --to-current --dry-run --export",
    "--reset-offsets --group @@ --topic @@:2 --by-duration P1D --execute",
    "--reset-offsets --group @@ --topic @@:3 --to-datetime 2020-01-01T00:00:00.000 --execute",
    "--reset-offsets --group @@ --topic @@:3 --to-datetime 2999-01-01T00:00:00.000 --execute",
    "--describe --group @@ --offsets",
    "--reset-offsets --group @@ --from-file FILE --execute",
    "--reset-offsets --group @@ --all-topics --to-latest --execute",
    "--reset-offsets --group @@ --topic @nothing --to-latest --execute",
    "--describe --group @@ --offsets",
    "--delete-offsets --group @@ --topic @@:2,3",
    "--delete-offsets --group @@ --topic @nothing",
    "--describe --group @@ --offsets",
    "--delete-offsets --group @@ --topic @@",
    "--describe --group @@ --offsets",
    "--delete --group @@",
    "--delete --group @@",
    "--describe --group @@ --state",
    "--reset-offsets --group @@-new --topic @@ --to-offset 5 --execute",
    "--describe --group @@-new --offsets",
    "--delete --group @@-new",
)
"""`@` stands for what the names of one side begin with, `@@` for a group, which reads the topic of its own name."""

ABLE = (
    *("offsets-for-times-supported", "cluster-id-supported", "create-topics-supported"),
    *("describe-configs-supported", "idempotent-producer-supported"),
)
COMPATIBLE = (
    f"ClientCompatibilityTest --topic @compatible --num-cluster-nodes 1 {' '.join(f'--{word} true' for word in ABLE)}"
    " --expect-record-too-large-exception false --describe-acls-supported false"
)
CONSOLE = "consumer.ConsoleConsumer --topic @@ --group @@-console --command-property group.protocol=@PROTOCOL"
STATIC = "VerifiableConsumer --topic @@ --group-id @@-static --group-instance-id one --group-protocol @PROTOCOL"
COPIER = "TransactionalMessageCopier --input-topic @classic --input-partition 0 --output-topic @copied"
SHOW = "consumer.group.ConsumerGroupCommand --describe --offsets --group"
RESETTER = "StreamsResetter --input-topics @classic --application-id"
WORKS: Sequence[str] = (
    f"{CONSOLE} --from-beginning --max-messages 400 --timeout-ms 120000",
    f"{CONSOLE} --timeout-ms 5000",
    "ConsumerPerformance --topic @@ --group @@-measured --num-records 400 --timeout 120000",
    f"{SHOW} @@-console",
)
WORKS_OF_STATIC: Sequence[str] = (
    f"{STATIC} --max-messages 400 --enable-autocommit",
    f"{STATIC} --max-messages 0 --enable-autocommit",
    f"{SHOW} @@-static",
)
"""Last, as a static member stays for a session that is longer than some calls take and shorter than others."""
WORKS_OF_ALL: Sequence[str] = (
    "EndToEndLatency --topic @latency --num-records 20 --producer-acks all --record-size 10",
    f"{COPIER} --consumer-group @copier --transactional-id @copier --group-mode --use-group-metadata",
    f"{COPIER} --consumer-group @by-hand --transactional-id @by-hand",
    f"{SHOW} @copier",
    f"{SHOW} @by-hand",
    COMPATIBLE,
    f"{RESETTER} @copier --dry-run",
    f"{RESETTER} @copier --shift-by -5",
    f"{SHOW} @copier",
    f"{RESETTER} @nobody",
    "GetOffsetShell --topic @copied",
)
MEASURES = ("ConsumerPerformance", "EndToEndLatency", "TransactionalMessageCopier", "ClientCompatibilityTest")
"""Programs whose output tells times and paths: of these the status counts, and what they leave is looked at."""
MADE_ID = re.compile(r"(?:consumer-[\w$-]+?|one|console-consumer)-[\w-]{22,36}(?=\s|$)|\b[\w-]{22}(?=\s+/)")
PLACE = re.compile(r"127\.0\.0\.1:\d+")
SHARE = re.compile(r"(?:\d+|-) (\$\w+):\d,\d")
EPOCHS = re.compile(r"\b(Empty|Stable) \d+ \d+\b")
"""Who got which two partitions at which epoch is a matter of who came first."""
CLOCK = re.compile(r'"timestamp":\d+,?|^\[.*?\] ')
Told = tuple[int, Sequence[str]]


class Side(NamedTuple):
    """Where the programs ask, and what the names of its groups and topics begin with."""

    bootstrap: str
    prefix: str

    def groups(self, words: str) -> Command:
        """A call of kafka-consumer-groups."""
        return [GROUPS, "--bootstrap-server", self.bootstrap, *self._words(words), "--timeout", TIMEOUT_MS]

    def work(self, words: str) -> Command:
        """A call of another program."""
        program, *arguments = self._words(words)
        address = "--broker-list" if program == "TransactionalMessageCopier" else "--bootstrap-server"
        return [TOOLS + program, address, self.bootstrap, *arguments]

    def _words(self, words: str) -> Sequence[str]:
        return words.replace("@", self.prefix).split()

    def plain(self, command: Command, said: Said) -> Told:
        """What was said, without names, addresses and times of this side and in the order of the alphabet."""
        if command[0].removeprefix(TOOLS) in MEASURES:
            return said.status, ()
        lines = [_event(CLOCK.sub("", line)) for line in said.text.splitlines()]
        if "--all-groups" in command or "--list" in command:
            # Groups of other roads are there, too, with a heading for each.
            lines = [line for line in lines if line.startswith(self.prefix)]
        text = PLACE.sub("HOST:PORT", "\n".join(lines).replace(self.prefix, "$"))
        told = (" ".join(MADE_ID.sub("<id>", line).split()) for line in text.splitlines() if line)
        return said.status, sorted(SHARE.sub(r"\1:<two>", EPOCHS.sub(r"\1 <epochs>", line)) for line in told)


def main(arguments: Sequence[str]) -> int:
    """Run all on every road; 1 if anything differs from the direct run."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites.kafka_tools", description=__doc__)
    parser.add_argument("--kafka", default=DEFAULT_VERSION, help="version of the broker")
    parser.add_argument("--road", action="append", choices=sorted(ROADS), help="only this one; may be said again")
    chosen = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="kafka-tools-"))
    print(f"logs are in {directory}")
    tools = find_tools(chosen.kafka, directory=directory)
    settings, found = BrokerSettings(version=chosen.kafka, properties=BROKER), 0
    with start_broker(settings, directory=directory / "kafka") as broker:
        direct = _look(tools, Side(broker.bootstrap, "at0-"), directory)
        print(f"direct: {len(direct)} calls, {sum(status != 0 for status, _ in direct.values())} of them refused")
        for number, road in enumerate(chosen.road or ROADS, 1):
            globs, of_bridge = ROADS[road]
            with bridge_process(broker.bootstrap, globs, directory / "bridge", of_bridge) as bridge:
                told = _look(tools, Side(bridge.bootstrap, f"at{number}-"), directory)
            others = [call for call in direct if told[call] != direct[call]]
            found += len(others)
            print(f"{road}: {len(told) - len(others)} calls end alike, {len(others)} otherwise")
            for call in others:
                print(f"  {call}\n{_difference(direct[call], told[call])}")
    return int(found > 0)


def _difference(direct: Told, here: Told) -> str:
    statuses = f"    status {direct[0]} direct, {here[0]} here\n" if direct[0] != here[0] else ""
    gone, come = Counter(direct[1]) - Counter(here[1]), Counter(here[1]) - Counter(direct[1])
    return statuses + "\n".join([*(f"    - {line}" for line in gone), *(f"    + {line}" for line in come)])


def _look(tools: KafkaTools, side: Side, directory: Path) -> Mapping[str, Told]:
    """Call -> what it said."""
    for topic in (*PROTOCOLS, "copied", "latency"):
        create_topic(side.bootstrap, side.prefix + topic, PARTITIONS)
    _fill(side)
    calls = _Calls(tools, side)
    with _members(tools, side, directory) as logs:
        calls.of_groups(*LIVE, *_of_each(OF_LIVE))
    file = directory / f"{side.prefix}offsets.csv"
    for protocol in PROTOCOLS:
        calls.told[f"the members of @{protocol}"] = 0, _events(logs[protocol])
        file.write_text(f"{side.prefix}{protocol},0,11\n{side.prefix}{protocol},3,13\n", encoding="utf-8")
        calls.of_groups(*(call.replace("@@", f"@{protocol}") for call in (*OF_LEFT, *LISTS)), file=file)
    calls.of_others(*_of_each(WORKS), *WORKS_OF_ALL, *_of_each(WORKS_OF_STATIC))
    return calls.told


def _of_each(calls: Sequence[str]) -> Sequence[str]:
    return [call.replace("@@", f"@{one}").replace("@PROTOCOL", one) for one in PROTOCOLS for call in calls]


def _fill(side: Side) -> None:
    """As many records in each partition: Kafka's own producers choose partitions by chance."""
    producer = Producer({"bootstrap.servers": side.bootstrap})
    for topic in PROTOCOLS:
        for number in range(RECORDS):
            producer.produce(side.prefix + topic, str(number), partition=number % PARTITIONS)
    producer.flush(WAIT_S)


class _Calls:
    """What was called on one side so far, and what it said; a call that is made again has a number."""

    def __init__(self, tools: KafkaTools, side: Side) -> None:
        self.told: dict[str, Told] = {}
        self._tools, self._side, self._times = tools, side, Counter[str]()

    def of_groups(self, *calls: str, file: Path | None = None) -> None:
        """Call kafka-consumer-groups."""
        self._run([(call, self._side.groups(call.replace("FILE", str(file)))) for call in calls])

    def of_others(self, *calls: str) -> None:
        """Call the other programs."""
        self._run([(call, self._side.work(call)) for call in calls])

    def _run(self, calls: Sequence[tuple[str, Command]]) -> None:
        for (call, command), said in zip(calls, run_all(self._tools, [one for _, one in calls]), strict=True):
            self._times[call] += 1
            again = "" if self._times[call] == 1 else f" (again, {self._times[call]})"
            self.told[call + again] = self._side.plain(command, said)


@contextmanager
def _members(tools: KafkaTools, side: Side, directory: Path) -> Iterator[Mapping[str, Sequence[Path]]]:
    """Members of both groups that have read all and share the partitions; afterwards their programs have ended."""
    started, logs = list[subprocess.Popen[bytes]](), {name: list[Path]() for name in PROTOCOLS}
    try:
        for protocol in PROTOCOLS * MEMBERS:
            log = directory / f"{side.prefix}{protocol}-{len(logs[protocol])}.log"
            words = f"--group-id @{protocol} --topic @{protocol} --group-protocol {protocol}"
            command = tools.command(*side.work(f"VerifiableConsumer {words}"))
            with log.open("wb") as output:
                started.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
            logs[protocol].append(log)
        for protocol in PROTOCOLS:
            _wait(logs[protocol])
        yield logs
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(WAIT_S)


def _wait(logs: Sequence[Path]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not _are_at_rest(logs):
        if time.monotonic() > give_up:
            raise TimeoutError(
                f"members have not read {RECORDS} records and shared {PARTITIONS} partitions: see {logs}"
            )
        time.sleep(0.2)


def _are_at_rest(logs: Sequence[Path]) -> bool:
    return _consumed(logs) >= RECORDS and [_owned(log) for log in logs] == [PARTITIONS // MEMBERS] * MEMBERS


def _owned(log: Path) -> int:
    """How many partitions a member has: by the new protocol it is told only what is more and what is less."""
    owned = set[int]()
    for event in _told(log):
        partitions = cast("Sequence[Mapping[str, int]]", event.get("partitions", ()))
        if event["name"] == "partitions_assigned":
            owned |= {one["partition"] for one in partitions}
        elif event["name"] == "partitions_revoked":
            owned -= {one["partition"] for one in partitions}
    return len(owned)


def _consumed(logs: Sequence[Path]) -> int:
    events = [event for log in logs for event in _told(log)]
    return sum(cast("int", event["count"]) for event in events if event["name"] == "records_consumed")


def _event(line: str) -> str:
    """A line; of a VerifiableConsumer's with its partitions in order, as they come by chance."""
    if not line.startswith("{"):
        return line
    told = cast("dict[str, list[object]]", json.loads(line))
    return json.dumps({**told, "partitions": sorted(map(json.dumps, told.get("partitions", ())))})


def _events(logs: Sequence[Path]) -> Sequence[str]:
    """What kinds of events the members told, and how many records they read: how often they rebalance is ours."""
    kinds = {f"{event['name']} {event.get('success', '')}".strip() for log in logs for event in _told(log)}
    return (*sorted(kinds), f"{_consumed(logs)} records")


def _told(log: Path) -> Iterator[Mapping[str, object]]:
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield cast("Mapping[str, object]", json.loads(line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
