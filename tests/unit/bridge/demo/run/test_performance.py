"""One story_run with scripted clients and no cluster, and how causes are found. It must not know the command line.

A run with real clients, the mock cluster and the bridge is an end-to-end test.
"""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from bridge.demo import run
from bridge.demo.errors import DemoError
from bridge.demo.fleet import FleetError
from bridge.demo.run import Interrupted, first_cause, perform
from bridge.demo.screen import Screen
from bridge.demo.services import BridgePlace
from bridge.demo.story import DemoOptions

PROGRAMME = DemoOptions(members=2, partitions=2, seconds=0)


def test_cause_is_the_error_of_the_demo_before_what_follows_from_it() -> None:
    """A dead bridge makes members fail too; a plain exception is its own cause."""
    bug, fleet, dead = ValueError(), FleetError("f"), DemoError("d")
    assert first_cause(bug) is bug
    assert first_cause(ExceptionGroup("a", [fleet, ExceptionGroup("b", [dead])])) is dead
    assert first_cause(ExceptionGroup("a", [fleet, bug])) is fleet


def test_signal_during_the_run_ends_it_and_what_it_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SIGTERM comes out as Interrupted after the cluster's child has ended; here it comes when the bridge is due."""
    seen: list[str] = []

    @asynccontextmanager
    async def run_bridge(
        upstream: str, group: str, directory: Path, events: str | None = None
    ) -> AsyncIterator[BridgePlace]:
        seen.append(upstream)
        os.kill(os.getpid(), signal.SIGTERM)
        yield BridgePlace(listen=upstream, admin="127.0.0.1:1")

    monkeypatch.setattr(run, "run_bridge", run_bridge)
    with pytest.raises(BaseExceptionGroup) as caught, Path(os.devnull).open("w", encoding="utf-8") as sink:
        perform(PROGRAMME, Screen(Console(file=sink), live=False), tmp_path)
    cause = first_cause(caught.value)
    assert isinstance(cause, Interrupted)
    assert cause.number == signal.SIGTERM
    assert len(seen) == 1
