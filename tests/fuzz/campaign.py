"""One run of the fuzzer: a real bridge, a spoiling broker, strangers and the canary, and what became of them.

It must not know arguments or how a result is shown.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import psutil
import trio

from bridge.wire.apis import api_name
from tests.fuzz.broker import SpoilingBroker
from tests.fuzz.canary import Song
from tests.fuzz.strangers import Stranger, Tally
from tests.fuzz.words import Learned
from tests.support.bridge_process import QUICK_SETTINGS, ROOT, BridgeProcess, bridge_process
from tests.support.ports import free_port

MIB = 1024 * 1024
STRANGERS = 60
CALM_BEATS = 60
"""Heartbeats that the canary has answered before the strangers come: what is usual here."""
SETTLE_S = 8.0
"""Longer than the bridge hears out a broker whose client is gone."""
BROKER_PORT = re.compile(r"broker 1 at \S+ is reached by port (\d+)")
FILES_KEPT_MAX, FILES_LOOKS = 8, 60
PIPES_KEPT_MAX = 2 * 64
"""Both ends of each that the bridge keeps for the next large frame."""
RESIDENT_GROWTH_MAX = 192 * MIB
SETTINGS: Mapping[str, str] = {
    **QUICK_SETTINGS,
    "group.max.size": "200",
    "limits.progress.ms": "3000",
    "connect.timeout.ms": "3000",
    "metadata.refresh.ms": "1000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run found; `faults` is empty where all was well."""

    seed: int
    frames: int
    seconds: float
    apis: Mapping[str, int]
    manners: Mapping[str, int]
    spoilt: int
    answers: int
    closed: int
    broker_asked: int
    broker_spoilt: int
    canary_beats: int
    canary_commits: int
    canary_retries: int
    calm_ms: tuple[float, float]
    """The canary's heartbeats before the strangers came: half, and 99 of 100, were answered within so long."""
    rough_ms: tuple[float, float]
    """The same while they were there."""
    resident_growth_bytes: int
    files_kept: int
    """How many more are open than before the strangers came, but for pipes."""
    pipes_kept: int
    faults: tuple[str, ...]


def run_campaign(seed: int, frames: int, folder: Path) -> Result:
    """Start everything, send the frames, and look at what is left; a bridge that ended or logged a traceback raises."""
    port = free_port()
    with bridge_process(f"127.0.0.1:{port}", ("fuzz-*", "canary"), folder, SETTINGS) as bridge:
        return trio.run(_Campaign(seed, frames, port, bridge).run)


@dataclass(frozen=True, slots=True)
class Songs:
    """What the canary told before, during and after."""

    calm: Song
    rough: Song
    last: Song


class CanaryProcess:
    """The canary, a process of its own."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._heard = bytearray()

    async def report(self) -> Song:
        """What it tells when it is asked."""
        told, asked = self._process.stdout, self._process.stdin
        assert told is not None
        assert asked is not None
        await asked.send_all(b"\n")
        while b"\n" not in self._heard:
            chunk = await told.receive_some()
            if not chunk:
                raise RuntimeError("the canary ended by itself")
            self._heard += chunk
        line, _, rest = self._heard.partition(b"\n")
        self._heard = bytearray(rest)
        return Song.read(bytes(line))

    async def until(self, beats: int) -> Song:
        """The report in which it has been answered so many heartbeats."""
        took_s: tuple[float, ...] = ()
        while True:
            song = await self.report()
            took_s += song.took_s
            if song.beats >= beats:
                return replace(song, took_s=took_s)
            await trio.sleep(0.1)


@asynccontextmanager
async def sing(port: int) -> AsyncIterator[CanaryProcess]:
    """A canary at that port, until the end of the block."""
    command = [sys.executable, "-m", "tests.fuzz.canary", str(port)]
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(
            partial(trio.run_process, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=False, cwd=ROOT)
        )
        yield CanaryProcess(process)
        nursery.cancel_scope.cancel()


class _Campaign:
    def __init__(self, seed: int, frames: int, port: int, bridge: BridgeProcess) -> None:
        self._seed = seed
        self._bridge = bridge
        self._process = psutil.Process(bridge.process.pid)
        self._broker = SpoilingBroker(Random(f"{seed} broker"), port)
        self._bootstrap = int(bridge.bootstrap.rpartition(":")[2])
        self._broker_port = 0
        self._faults: list[str] = []
        self._tally = Tally(wanted=frames)

    async def run(self) -> Result:
        """From the first heartbeat of the canary to its last."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._broker.serve)
            await self._wait_for_cluster()
            async with sing(self._bootstrap) as canary:
                with trio.fail_after(60):
                    calm = await canary.until(CALM_BEATS)
                resident, before = self._process.memory_info().rss, self._files()
                self._broker.is_calm = False
                began = time.monotonic()
                await self._let_strangers_come()
                seconds = time.monotonic() - began
                rough = await canary.report()
                self._broker.is_calm = True
                await trio.sleep(SETTLE_S)
                last = await canary.report()
                with trio.move_on_after(SETTLE_S) as waiting:
                    last = await canary.until(last.beats + CALM_BEATS)
                if waiting.cancelled_caught:
                    self._faults.append("no heartbeat was answered after the strangers had gone")
                files = await self._files_kept(before)
            nursery.cancel_scope.cancel()
        growth = self._process.memory_info().rss - resident
        return self._result(seconds, Songs(calm, rough, last), growth, files)

    async def _files_kept(self, before: Counter[str]) -> Counter[str]:
        """How many more are open than before, by kind: on a busy machine the last connections take their time to end,
        and what is kept for ever stays longer than that.
        """
        looks = 0
        while True:
            kept, looks = self._files(), looks + 1
            kept.subtract(before)
            if looks == FILES_LOOKS or kept.total() - kept["pipe"] <= FILES_KEPT_MAX:
                return kept
            await trio.sleep(1)

    def _files(self) -> Counter[str]:
        """What the bridge has open, by kind: the kernel names each `kind:[number]`, or by its path."""
        kinds = Counter[str]()
        for entry in Path(f"/proc/{self._process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                kinds[str(entry.readlink()).partition(":")[0]] += 1
        return kinds

    async def _wait_for_cluster(self) -> None:
        """Until the bridge has found the broker and listens in its stead, by the next port that is free."""
        with trio.fail_after(60):
            # A process of its own: what it has come to stands in its log, and nothing tells that a line was added.
            while (told := BROKER_PORT.search(self._bridge.log.read_text(encoding="utf-8"))) is None:  # noqa: ASYNC110
                await trio.sleep(0.1)
        self._broker_port = int(told[1])

    async def _let_strangers_come(self) -> None:
        learned, ports = Learned(), (self._bootstrap, self._broker_port)
        async with trio.open_nursery() as nursery:
            for number in range(STRANGERS):
                stranger = Stranger(Random(f"{self._seed} {number}"), ports, learned, self._tally)
                nursery.start_soon(stranger.run)
            nursery.start_soon(self._watch, nursery.cancel_scope)

    async def _watch(self, scope: trio.CancelScope) -> None:
        """A bridge that ended, or that takes nobody in, ends the run."""
        refused = 0
        while self._tally.frames < self._tally.wanted:
            await trio.sleep(0.5)
            if self._bridge.process.poll() is not None:
                scope.cancel()
            if self._tally.refused > refused + 200:
                self._faults.append("no connection could be made")
                scope.cancel()
            refused = self._tally.refused

    def _result(self, seconds: float, songs: Songs, growth: int, files: Counter[str]) -> Result:
        tally, canary = self._tally, songs.last
        pipes_kept = files.pop("pipe", 0)
        files_kept = sum(files.values())
        faults = [*self._faults, *canary.faults]
        if tally.frames < tally.wanted:
            faults.append(f"{tally.frames} of {tally.wanted} frames were sent")
        if growth > RESIDENT_GROWTH_MAX:
            faults.append(f"{growth // MIB} MiB more are resident than before")
        if files_kept > FILES_KEPT_MAX:
            faults.append(f"{files_kept} more files are open than before: {dict(files)}")
        if pipes_kept > PIPES_KEPT_MAX:
            faults.append(f"{pipes_kept} more ends of pipes are open than before")
        return Result(
            seed=self._seed,
            frames=tally.frames,
            seconds=round(seconds, 1),
            apis={api_name(key): count for key, count in sorted(tally.apis.items())},
            manners=dict(tally.manners),
            spoilt=tally.spoilt,
            answers=tally.answers,
            closed=tally.closed,
            broker_asked=self._broker.asked,
            broker_spoilt=self._broker.spoilt,
            canary_beats=canary.beats,
            canary_commits=canary.commits,
            canary_retries=canary.retries,
            calm_ms=_quantiles_ms(songs.calm.took_s),
            rough_ms=_quantiles_ms(songs.rough.took_s),
            resident_growth_bytes=growth,
            files_kept=files_kept,
            pipes_kept=pipes_kept,
            faults=tuple(faults),
        )


def _quantiles_ms(took_s: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(took_s) or [0.0]
    half, most = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return round(half * 1000, 2), round(most * 1000, 2)
