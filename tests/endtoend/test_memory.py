"""What a bridge keeps of clients that are gone, by the system's account of the process."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader, request_frame
from tests.support.bridge_process import bridge_process
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK
from tests.support.topic_broker import topic_broker

MIB = 1024 * 1024
REQUESTS, FRAME_BYTES = 50, 16 * MIB
KEPT_BYTES_MAX = 32 * MIB
SETTLING_S = 5.0
TOGETHER = 8
PATIENCE_S = 60.0


@contextmanager
def half_sent(port: int, within_s: float = 0.5) -> Iterator[None]:
    """A connection on which a commit of 16 MiB came but for its last byte, as far as the bridge takes it in time."""
    frame = request_frame(RequestHeader(0, ApiKey.OFFSET_COMMIT, 9, 1, "c", 0), bytes(FRAME_BYTES - 100))
    with socket.create_connection((LOOPBACK, port), timeout=within_s) as client:
        with suppress(TimeoutError):  # where the bridge holds enough, and has stopped reading
            client.sendall(frame[:-1])
        yield


def resident_after(process: psutil.Process) -> int:
    """Resident bytes once nothing has happened for a while."""
    time.sleep(SETTLING_S)
    return int(process.memory_info().rss)


def test_half_requests_leave_nothing_behind(tmp_path: Path) -> None:
    """Fifty one after the other, then eight at once, of which no more than the limit is ever held."""
    settings = {"journal": "memory", "limits.inflight.bytes": str(64 * MIB)}
    with topic_broker(free_port()) as broker, bridge_process(broker, ["*"], tmp_path, settings) as bridge:
        process = psutil.Process(bridge.process.pid)
        port = int(bridge.bootstrap.rpartition(":")[2])
        with half_sent(port):
            pass
        before = resident_after(process)
        for _ in range(REQUESTS):
            with half_sent(port):
                pass
        assert resident_after(process) - before < KEPT_BYTES_MAX
        with ExitStack() as clients:
            for _ in range(TOGETHER):
                clients.enter_context(half_sent(port))
            held = process.memory_info().rss - before
        # Somebody is held, and not everybody.
        assert FRAME_BYTES < held < 64 * MIB + FRAME_BYTES + KEPT_BYTES_MAX
        assert resident_after(process) - before < KEPT_BYTES_MAX


def test_who_may_be_anybody_is_held_no_large_request_for(tmp_path: Path) -> None:
    """While no broker has said whether it wants a login: closed at the first bytes of one."""
    with (
        bridge_process(f"{LOOPBACK}:{free_port()}", ["*"], tmp_path, {"journal": "memory"}) as bridge,
        pytest.raises(ConnectionError),
        half_sent(int(bridge.bootstrap.rpartition(":")[2]), PATIENCE_S),
    ):
        pass
    assert "limits.unauthenticated.frame.bytes" in bridge.log.read_text()
