"""What the service manager hears, by datagrams of its own socket."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.app.service_notices import ServiceNotices

NOW_US = 1_234_567


@contextmanager
def manager(name: str) -> Iterator[socket.socket]:
    """A socket under this name, `@` for the abstract ones."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        listener.setblocking(False)
        yield listener


def notices(name: str) -> ServiceNotices:
    """Notices to that socket, at a time that stands still."""
    return ServiceNotices({"NOTIFY_SOCKET": name}, lambda: NOW_US)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_notices_are_what_systemd_reads(tmp_path: Path, is_abstract: bool) -> None:
    """One datagram each, a line for each variable."""
    name = f"@{tmp_path}" if is_abstract else str(tmp_path / "notify")
    with manager(name) as listener:
        told = notices(name)
        told.ready("clients a:1,\nbrokers 1@2")
        told.reloading()
        told.stopping(3_000)
        heard = [listener.recv(4096).decode().split("\n") for _ in range(3)]
    assert heard == [
        ["READY=1", "STATUS=clients a:1, brokers 1@2"],
        ["RELOADING=1", f"MONOTONIC_USEC={NOW_US}", "STATUS=reading the configuration again"],
        ["STOPPING=1", "EXTEND_TIMEOUT_USEC=13000000", "STATUS=draining"],
    ]


@pytest.mark.parametrize("text", ["\ud800", "x" * 1_000_000, "é" * 1_000_000])
def test_whatever_the_status_the_manager_hears_that_it_is_ready(tmp_path: Path, text: str) -> None:
    """A datagram has a length, and text of a file need not be Unicode; without READY=1 the manager ends the bridge."""
    with manager(str(tmp_path / "notify")) as listener:
        notices(str(tmp_path / "notify")).ready(text)
        assert listener.recv(65_536).decode().startswith("READY=1\nSTATUS=")


def test_nobody_is_told_without_a_manager(caplog: pytest.LogCaptureFixture) -> None:
    """Started by hand or in a container: no socket, no line."""
    ServiceNotices({}, lambda: NOW_US).ready("all")
    assert caplog.messages == []


def test_manager_that_is_gone_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The bridge goes on."""
    with caplog.at_level(logging.WARNING):
        notices(str(tmp_path / "gone")).stopping(0)
    (line,) = caplog.messages
    assert line.startswith(
        f"EB-SERVICE-001: the service manager at NOTIFY_SOCKET={tmp_path / 'gone'} could not be told STOP"
    )
    assert "No such file or directory" in line
