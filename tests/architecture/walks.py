"""How far a request walks through the source: the files and the changes of rooms that one of each kind takes.

    python -m tests.architecture.walks [--files]

With `--files` each kind's files follow, with the calls into each, most first: what a merge would shorten.
A bridge runs in this process before a real Kafka and is profiled call by call, from the moment a request is sent until
its answer is there; of several the shortest walk counts, as now and then a job of the bridge falls into one.
"""

import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType

import trio
from kafka.protocol.consumer.fetch import FetchRequest

from bridge.app.composition import serve
from bridge.cli.main import run
from bridge.config.configuration import Config, GroupRule
from bridge.config.keys import Settings
from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.migration.route import Road
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.architecture.source_tree import ROOT
from tests.benchmarks.classic_client import ClassicClient, Phase
from tests.support.kafka import create_topic
from tests.support.oracle_frames import request_bytes
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

TOPIC = "walks"
TIMES = 7
LENGTH_BYTES = 4
TIMEOUT_S = 30.0
COMMIT_VERSION, FETCH_VERSION = 8, 11
QUIET_S = 0.3
"""Between two requests: what the first one has left to be done is over."""


@dataclass(slots=True)
class Recorder:
    """Notes the file of every call into our source while `walk` is a list."""

    walk: list[str] | None = None
    names: dict[str, str | None] = field(default_factory=dict)

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """What `sys.setprofile` calls."""
        if self.walk is None or event != "call":
            return
        path = frame.f_code.co_filename
        if path not in self.names:
            self.names[path] = source_name(path)
        name = self.names[path]
        if name is not None:
            self.walk.append(name)

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        """Note what is called inside."""
        walk: list[str] = []
        self.walk = walk
        try:
            yield walk
        finally:
            self.walk = None


def source_name(path: str) -> str | None:
    """The file from the root on, None if it is not ours."""
    place = Path(path)
    if not place.is_relative_to(ROOT):
        return None
    name = place.relative_to(ROOT)
    return str(name) if name.parts[0] in {"bridge", "translators"} else None


def room_of(name: str) -> str:
    """The room that a file lies in."""
    return "/".join(Path(name).with_suffix("").parts[:2])


@dataclass(frozen=True, slots=True)
class Length:
    """What a walk amounts to."""

    files: int
    room_changes: int
    calls: int


def measure(walk: Sequence[str]) -> Length:
    """Count files, changes from room to room, and calls."""
    changes = sum(room_of(one) != room_of(other) for one, other in pairwise(walk))
    return Length(len(set(walk)), changes, len(walk))


class Client:
    """A blocking client on a socket of its own."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_S)

    def ask(self, frame: bytes) -> bytes:
        """Send a request and return its answer with the length in front."""
        self._socket.sendall(frame)
        head = self._read(LENGTH_BYTES)
        return head + self._read(int.from_bytes(head, "big"))

    def _read(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            chunk = self._socket.recv(count - len(received))
            if not chunk:
                raise EOFError(f"the bridge closed after {len(received)} of {count} bytes")
            received += chunk
        return received


def commit_frame(group: str, client: ClassicClient) -> bytes:
    """A commit of the member as which the client has joined."""
    topics = (TopicCommit(name=TopicName(TOPIC), partitions=(PartitionCommit(partition=0, offset=1),)),)
    generation, member_id = client.identity
    commit = OffsetCommit(
        group_id=GroupId(group), generation=generation, member_id=member_id, instance_id=None, topics=topics
    )
    return encode_request(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, 6, "walker", commit)


def fetch_frame() -> bytes:
    """A Fetch of one partition that has nothing: it is answered at once."""
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        version=FETCH_VERSION, partition=0, fetch_offset=0, partition_max_bytes=1_000, current_leader_epoch=-1
    )
    asked = topic(version=FETCH_VERSION, topic=TOPIC, partitions=[partition])
    return request_bytes(FetchRequest(version=FETCH_VERSION, max_wait_ms=0, max_bytes=1_000, topics=[asked]))


@dataclass(slots=True)
class Walker:
    """Sends requests of each kind, and keeps the walk of every one."""

    recorder: Recorder
    address: str
    walks: dict[str, list[list[str]]] = field(default_factory=dict)

    def walk_all(self) -> None:
        """Each kind `TIMES` times; a first group warms up what is loaded when used."""
        client = Client(self.address)
        for number in range(TIMES + 1):
            self._walk_group(client, f"embedded-{number}")
            self._ask("Fetch, relayed", client, fetch_frame())
            if number == 0:
                self.walks.clear()

    def _walk_group(self, client: Client, group: str) -> None:
        member = ClassicClient(group, TOPIC, "walker", cooperative=True)
        frame: bytes | None = member.take(client.ask(member.start()))
        assert frame is not None
        names = {Phase.JOINING: "JoinGroup, embedded", Phase.SYNCING: "SyncGroup, embedded"}
        while frame is not None:
            frame = member.take(self._ask(names[member.phase], client, frame))
        self._ask("Heartbeat, embedded", client, member.beat)
        self._ask("OffsetCommit, embedded", client, commit_frame(group, member))
        self._ask("LeaveGroup, embedded, to the event log", client, member.leave(), afterwards_s=QUIET_S)

    def _ask(self, name: str, client: Client, frame: bytes, afterwards_s: float = 0.0) -> bytes:
        trio.from_thread.run(trio.sleep, QUIET_S)
        with self.recorder.recording() as walk:
            answer = client.ask(frame)
            trio.from_thread.run(trio.sleep, afterwards_s)
        self.walks.setdefault(name, []).append(walk)
        return answer


async def run_bridge(config: Config, recorder: Recorder) -> Walker:
    """Serve until the walker, in a thread of its own, has walked."""
    told, hear = trio.open_memory_channel[str](1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve, config, say=told.send_nowait))
        node = (await hear.receive()).partition("brokers ")[2].partition(",")[0]
        walker = Walker(recorder, f"127.0.0.1:{node.partition('@')[2]}")
        await trio.to_thread.run_sync(walker.walk_all)
        nursery.cancel_scope.cancel()
    return walker


def configure(bootstrap: str, events: Path) -> Config:
    """A bridge with a journal in memory and an event log in a folder."""
    settings = Settings(
        bootstrap=(bootstrap,),
        listen="127.0.0.1:0",
        admin_listen="off",
        journal="memory",
        bridges_group="off",
        group_initial_rebalance_delay_ms=0,
        embedded_resume_grace_ms=0,
        events_path=str(events),
    )
    return Config(settings, (GroupRule("embedded-*", Road.EMBEDDED),))


def walk_requests(config: Config) -> dict[str, list[str]]:
    """The shortest walk of each kind."""
    recorder = Recorder()
    sys.setprofile(recorder.note)
    try:
        walker = trio.run(run_bridge, config, recorder)
    finally:
        sys.setprofile(None)
    return {name: min(walks, key=len) for name, walks in walker.walks.items()}


def walk_tables(events: Path, out: Path) -> list[str]:
    """From the event log to the tables: what runs in Python, as Spark's own part does not."""
    recorder = Recorder()
    sys.setprofile(recorder.note)
    try:
        with recorder.recording() as walk:
            run(["analytics", "run", "--events", str(events), "--out", str(out)])
    finally:
        sys.setprofile(None)
    return walk


def main(*options: str) -> None:
    """Print a line for each kind of request, and one for the event log's way into tables."""
    with tempfile.TemporaryDirectory() as name, start_broker(BrokerSettings(), directory=Path(name)) as broker:
        create_topic(broker.bootstrap, TOPIC, 1)
        events = Path(name) / "events"
        walks = walk_requests(configure(broker.bootstrap, events))
        walks["event log to tables"] = walk_tables(events, Path(name) / "tables")
    for kind, walk in walks.items():
        length = measure(walk)
        print(f"{kind:40} {length.files:4} files {length.room_changes:5} changes of rooms {length.calls:6} calls")
        for name, calls in Counter(walk).most_common() if "--files" in options else ():
            print(f"{calls:12} {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
