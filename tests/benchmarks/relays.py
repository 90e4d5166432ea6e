"""The relays that the bridge is measured beside, between clients and one broker on loopback: HAProxy, and Kroxylicious
where somebody has it.

It must not know what is sent.
"""

import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.processes import BenchmarkError, Child, command
from tests.support.certificates import STORE_WORD
from tests.support.debian import Program, debian_program
from tests.support.scripted_broker import LOOPBACK

KROXYLICIOUS_HOME = "KROXYLICIOUS_HOME"
"""The variable that names the folder of an unpacked distribution: none can be fetched as Kafka is."""
MAIN_CLASS = "io.kroxylicious.app.Kroxylicious"
START_S, LOOK_S = 60.0, 0.1
HAPROXY_TEXT = """
global
  nbthread 1
defaults
  mode tcp
  timeout connect 60s
  timeout client 600s
  timeout server 600s
listen kafka
  bind {host}:{port}{clients}
  server broker {host}:{broker}{brokers}
"""
KROXYLICIOUS_TEXT = """
virtualClusters:
  - name: bench
    targetCluster:
      bootstrapServers: {host}:{broker}
      {brokers}
    gateways:
      - name: clients
        portIdentifiesNode:
          bootstrapAddress: {host}:{port}
        {clients}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Where a relay listens, and the broker's port; the certificate with its key that clients are shown, as PEM and as
    PKCS#12, and whom it trusts to be the broker: nothing where there is no TLS.
    """

    port: int
    broker: str
    pair: str
    store: str
    trust: str


def find_haproxy() -> Program:
    """The one on the path, or Debian's. Raises BenchmarkError."""
    found = shutil.which("haproxy")
    program = Program(found) if found else debian_program("haproxy", "usr/sbin/haproxy")
    if program is None:
        raise BenchmarkError("there is no haproxy on the path, and none can be had from Debian")
    return program


@contextmanager
def haproxy(program: Program, between: Between, directory: Path) -> Iterator[Child]:
    """One thread of it."""
    text = HAPROXY_TEXT.format(
        host=LOOPBACK,
        port=between.port,
        broker=between.broker,
        clients=f" ssl crt {between.pair}" if between.pair else "",
        brokers=f" ssl verify required ca-file {between.trust}" if between.trust else "",
    )
    configuration = directory / f"haproxy-{between.port}.cfg"
    configuration.write_text(text, encoding="ascii")
    with _quiet(f"{program.path} -db -f {configuration}", between, directory, program.environment) as child:
        yield child


@contextmanager
def kroxylicious(home: Path, between: Between, directory: Path) -> Iterator[Child]:
    """With no filter, and Java's own settings."""
    word = f"storePassword: {{password: {STORE_WORD}}}"
    shown = f"tls: {{key: {{storeFile: {between.store}, storeType: PKCS12, {word}}}}}"
    trusted = f"tls: {{trust: {{storeFile: {between.trust}, storeType: PEM}}}}"
    text = KROXYLICIOUS_TEXT.format(
        host=LOOPBACK,
        port=between.port,
        broker=between.broker,
        clients=shown if between.store else "",
        brokers=trusted if between.trust else "",
    )
    configuration = directory / f"kroxylicious-{between.port}.yaml"
    configuration.write_text(text, encoding="ascii")
    words = f"java -cp '{home}/libs/*' {MAIN_CLASS} --config {configuration}"
    with _quiet(words, between, directory, {}) as child:
        yield child


@contextmanager
def _quiet(words: str, between: Between, directory: Path, environment: Mapping[str, str]) -> Iterator[Child]:
    """A program that says nothing when it is ready, from when it can be connected with. Raises BenchmarkError."""
    shell = ["/bin/sh", "-c", f"echo begun; exec {words} 1>&2"]
    with command(shell, directory, {**os.environ, **environment}) as child:
        end = time.monotonic() + START_S
        while not _is_there(between.port):
            if child.process.poll() is not None or time.monotonic() > end:
                raise BenchmarkError(f"a relay does not listen; see {child.log}:\n{child.log.read_text()[-2000:]}")
            time.sleep(LOOK_S)
        yield child


def _is_there(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex((LOOPBACK, port)) == 0
