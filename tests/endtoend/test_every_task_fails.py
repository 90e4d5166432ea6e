"""Every task of a running bridge fails in turn, with real clients on real sockets, and nobody else notices for long.

It knows the table of tasks, so that a new one without a failure of its own makes this fail.
"""

import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest
import trio
from confluent_kafka import Consumer, KafkaError, Producer

from bridge import supervision as tasks
from bridge.admin.client import NoAnswer, give_order, group_path
from bridge.app.composition import serve
from bridge.config.configuration import load
from bridge.config.sources import quick_rules
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.journal.sqlite import SqliteJournal
from bridge.net import broker_side
from bridge.net.client_questions import ClientQuestions
from bridge.session.client_session import ClientSession
from bridge.session.contracts import OnAnswer
from bridge.supervision import TASKS, Task
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_request
from bridge.wire.errors import MalformedFrame
from tests.support.admin_asked import get
from tests.support.failing_tasks import FailingTasks
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.scripted_broker import RawClient, dial
from translators.dialects.admin import DescribeGroups
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName
from translators.dialects.offsets import GroupOffsets, OffsetFetch

PATIENCE_S = 60.0
LOOK_S = 0.02
Decode = Callable[[bytes], Reply | MalformedFrame]
UNREAD = GroupId("embedded-" + "x" * 30_000)
UNREAD_REQUESTS, UNREAD_NAMES = 30, 30
"""So much that no socket holds the answers."""


@dataclass(slots=True)
class Canary:
    """A consumer in a thread of its own; `seen` is what it has read, `fatal` what it could not go on from."""

    protocol: str
    seen: set[bytes] = field(default_factory=set)
    fatal: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self, bootstrap: str, topic: str) -> None:
        """Consume until told to stop, committing all the time."""
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"embedded-canary-{self.protocol}",
                "group.protocol": self.protocol,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 100,
                "reconnect.backoff.max.ms": 500,
            }
        )
        consumer.subscribe([topic])
        while not self.is_over.is_set():
            message = consumer.poll(0.1)
            error = None if message is None else message.error()
            if message is not None and error is None:
                self.seen.add(message.value() or b"")
            elif error is not None and (error.fatal() or error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED):
                self.fatal.append(error.str())
        consumer.close()


@dataclass(slots=True)
class Scene:
    """The bridge with its clients."""

    failing: FailingTasks
    bootstrap: str
    admin: str
    topic: str
    producer: Producer
    canaries: tuple[Canary, ...]

    async def dial(self) -> RawClient:
        """A client that sends frames."""
        return await dial(int(self.bootstrap.rpartition(":")[2]))

    async def failures(self) -> dict[str, int]:
        """What /metrics says, by task; asked again while the admin API starts anew."""
        give_up = time.monotonic() + PATIENCE_S
        while True:
            with suppress(httpx.HTTPError):
                text = (await get(self.admin, "/metrics")).text
                break
            assert time.monotonic() < give_up
            await trio.sleep(0.1)
        name = "epochbridge_task_failures_total{task="
        lines = (line.removeprefix(name) for line in text.splitlines() if line.startswith(name))
        return {task.strip('"'): int(float(count)) for task, _, count in (line.partition("} ") for line in lines)}

    async def everybody_goes_on(self) -> None:
        """A record that is produced now reaches each canary."""
        sign = uuid.uuid4().bytes
        self.producer.produce(self.topic, sign)
        left = await trio.to_thread.run_sync(self.producer.flush, PATIENCE_S)
        assert left == 0
        await until(lambda: all(sign in canary.seen for canary in self.canaries))
        assert [canary.fatal for canary in self.canaries] == [[], []]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that others do."""
    with trio.fail_after(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - threads of librdkafka know no events
            await trio.sleep(LOOK_S)


async def nothing(_: Scene) -> None:
    """The task runs all the time."""


async def fetch_offsets(scene: Scene) -> None:
    """The bridge asks the broker on the connection of somebody who is new, and goes at once."""
    client = await scene.dial()
    group = GroupOffsets(group_id=GroupId("embedded-asked"), topics=None)
    await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OffsetFetch(groups=(group,))))
    await client.stream.aclose()


async def join(scene: Scene) -> None:
    """Somebody joins a new group."""
    client = await scene.dial()
    topic = TopicName(scene.topic)
    blob = encode_subscription(Subscription(version=0, topics=(topic,), owned=frozenset(), user_data=None))
    request = JoinGroup(
        group_id=GroupId(f"embedded-{uuid.uuid4().hex}"),
        member_id=NO_MEMBER_ID,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    )
    await client.send(encode_request(ApiKey.JOIN_GROUP, 3, 1, "c", request))
    await trio.sleep(0.5)
    await client.stream.aclose()


async def read_nothing(scene: Scene) -> None:
    """Somebody asks for much and takes none of it."""
    client = await scene.dial()
    frame = encode_request(ApiKey.DESCRIBE_GROUPS, 5, 1, "c", DescribeGroups(group_ids=(UNREAD,) * UNREAD_NAMES))
    with suppress(trio.BrokenResourceError):
        for _ in range(UNREAD_REQUESTS):
            await client.send(frame)
    await client.stream.aclose()


async def order_move(scene: Scene) -> None:
    """An operator moves a group that has no members, which is refused as soon as it is looked at."""
    with suppress(NoAnswer):
        path = f"{group_path('embedded-moved')}/move"
        await trio.to_thread.run_sync(give_order, scene.admin, path, {"to": "upstream"})
    await trio.sleep(0.5)


PROVOKED: dict[Task, Callable[[Scene], Awaitable[None]]] = {
    tasks.BROKER_OPENER: fetch_offsets,
    tasks.BROKER_ANSWER: fetch_offsets,
    tasks.LOOK_UP: join,
    tasks.TURN: join,
    tasks.COMPACTION: join,
    tasks.MOVE: order_move,
    tasks.SENDER: read_nothing,
}
"""What makes a task run that does not run all the time."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> FailingTasks:
    """One beside every task, and in the calls that are guarded without a task."""
    one = FailingTasks.beside_all(monkeypatch)
    monkeypatch.setattr(ClientSession, "encode", one.strike_call(tasks.DELIVERY, ClientSession.encode))
    monkeypatch.setattr(EmbeddedOwner, "take_turn", one.strike_call(tasks.TURN, EmbeddedOwner.take_turn))
    take_answer = ClientQuestions._take_answer
    take_none = one.strike_call(tasks.BROKER_ANSWER, take_answer)

    def take(asking: ClientQuestions, decode: Decode, on_answer: OnAnswer, frame: bytes | None) -> None:
        (take_none if frame is None else take_answer)(asking, decode, on_answer, frame)

    monkeypatch.setattr(ClientQuestions, "_take_answer", take)
    monkeypatch.setattr(SqliteJournal, "is_overgrown", lambda _: one.wants(tasks.COMPACTION))
    monkeypatch.setattr(broker_side, "LINGER_S", 0.0)
    return one


async def test_whatever_fails_everybody_else_goes_on(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, failing: FailingTasks, tmp_path: Path
) -> None:
    """Each task of the table fails once where it stands: that is told and counted, and the canaries read on."""
    topic = topic_factory(kafka_43.bootstrap, 1)
    told = dict[str, str]()
    is_ready = trio.Event()

    def ready(line: str) -> None:
        words = line.replace(",", "").split()
        told.update(clients=words[words.index("clients") + 1], admin=words[words.index("admin") + 1])
        is_ready.set()

    settings = {
        "bootstrap": kafka_43.bootstrap,
        "listen": "127.0.0.1:0",
        "admin.listen": "127.0.0.1:0",
        "events.path": str(tmp_path / "events"),
        "journal.path": str(tmp_path / "journal.db"),
    }
    config = load(None, {}, [f"{key}={value}" for key, value in settings.items()], quick_rules(("embedded-*",), ()))
    # This one is over as soon as clients may come.
    failing.strike(tasks.ANNOUNCEMENT)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve, config, say=ready))
        await is_ready.wait()
        canaries = (Canary("classic"), Canary("consumer"))
        scene = Scene(
            failing,
            told["clients"],
            told["admin"],
            topic,
            Producer({"bootstrap.servers": told["clients"], "reconnect.backoff.max.ms": 500}),
            canaries,
        )
        try:
            async with trio.open_nursery() as threads:
                for canary in canaries:
                    threads.start_soon(trio.to_thread.run_sync, canary.run, told["clients"], topic)
                try:
                    await scene.everybody_goes_on()
                    assert (await scene.failures())[tasks.ANNOUNCEMENT.name] == 1
                    for task in TASKS.values():
                        if task is not tasks.ANNOUNCEMENT:
                            await fail_once(scene, task)
                finally:
                    for canary in canaries:
                        canary.is_over.set()
        finally:
            nursery.cancel_scope.cancel()


async def fail_once(scene: Scene, task: Task) -> None:
    """One task of this kind fails; it is counted, and everybody goes on."""
    failing = scene.failing
    before = (await scene.failures())[task.name]
    failing.strike(task)
    with trio.fail_after(PATIENCE_S):
        while task.name not in failing.struck:
            await PROVOKED.get(task, nothing)(scene)
            await trio.sleep(0.05)
    await scene.everybody_goes_on()
    after = await scene.failures()
    assert after[task.name] == before + 1, task
