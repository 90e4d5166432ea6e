"""A bridge whose log nobody reads goes on serving; whoever reads it later hears of what was lost."""

import socket
import subprocess
import sys
from ipaddress import IPv4Address

import httpx

from tests.support.bridge_process import ROOT, STOP_TIMEOUT_S

STRANGERS = 600
"""Each at an address of its own, so that its line is written and not counted."""
NO_REQUEST = bytes.fromhex("00000004 7fff7fff")
PATIENCE_S = 60.0


def disturb(port: int) -> None:
    """Have the bridge log something of each of many clients; each has its connection closed."""
    for number in range(STRANGERS):
        with socket.create_connection(
            ("127.0.0.1", port), PATIENCE_S, (str(IPv4Address("127.1.0.1") + number), 0)
        ) as client:
            client.sendall(NO_REQUEST)
            assert client.recv(1) == b""


def test_bridge_whose_log_nobody_reads_goes_on() -> None:
    """It stood still for everybody as soon as the pipe was full: no heartbeat, no health check, no way to stop it."""
    program = (sys.executable, "-m", "bridge", "serve", "--log-format", "json", "--bootstrap", "127.0.0.1:1")
    settings = ("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--set", "journal=memory")
    with subprocess.Popen([*program, *settings], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as bridge:
        try:
            assert bridge.stdout is not None
            assert bridge.stderr is not None
            line = bridge.stdout.readline().decode()
            clients, admin = (line.partition(word)[2].split()[0].strip(",;") for word in ("clients ", "admin "))
            disturb(int(clients.rpartition(":")[2]))
            metrics = httpx.get(f"http://{admin}/metrics", timeout=PATIENCE_S).text
            closed = [one for one in metrics.splitlines() if one.startswith("epochbridge_connections_accepted_total")]
            assert closed == [f"epochbridge_connections_accepted_total {STRANGERS}.0"]
        finally:
            bridge.terminate()
            _, log = bridge.communicate(timeout=STOP_TIMEOUT_S)
    assert bridge.returncode == 0
    assert len(log) > 65_536
