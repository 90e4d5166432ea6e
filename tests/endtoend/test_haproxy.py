"""HAProxy before the bridge and behind it: each believes what the other says of where a client comes from."""

import ipaddress
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.session.balancers import Balancers
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.support.debian import Program, debian_program
from tests.support.front import Front, running, settings_for
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId

CLIENT = "127.0.0.5"
"""Another address of this machine than those of HAProxy and the bridges."""
HERE = Balancers(networks=(ipaddress.ip_network(LOOPBACK),), is_required=True)
BEAT = encode_request(ApiKey.HEARTBEAT, 3, 2, "c", Heartbeat(GroupId("embedded-x"), 1, MemberId("m"), None))
PATIENCE_S = 120.0
CONFIGURATION = """
defaults
  mode tcp
  timeout connect 60s
  timeout client 60s
  timeout server 60s
listen before
  bind {host}:{before}
  server bridge {host}:{outer} send-proxy-v2
listen behind
  bind {host}:{behind} accept-proxy
  server bridge {host}:{inner} send-proxy-v2 proxy-v2-options crc32c,unique-id
"""


@pytest.fixture(name="haproxy", scope="module")
def _haproxy() -> Program:
    """From the path, or from Debian's package."""
    found = shutil.which("haproxy")
    program = Program(found) if found else debian_program("haproxy", "usr/sbin/haproxy")
    if program is None:
        pytest.skip("no haproxy on the path, and none from Debian")
    return program


@contextmanager
def haproxy_process(program: Program, configuration: Path) -> Iterator[None]:
    """Run it with this configuration."""
    command = [program.path, "-db", "-f", str(configuration)]
    process = subprocess.Popen(command, env={**os.environ, **program.environment}, stderr=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


async def connect_from(host: str, port: int) -> trio.SocketStream:
    """A connection to a loopback port, tried until somebody listens there."""
    while True:
        sock = trio.socket.socket()
        await sock.bind((host, 0))
        try:
            await sock.connect((LOOPBACK, port))
        except OSError:
            sock.close()
            await trio.sleep(0.05)
        else:
            return trio.SocketStream(sock)


async def host_of(front: Front, stream: trio.SocketStream) -> str:
    """Where those who answer for groups take this client to come from."""
    await stream.send_all(BEAT)
    while not front.groups.submitted:
        await trio.testing.wait_all_tasks_blocked(0.01)
    return front.groups.submitted[-1][3].client_host


async def test_both_believe_each_other(haproxy: Program, tmp_path: Path) -> None:
    """Client, HAProxy, bridge, HAProxy, bridge: the last one knows the first one's address."""
    broker, places = ScriptedBroker(), [free_port() for _ in range(3)]
    before, behind, outer_port = places
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        with trio.fail_after(PATIENCE_S):
            async with running(replace(settings_for(broker), balancers=HERE)) as inner:
                ports = {"before": before, "outer": outer_port, "behind": behind, "inner": inner.proxy.bootstrap.port}
                configuration = tmp_path / "haproxy.cfg"
                configuration.write_text(CONFIGURATION.format(host=LOOPBACK, **ports), encoding="ascii")
                settings = replace(
                    settings_for(broker),
                    bootstrap=(Address(LOOPBACK, behind),),
                    listen=Address(LOOPBACK, outer_port),
                    rules=(),
                    balancers=HERE,
                    announces_clients=True,
                )
                with haproxy_process(haproxy, configuration):
                    async with running(settings) as outer:
                        client = await connect_from(CLIENT, before)
                        assert await host_of(inner, client) == CLIENT
                        assert outer.proxy.statistics().connections_open == 1
                        await trio.aclose_forcefully(client)
        nursery.cancel_scope.cancel()
