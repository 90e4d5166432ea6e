"""How many records a second become durable: what joins write, through the ledger's group commit into one SQLite file.

It must not know what records mean.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import trio

from bridge.coordinators.ledger import Ledger
from bridge.journal import sqlite_file
from bridge.journal.acknowledged import AcknowledgedFile, Counts
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings, open_file
from tests.benchmarks.engine import settled_group
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import ClassicClient
from translators.dialects.classic import Heartbeat, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply

ROUNDS = 5
SECONDS = 2.0
CLIENTS = 1_000
"""Who waits at most for the disk at one time, each for the records of one turn."""
LONE_APPENDS = 200
RECORDS_PER_S = Target(bound=20_000, at_least=True)
DONE = SyncGroupReply(error=ErrorCode.NONE)
"""An answer that waits for the disk, as those to signs of life don't."""
NAMELESS = Heartbeat(GroupId("bench"), 1, MemberId("m"), None)


@dataclass(slots=True)
class Load:
    """Clients each of which causes the next turn when the last was answered."""

    turns: Sequence[tuple[bytes, ...]]
    records: int = 0
    answered: list[int] = field(default_factory=list)

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """An answer left: its records are durable."""
        self.records += len(self.turns[ref.sequence % len(self.turns)])
        self.answered.append(ref.connection)

    async def run(self, ledger: Ledger) -> float:
        """Keep all clients busy; records a second of wall time."""
        begin = time.perf_counter()
        sequence = 0
        for connection in range(CLIENTS):
            self._ask(ledger, connection, sequence := sequence + 1)
        while (elapsed_s := time.perf_counter() - begin) < SECONDS:
            await trio.lowlevel.checkpoint()
            again, self.answered = self.answered, []
            for connection in again:
                self._ask(ledger, connection, sequence := sequence + 1)
        return self.records / elapsed_s

    def _ask(self, ledger: Ledger, connection: int, sequence: int) -> None:
        ref = RequestRef(0, connection, sequence)
        ledger.expect(ref, NAMELESS)
        ledger.note(self.turns[sequence % len(self.turns)])
        ledger.deliver(ref, DONE)


def measure_journal(directory: Path) -> list[Figure]:
    """The journal and a plain file that is flushed as often, in turns."""
    turns = list(_turns())
    durable_per_s: list[float] = []
    bare_per_s: list[float] = []
    per_cpu_s: list[float] = []
    plain_per_s: list[float] = []
    for number in range(ROUNDS):
        with unguarded():
            bare_per_s.append(trio.run(_write, Load(turns), directory / f"bare-{number}.db"))
        before_s = time.process_time()
        load = Load(turns)
        durable_per_s.append(trio.run(_write, load, directory / f"journal-{number}.db"))
        per_cpu_s.append(load.records / (time.process_time() - before_s))
        plain_per_s.append(_write_plainly(turns, directory / f"plain-{number}"))
    plain = Baseline(name=f"a plain file, {CLIENTS} turns to an fdatasync", value=middle(plain_per_s))
    sizes = [len(record) for turn in turns for record in turn]
    note = (
        f"{spread(durable_per_s)}; {len(sizes) / len(turns):.1f} records of {sum(sizes) / len(sizes):.0f} bytes a turn"
    )
    return [
        Figure(
            name="durable records/s, sqlite",
            value=middle(durable_per_s),
            unit="/s",
            target=RECORDS_PER_S,
            baseline=plain,
            note=note,
        ),
        Figure(
            name="the same, what the number beside the journal leaves",
            value=middle([guarded / bare for guarded, bare in zip(durable_per_s, bare_per_s, strict=True)]),
            unit="x",
            baseline=Baseline(name="the journal without its number, /s", value=1.0),
            note=f"without: {spread(bare_per_s)}",
        ),
        *_lone_appends(turns[0], directory),
        Figure(name="the same per CPU second", value=middle(per_cpu_s), unit="/CPU s", note=spread(per_cpu_s)),
    ]


def _turns() -> Iterator[tuple[bytes, ...]]:
    """What the turns of a growing group write, one join after the other."""
    group, _ = settled_group()
    group.owner.revive(MemoryJournal().replay(), group.now_ms)
    for _ in range(100):
        client = ClassicClient(group, "cooperative-sticky")
        client.begin_join()
        yield tuple(group.owner.entries())
        if client.is_joined:
            client.end_join()
            yield tuple(group.owner.entries())


class _Unwritten(AcknowledgedFile):
    """The number as releases kept it that had none: nowhere."""

    def note(self, counts: Counts, groups: Collection[str]) -> None:
        """Keep nothing."""

    def settle(self, counts: Counts) -> None:
        """Keep nothing."""


@contextmanager
def unguarded() -> Iterator[None]:
    """Journals opened meanwhile write no number beside them."""
    with patch.object(sqlite_file, "AcknowledgedFile", _Unwritten):
        yield


def _lone_appends(entries: Sequence[bytes], directory: Path) -> Iterator[Figure]:
    """How long one append takes that nobody shares, with and without the number, in turns."""
    for sync in ("full", "normal"):
        took_ms: dict[str, list[float]] = {"with": [], "without": []}
        for number in range(ROUNDS):
            for kind, guard in (("without", unguarded()), ("with", nullcontext())):
                path = directory / f"lone-{sync}-{kind}-{number}.db"
                with guard, closing(open_file(FileSettings(path=path, sync=sync))) as file:
                    for _ in range(LONE_APPENDS):
                        begin = time.perf_counter()
                        file.append(entries, ("group",))
                        took_ms[kind].append((time.perf_counter() - begin) * 1000)
        yield Figure(
            name=f"one append alone, journal.sync {sync}",
            value=middle(took_ms["with"]),
            unit="ms",
            baseline=Baseline(name="without its number, ms", value=middle(took_ms["without"])),
        )


async def _write(load: Load, path: Path) -> float:
    ledger = Ledger(load.deliver)
    with closing(open_journal(FileSettings(path=path))) as journal:
        ledger.keep(journal, _keep_few, lambda: None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ledger.run)
            per_s = await load.run(ledger)
            nursery.cancel_scope.cancel()
    return per_s


def _keep_few(entries: Iterable[bytes]) -> tuple[bytes, ...]:
    """Stands for the condensing of entries that, written over and over, mean nothing together."""
    return tuple(entries)[:CLIENTS]


def _write_plainly(turns: Sequence[tuple[bytes, ...]], path: Path) -> float:
    block = b"".join(record for number in range(CLIENTS) for record in turns[number % len(turns)])
    count = sum(len(turns[number % len(turns)]) for number in range(CLIENTS))
    begin, written = time.perf_counter(), 0
    with path.open("wb", buffering=0) as file:
        while (elapsed_s := time.perf_counter() - begin) < SECONDS:
            file.write(block)
            os.fdatasync(file.fileno())
            written += count
    path.unlink()
    return written / elapsed_s
