"""What a bridge keeps of clients that are gone, by the system's account of the process."""

import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil

from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader, request_frame
from tests.support.bridge_process import bridge_process
from tests.support.scripted_broker import LOOPBACK, free_port

MIB = 1024 * 1024
REQUESTS, FRAME_BYTES = 50, 16 * MIB
KEPT_BYTES_MAX = 32 * MIB
SETTLING_S = 5.0
TOGETHER = 8


def half_sent(port: int) -> socket.socket:
    """A connection on which a commit of 16 MiB came but for its last byte, as far as the bridge takes it."""
    frame = request_frame(RequestHeader(0, ApiKey.OFFSET_COMMIT, 9, 1, "c", 0), bytes(FRAME_BYTES - 100))
    client = socket.create_connection((LOOPBACK, port), timeout=0.5)
    with suppress(TimeoutError):  # where the bridge holds enough, and has stopped reading
        client.sendall(frame[:-1])
    return client


def resident_after(process: psutil.Process) -> int:
    """Resident bytes once nothing has happened for a while."""
    time.sleep(SETTLING_S)
    return int(process.memory_info().rss)


def test_half_requests_leave_nothing_behind(tmp_path: Path) -> None:
    """Fifty one after the other, then eight at once, of which no more than the limit is ever held."""
    settings = {"journal": "memory", "limits.inflight.bytes": str(64 * MIB)}
    with bridge_process(f"{LOOPBACK}:{free_port()}", ["*"], tmp_path, settings) as bridge:
        process = psutil.Process(bridge.process.pid)
        port = int(bridge.bootstrap.rpartition(":")[2])
        half_sent(port).close()
        before = resident_after(process)
        for _ in range(REQUESTS):
            half_sent(port).close()
        assert resident_after(process) - before < KEPT_BYTES_MAX
        clients = [half_sent(port) for _ in range(TOGETHER)]
        assert process.memory_info().rss - before < 64 * MIB + FRAME_BYTES + KEPT_BYTES_MAX
        for client in clients:
            client.close()
        assert resident_after(process) - before < KEPT_BYTES_MAX
