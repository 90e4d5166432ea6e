"""The systemd unit: systemd's own tools take it, and the bridge does under it what its `Type=` promises."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.cli.serve import WrongConfiguration
from bridge.config.keys import KEYS
from bridge.demo.services import free_place
from tests.architecture.source_tree import ROOT
from tests.support.debian import Program, debian_program
from tests.support.ports import free_port

UNIT = ROOT / "deploy/systemd/epochbridge.service"
PROGRAM, CONFIGURATION = "/opt/epochbridge/bin/epochbridge", "/etc/epochbridge/bridge.yaml"
EXPOSURE_MAX = 15
"""In tenths of systemd's own scale from 0 to 10, where a unit that says nothing has 9.6."""
WAIT_S = 90.0
WITHOUT_NEW_CODE = """
import ctypes, os, sys
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What MemoryDenyWriteExecute= does, by the kernel itself (6.3 and newer; older ones let it be)."""


def assignments() -> Iterator[tuple[str, str]]:
    """Every line `Name=value` of the unit."""
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        name, found, value = line.partition("=")
        if found and not line.startswith("#"):
            yield name, value


def values(name: str) -> list[str]:
    """What the unit says under this name."""
    return [value for one, value in assignments() if one == name]


@pytest.fixture(name="analyze")
def _analyze() -> Program:
    """From the path, or from Debian's package."""
    found = shutil.which("systemd-analyze")
    program = Program(found) if found else debian_program("systemd", "usr/bin/systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze on the path, nor from apt-get; what the unit starts is run without it")
    return program


def analyzed(analyze: Program, unit: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """What systemd's tool says of a unit."""
    command = [analyze.path, *arguments, str(unit)]
    environment = {**os.environ, **analyze.environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_unit_is_what_systemd_reads(analyze: Program, tmp_path: Path) -> None:
    """No unknown name, no value that it can't take; the program is one that is here."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"), encoding="utf-8")
    ran = analyzed(analyze, unit, "verify", "--man=no", "--recursive-errors=no")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_unit_shows_little_of_the_machine(analyze: Program) -> None:
    """systemd's own marks for what a service could reach."""
    ran = analyzed(analyze, UNIT, "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MAX}")
    assert ran.returncode == 0, ran.stdout


def test_unit_waits_for_requests_under_way() -> None:
    """Longer than the bridge drains, and status 2 is what a wrong configuration ends with."""
    drain = KEYS["drain.timeout.ms"].default
    assert isinstance(drain, int)
    assert int(values("TimeoutStopSec")[0]) * 1000 > drain
    assert values("RestartPreventExitStatus") == [str(WrongConfiguration.exit_code)]


def test_bridge_is_started_again_however_often_that_fails() -> None:
    """By default systemd gives up for good after five starts in ten seconds. One takes half a second, and the pause a
    second: a port that another process has for so long would be enough.
    """
    assert (values("Restart"), values("StartLimitIntervalSec")) == (["on-failure"], ["0"])


@contextmanager
def manager() -> Iterator[tuple[str, socket.socket]]:
    """A service manager's socket, under a name that the kernel chooses."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("")
        listener.settimeout(WAIT_S)
        name = listener.getsockname()
        assert isinstance(name, bytes)
        yield f"@{name[1:].decode()}", listener


def heard(listener: socket.socket) -> dict[str, str]:
    """The next notice."""
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", listener.recv(65_536).decode(), re.MULTILINE))


def command_of(line: str, configuration: Path) -> list[str]:
    """What the unit runs, from this tree and with this configuration."""
    program, *arguments = line.replace(CONFIGURATION, str(configuration)).split()
    assert program == PROGRAM
    return [sys.executable, "-m", "bridge", *arguments]


@contextmanager
def cluster() -> Iterator[str]:
    """A broker that says who it is; a bridge is not ready without one."""
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "tests.benchmarks.topic_server", address, "t", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            assert broker.stdout.readline() == "ready\n"
            yield address
        finally:
            broker.kill()


def test_bridge_tells_the_manager_what_it_does(tmp_path: Path) -> None:
    """Ready, twice a reload, of which the second is of no use, and its end; the journal lies in the unit's folder."""
    place, path, state = free_place(), tmp_path / "bridge.yaml", tmp_path / "state"
    text = (
        f"bootstrap: 127.0.0.1:1\nlisten: {place.listen}\nadmin.listen: 'off'\ngroups: [{{match: a, road: embedded}}]\n"
    )
    path.write_text(text, encoding="utf-8")
    state.mkdir()
    (start,), (check, signalled) = values("ExecStart"), values("ExecReload")
    assert signalled == "/bin/kill -HUP $MAINPID"
    with cluster() as bootstrap, manager() as (name, listener):
        text = text.replace("127.0.0.1:1\n", f"{bootstrap}\n")
        path.write_text(text, encoding="utf-8")
        environment = {**os.environ, "NOTIFY_SOCKET": name, "STATE_DIRECTORY": str(state)}
        command = [sys.executable, "-c", WITHOUT_NEW_CODE, *command_of(start, path)]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as bridge:
            try:
                notices = [heard(listener)]
                subprocess.run(command_of(check, path), check=True, capture_output=True)
                for written in (text.replace("match: a", "match: b"), text.replace(place.listen, "127.0.0.1:1")):
                    path.write_text(written, encoding="utf-8")
                    bridge.send_signal(signal.SIGHUP)
                    notices += [heard(listener), heard(listener)]
                bridge.send_signal(signal.SIGTERM)
                notices.append(heard(listener))
            except BaseException:
                bridge.kill()
                raise
            _, log = bridge.communicate(timeout=WAIT_S)
    words = ["READY", "RELOADING", "READY", "RELOADING", "READY", "STOPPING"]
    assert [next(iter(notice)) for notice in notices] == words, log
    assert (bridge.returncode, bool(list(state.glob("*.db")))) == (0, True)
    ready, began, taken, again, refused, _ = notices
    assert f"clients {place.listen}" in ready["STATUS"]
    assert 0 < int(began["MONOTONIC_USEC"]) < int(again["MONOTONIC_USEC"])
    assert taken["STATUS"].startswith("the configuration was read again: rules for new groups: ")
    assert refused["STATUS"].startswith("the configuration can't be used, nothing has changed: ")


def test_wrong_configuration_fails_the_reload(tmp_path: Path) -> None:
    """`systemctl reload` says so, and the bridge is not sent the signal."""
    path = tmp_path / "bridge.yaml"
    path.write_text("no.such: 1\n", encoding="utf-8")
    (check, _), (start,) = values("ExecReload"), values("ExecStart")
    for line in (check, start):
        ran = subprocess.run(command_of(line, path), check=False, capture_output=True, text=True)
        assert "EB-CONFIG-003" in ran.stderr
        assert ran.returncode != 0
