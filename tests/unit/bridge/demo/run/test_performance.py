"""One story_run with scripted clients and no cluster, and how causes are found. It must not know the command line.

A run with real clients, the mock cluster and the bridge is an end-to-end test.
"""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from rich.console import Console

from bridge.demo import run
from bridge.demo.errors import DemoError
from bridge.demo.fleet import FleetError
from bridge.demo.run import Bridge, Interrupted, first_cause, perform
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
        upstream: str, embedded: str | None, directory: Path, events: str | None = None
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


@asynccontextmanager
async def running(ended: list[str]) -> AsyncIterator[BridgePlace]:
    """A bridge that is none."""
    yield BridgePlace(listen="127.0.0.1:1", admin="127.0.0.1:1")
    ended.append("gone")


async def test_bridge_is_gone_once_it_has_departed() -> None:
    """And stays gone, whoever asks again."""
    ended: list[str] = []
    bridge = Bridge(running(ended))
    async with trio.open_nursery() as nursery:
        await nursery.start(bridge.host)
        assert bridge.place.listen == "127.0.0.1:1"
        await bridge.depart()
        assert ended == ["gone"]
        await bridge.depart()
    assert ended == ["gone"]


async def test_move_that_is_not_made_is_told_with_the_commands_own_words() -> None:
    """EB-DEMO-013, and why: here nobody answers."""
    bridge = Bridge(running([]))
    async with trio.open_nursery() as nursery:
        await nursery.start(bridge.host)
        with pytest.raises(DemoError, match=r"EB-DEMO-013: `epochbridge move g --to upstream .*EB-ADMIN-011"):
            await bridge.move("g", "upstream", say=lambda _: None)
        await bridge.depart()


async def never_end(*_words: object, **_how: object) -> None:
    """A command that does not return."""
    await trio.sleep_forever()


async def test_move_that_takes_its_time_is_told_of_and_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """EB-DEMO-014: it was waited for two minutes without a word, and then said to have said nothing."""
    monkeypatch.setattr(run, "PROGRESS_S", 0.01)
    monkeypatch.setattr(run, "MOVE_TIMEOUT_S", 0.2)
    monkeypatch.setattr(run, "ask_progress", lambda _admin, _group: "moving, 1 of 4 members moved")
    monkeypatch.setattr(trio, "run_process", never_end)
    said: list[str] = []
    bridge = Bridge(running([]))
    async with trio.open_nursery() as nursery:
        await nursery.start(bridge.host)
        with pytest.raises(DemoError, match=r"EB-DEMO-014: .* last seen moving, 1 of 4 members moved\. "):
            await bridge.move("g", "upstream", say=said.append)
        await bridge.depart()
    assert said[0].startswith("The move to upstream takes its time, ")
    assert said[0].endswith(" s so far: moving, 1 of 4 members moved.")
