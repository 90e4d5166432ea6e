"""What an idle connection weighs: most of ten thousand are idle, so each frame and each container counts.

Bytes are counted where the bridge's own files allocate them, so that neither the machine nor the C library matters.
"""

import gc
import tracemalloc
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from bridge.net import proxy
from bridge.net.standstill import Standstill
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from tests.support.front import Front, front_of
from tests.support.scripted_broker import RawClient, ScriptedBroker, request

CONNECTIONS = 50
ATTEMPTS = 3
OWN_FILES = (tracemalloc.Filter(True, "*/bridge/*"), tracemalloc.Filter(False, "*/tests/*"))
ASKED_BYTES_MAX = 5_840
RELAYED_BYTES_MAX = 7_940
MARK_BYTES_MAX = 165
HOUR_MS = 3_600_000
FRAMES_MAX = 7
ASK_VERSIONS, ASK_METADATA = request(ApiKey.API_VERSIONS, 0, 1), request(ApiKey.METADATA, 1, 1, bytes(4))


def own_bytes() -> int:
    """Bytes that files of the bridge hold now."""
    snapshot = tracemalloc.take_snapshot().filter_traces(OWN_FILES)
    return sum(each.size for each in snapshot.statistics("filename"))


async def ask_all(clients: list[RawClient], frame: bytes) -> None:
    """One question by each, answered."""
    for client in clients:
        await client.send(frame)
        assert await client.ids(1) == [1]
    await trio.testing.wait_all_tasks_blocked()


async def open_some(front: Front) -> list[RawClient]:
    """Connections that have said nothing yet."""
    clients = [await front.dial() for _ in range(CONNECTIONS)]
    await trio.testing.wait_all_tasks_blocked()
    return clients


@pytest.fixture
def nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """The proxy looks at connections and for brokers at its start, and not again while they are weighed.

    On a loaded machine that took longer than the five seconds from one sweep to the next, whose marks then counted, of
    connections from before, too: 350 bytes for each that was weighed.
    """
    monkeypatch.setattr(proxy, "SWEEP_MAX_S", HOUR_MS / 1000)
    for name in ("RETRY_MS", "DOUBTED_RETRY_MS"):
        monkeypatch.setattr(proxy, name, HOUR_MS)
    long_ms = proxy.SWEEPS_PER_LIMIT * HOUR_MS
    return Limits(idle_max_ms=long_ms, frame_time_max_ms=long_ms, grant_ms=long_ms)


async def weigh(limits: Limits) -> tuple[float, float]:
    """What a connection holds that has asked the bridge, and after a question that went to the broker, too."""
    async with front_of(ScriptedBroker(), limits) as front:
        await ask_all(await open_some(front), ASK_METADATA)
        tracemalloc.start()
        try:
            before = own_bytes()
            clients = await open_some(front)
            await ask_all(clients, ASK_VERSIONS)
            asked = (own_bytes() - before) / CONNECTIONS
            await ask_all(clients, ASK_METADATA)
            relayed = (own_bytes() - before) / CONNECTIONS
        finally:
            tracemalloc.stop()
    return asked, relayed


async def test_idle_connection_holds_little(nothing_is_due: Limits) -> None:
    """One that asked the bridge, and one whose question also went to the broker; bounds are 5 % above what is.

    The least of several counts: what threads and tasks of earlier tests still do in the same process only adds to it.
    """
    weighed = []
    for _ in range(ATTEMPTS):
        gc.collect()
        weighed.append(await weigh(nothing_is_due))
    asked, relayed = map(min, zip(*weighed, strict=True))
    assert asked < ASKED_BYTES_MAX
    assert relayed < RELAYED_BYTES_MAX


def test_sweep_keeps_little_of_each_connection() -> None:
    """Its mark of when that stood still, which comes on top of what is weighed above."""
    now_ms = 10**9
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        marks = {number: Standstill(now_ms + number) for number in range(CONNECTIONS)}
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(marks) == CONNECTIONS
    assert held / CONNECTIONS < MARK_BYTES_MAX


def own_frames(task: trio.lowlevel.Task) -> Iterator[str]:
    """The bridge's functions in which a task waits, outermost first."""
    for frame, _ in task.iter_await_frames():
        if "/bridge/" in frame.f_code.co_filename and "/tests/" not in frame.f_code.co_filename:
            yield frame.f_code.co_qualname


async def test_idle_connection_waits_in_few_functions() -> None:
    """Every function that it waits in costs it a frame of some 200 bytes."""
    async with front_of(ScriptedBroker()) as front:
        await ask_all(await open_some(front), ASK_METADATA)
        root = trio.lowlevel.current_root_task()
        assert root is not None
        found, waiting = [list(root.child_nurseries)], list[list[str]]()
        while found:
            for nursery in found.pop():
                for task in nursery.child_tasks:
                    found.append(list(task.child_nurseries))
                    waiting.append(list(own_frames(task)))
    readers = [frames for frames in waiting if any("Connection" in name or "BrokerSide" in name for name in frames)]
    assert len(readers) >= 2 * CONNECTIONS
    assert max(map(len, readers)) <= FRAMES_MAX, max(readers, key=len)
