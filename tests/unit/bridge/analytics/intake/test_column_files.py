"""Files of a log become files of `events`, by processes, and what is left over goes Spark's way."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import active_children
from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake import column_files, columns, reading
from bridge.analytics.intake.batches import Intake
from bridge.analytics.intake.column_files import Makers, can_take, is_at_hand, is_large, take_columns
from bridge.analytics.intake.columns import Columns, Errand, LogFile
from bridge.analytics.intake.delivery import Delivery, delivery_of, log_files
from bridge.analytics.intake.numbers import Numbers
from bridge.analytics.intake.reading import accepted, parsed
from bridge.analytics.tables.definitions import EVENTS, REJECTED
from bridge.analytics.tables.store import Store
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.unit.bridge.analytics.intake.test_reading import GOOD, STRANGERS

LOG = LogFile("events-b1-000001.jsonl", "events-b1-000001.jsonl")
STRANGE_BYTES = b'{}[]",:019-+.eE\\ \tru\x00\x7f\xc3\xff'
STRANGE_VALUES: tuple[object, ...] = (None, 1, -1, 1.5, True, "x", "5", [], ["a"], [1], [None], {}, {"a": 1}, 2**63)


MANY = 100
"""More parts than all processes get of a log by themselves."""


def dirty_files(folder: Path) -> list[str]:
    """A log in three files, with strangers in two of them."""
    write_log(folder, FleetPlan(seed=5, groups=2, rebalances=4), files=3)
    files = sorted(folder.glob("*.jsonl"))
    lines = files[1].read_text().splitlines()
    files[1].write_text("\n".join([*lines[:50], *STRANGERS.values(), "", " ", *lines[50:]]))
    with files[2].open("a") as last:
        last.write(f"{GOOD.replace('b1', 'b7')}\r\n{GOOD[:-9]}")
    return [str(file) for file in files]


def spoiled(line: bytes, chance: random.Random) -> bytes:
    """A line with something in it changed, as bytes or as words."""
    place = chance.randrange(len(line))
    said = json.loads(line)
    name = chance.choice(list(said))
    match chance.randrange(5):
        case 0:
            return line[:place] + bytes([chance.choice(STRANGE_BYTES)]) + line[place + 1 :]
        case 1:
            return line[:place] + bytes([chance.choice(STRANGE_BYTES)]) + line[place:]
        case 2:
            return line[:place] + line[place + chance.randrange(1, 40) :]
        case 3:
            said[name] = chance.choice(STRANGE_VALUES)
        case _:
            del said[name]
    return json.dumps(said, separators=(",", ":")).encode()


def die(_: object) -> None:
    """As a process does that the kernel ends for its memory."""
    os._exit(9)


def rows(store: Store) -> list[Counter[str]]:
    """Everything in the two tables."""
    return [Counter(map(str, store.read(table).collect())) for table in (EVENTS, REJECTED)]


@pytest.mark.parametrize("copies", [1, 2], ids=["", "and numbers come twice"])
def test_both_ways_say_the_same(store: Store, tmp_path: Path, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is in the files, and wherever: the quick way for files on this machine, Spark's own for lines."""
    for module in (columns, reading):
        monkeypatch.setattr(module, "LINE_BYTES_MAX", 10_000)
    monkeypatch.setattr(columns, "BLOCK_BYTES", 9_000)
    files = dirty_files(tmp_path / "source=elsewhere")
    more = [GOOD.replace("b1", "b8"), GOOD.replace("}", " " * 10_000 + "}")] * copies
    with Path(files[0]).open("a") as first:
        first.writelines(f"{line}\n" for line in more)
    delivery = delivery_of(store.spark, files)
    other = Store(store.spark, str(tmp_path / "other"))
    quick, slow = Intake(store, {}), Intake(other, {})
    assert quick.take(delivery, 0) == slow.take(Delivery(delivery.lines), 0)
    assert rows(store) == rows(other)
    assert quick.seen == slow.seen
    assert not any(Path(store.root).glob("_next/*/*")), "the text of strangers is kept"


def test_what_arrow_takes_spark_takes_as_it_is(store: Store, tmp_path: Path) -> None:
    """Lines spoiled by chance: nothing gets in that Spark would refuse, nothing gets in otherwise, nothing is lost."""
    write_log(tmp_path / "events", FleetPlan(seed=5, groups=2, rebalances=20))
    (log,) = (tmp_path / "events").glob("*.jsonl")
    chance = random.Random(8)
    lines = [spoiled(line, chance) if chance.random() < 0.02 else line for line in log.read_bytes().splitlines()]
    log.write_bytes(b"\n".join(lines))
    delivery = delivery_of(store.spark, [str(log)])
    adopted = take_columns(store, delivery.files, 0, Makers())
    left = adopted.left
    assert left is not None
    store.commit(EVENTS, adopted.staged)
    taken, _ = rows(store)
    as_told = accepted(parsed(delivery.lines), 0).select(store.read(EVENTS).columns)
    assert taken <= Counter(map(str, as_told.collect()))
    assert taken.total() > 1000
    assert taken.total() + left.count() == delivery.lines.count()


def test_processes_bring_what_one_brings(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large logs are shared out in pieces."""
    files = dirty_files(tmp_path / "events")
    taken: list[list[Counter[str]]] = []
    shares: list[tuple[int, int]] = []
    for alone_bytes in (column_files.ALONE_BYTES, 0):
        monkeypatch.setattr(column_files, "ALONE_BYTES", alone_bytes)
        monkeypatch.setattr(column_files, "ERRAND_BYTES", 20_000)
        intake = Intake(store, {}, Makers(lambda done, total: shares.append((done, total))), is_anew=True)
        assert not intake.take(delivery_of(store.spark, files), 0).is_doubtful
        taken.append(rows(store))
    assert taken[0] == taken[1]
    assert shares == [(place + 1, len(shares)) for place in range(len(shares))]
    assert len(shares) > 2


def test_large_log_is_read_in_larger_parts(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part makes files of its own; there are so many that at the end no process waits long for another one."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=4))
    files = log_files(str(tmp_path / "events"))
    size_bytes = Path(files[0].path).stat().st_size
    counts: list[int] = []

    def make(_makers: Makers, errands: Sequence[Errand], _processes: int) -> list[Columns]:
        counts.append(len(errands))
        return []

    monkeypatch.setattr(Makers, "make", make)
    for least, most in ((size_bytes, size_bytes), (1, size_bytes), (1, size_bytes // MANY)):
        monkeypatch.setattr(column_files, "ERRAND_BYTES", least)
        monkeypatch.setattr(column_files, "ERRAND_BYTES_MAX", most)
        take_columns(store, files, 0, Makers())
    processes = min(store.spark.sparkContext.defaultParallelism, column_files.PROCESSES_MAX)
    alone, shared, bounded = counts
    assert alone == 1
    assert [shared - column_files.ERRANDS_A_PROCESS * processes in {0, 1}, bounded - MANY in {0, 1}] == [True, True]


KEPT = """
import resource
import pyarrow as pa
from bridge.analytics.intake.column_files import keep_memory
keep_memory()
def fill():
    for buffer in [pa.allocate_buffer(2**23) for _ in range(4)]:
        memoryview(buffer).cast("B")[:] = bytes(2**23)
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
fill()
fill()
print(pa.default_memory_pool().backend_name, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""Four blocks are taken, written to and let go of three times; each has 2,048 pages."""


def test_little_of_a_stream_is_not_asked_what_it_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there is for who reads it."""
    monkeypatch.setattr(column_files, "UNTOLD_BYTES", 5)
    first, second = (LogFile(str(tmp_path / name), name) for name in "ab")
    for file in (first, second):
        Path(file.path).write_text("abc")
    assert (is_large([first]), is_large([first, second])) == (False, True)
    Path(second.path).unlink()
    assert not is_large([first, second])


def test_memory_of_a_block_is_that_of_the_next() -> None:
    """Given back and taken again it was thousands of pages a time, each with a fault: a fifth of the CPU of reading.

    A kernel that is short of time or memory takes some back by itself, of one process or another; what is given back
    is so each time, ten thousand pages and more.
    """

    def filled() -> tuple[str, int]:
        answer = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
        backend, faults = answer.stdout.split()
        return backend, int(faults)

    assert any(backend == "system" and faults < 2_048 for backend, faults in (filled() for _ in range(10)))


def test_log_without_strangers_leaves_nothing_over(store: Store, tmp_path: Path) -> None:
    """Then Spark reads no line at all, and the numbers are told."""
    truth = write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=2))
    adopted = take_columns(store, log_files(str(tmp_path / "events")), 0, Makers())
    assert adopted.left is None
    assert adopted.numbers == [("b1", Numbers(1, 2**truth.events - 1))]


def test_only_files_of_this_machine_are_taken_so(store: Store) -> None:
    """Elsewhere Spark reads them, where it can."""
    away = Store(store.spark, "hdfs://far/away")
    assert is_at_hand(store)
    assert not is_at_hand(away)
    assert can_take(store, [LOG])
    assert not can_take(store, [])
    assert not can_take(away, [LOG])


@pytest.mark.parametrize("alone_bytes", [0, column_files.ALONE_BYTES], ids=["by processes", "alone"])
@pytest.mark.parametrize("look", ["file_bytes", "make_columns"])
def test_file_that_its_bridge_deletes_meanwhile_is_told_and_costs_only_itself(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone_bytes: int, look: str
) -> None:
    """Before anybody looks how long it is, or behind that."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=4), files=3)
    files = log_files(str(tmp_path / "events"))
    rest = store.count_staged(take_columns(store, files[1:], 0, Makers()).staged)
    made = Makers.make

    def delete(makers: Makers, errands: Sequence[Errand], processes: int) -> list[Columns]:
        Path(files[0].path).unlink(missing_ok=True)
        return made(makers, errands, processes)

    monkeypatch.setattr(column_files, "ALONE_BYTES", alone_bytes)
    monkeypatch.setattr(Makers, "make", delete)
    if look == "file_bytes":
        Path(files[0].path).unlink()
    adopted = take_columns(store, files, 0, Makers(), is_told=True)
    assert (adopted.gone, adopted.left) == ((files[0].source,), None)
    assert adopted.told is not None
    assert store.count_staged(adopted.staged) == rest > 0


def test_file_of_our_own_that_is_gone_is_one_sentence(store: Store, tmp_path: Path) -> None:
    """What a stream holds on to, nobody has to delete."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-011: .*No such file.*run the same command again"):
        take_columns(store, [LogFile(str(tmp_path / LOG.path), LOG.source)], 0, Makers())


def test_process_that_dies_is_one_sentence_and_the_next_batch_has_another(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is told to go on does."""
    dirty_files(tmp_path / "events")
    files, makers = log_files(str(tmp_path / "events")), Makers()
    monkeypatch.setattr(column_files, "ALONE_BYTES", 0)
    with monkeypatch.context() as patch:
        patch.setattr(column_files, "make_columns", die)
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-011: .*terminated"):
            take_columns(store, files, 0, makers)
    adopted = take_columns(store, files, 0, makers)
    assert adopted.left is not None
    assert store.count_staged(adopted.staged) > 0


KILLED = """
import os, signal
from bridge.analytics.intake import column_files
from bridge.analytics.intake.column_files import Makers
from bridge.analytics.intake.columns import Errand
column_files.ALONE_BYTES = -1
if __name__ == "__main__":
    makers = Makers()
    makers.make([Errand((), "nowhere", 0)], 1)
    print(*makers._pool._processes, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_makers_go_with_a_job_that_is_killed(tmp_path: Path) -> None:
    """They waited for more for ever, each with some hundred MB, behind every kill."""
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    # Whoever holds its output keeps it open: it ends when the last of them is gone.
    answer = subprocess.run([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, check=False)
    assert (answer.returncode, answer.stdout.strip().isdecimal()) == (-9, True)


def test_closed_makers_begin_anew(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their processes are gone, and there are others when there is more to make."""
    dirty_files(tmp_path / "events")
    files, makers = log_files(str(tmp_path / "events")), Makers()
    monkeypatch.setattr(column_files, "ALONE_BYTES", 0)
    others = set(active_children())
    for batch in range(2):
        take_columns(store, files, batch, makers)
        own = set(active_children()) - others
        assert own
        makers.close()
        assert not own & set(active_children())
