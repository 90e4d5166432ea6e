"""What an idle connection weighs: most of ten thousand are idle, so each frame and each container counts.

Bytes are counted where the bridge's own files allocate them, so that neither the machine nor the C library matters.
"""

import gc
import tracemalloc
from collections.abc import Iterator

import trio
import trio.testing

from bridge.wire.apis import ApiKey
from tests.support.front import Front, front_of
from tests.support.scripted_broker import RawClient, ScriptedBroker, request

CONNECTIONS = 50
ATTEMPTS = 3
OWN_FILES = (tracemalloc.Filter(True, "*/bridge/*"), tracemalloc.Filter(False, "*/tests/*"))
ASKED_BYTES_MAX = 5_840
RELAYED_BYTES_MAX = 7_940
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


async def weigh() -> tuple[float, float]:
    """What a connection holds that has asked the bridge, and after a question that went to the broker, too."""
    async with front_of(ScriptedBroker()) as front:
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


async def test_idle_connection_holds_little() -> None:
    """One that asked the bridge, and one whose question also went to the broker; bounds are 5 % above what is.

    The least of several counts: what threads and tasks of earlier tests still do in the same process only adds to it.
    """
    weighed = []
    for _ in range(ATTEMPTS):
        gc.collect()
        weighed.append(await weigh())
    asked, relayed = map(min, zip(*weighed, strict=True))
    assert asked < ASKED_BYTES_MAX
    assert relayed < RELAYED_BYTES_MAX


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
