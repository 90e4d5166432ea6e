"""Whole logs with known truth, from files to all tables."""

import json
import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake import batches, column_files
from bridge.analytics.intake.batches import Intake, Taken
from bridge.analytics.intake.column_files import Adopted, Makers, take_columns
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.spark.failures import told_failures
from bridge.analytics.tables.definitions import DAILY, DATE, EVENTS, GAPS, REBALANCES, REJECTED, TABLES
from bridge.analytics.tables.positions import positioned, runs
from bridge.analytics.tables.publishing import pinned
from bridge.analytics.tables.steps import FROM_EVENTS
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Road
from tests.support.fleet_files import write_log
from tests.support.fleet_log import MINUTE_US, FleetPlan
from tests.support.spark import python_nodes
from tests.support.table_truth import contents, said_by_tables, said_by_truth


def hush(_: str) -> None:
    """Nobody watches."""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A folder for a log."""
    return tmp_path / "events"


def take_columns_alone(store: Store, files: Sequence[LogFile], batch: int, makers: Makers, *, is_told: bool) -> Adopted:
    """Columns, and nothing of what they tell."""
    assert is_told
    return take_columns(store, files, batch, makers)


def test_tables_say_what_is_true_of_the_log(store: Store, events: Path) -> None:
    """Stalls, disturbances, phases, moves, flaps: classic and KIP-848 groups, over midnight."""
    truth = write_log(events, FleetPlan(seed=7, rebalances=30), files=3)
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert said_by_tables(store) == said_by_truth(truth)
    days = {row[DATE] for row in store.read(DAILY).select(DATE).distinct().collect()}
    assert len(days) == 2
    assert {path.name for path in Path(store.root).iterdir()} >= {*TABLES}


def test_tables_of_groups_that_only_pass_say_what_is_true(store: Store, events: Path) -> None:
    """Where brokers decide for all groups, and the log has what answers tell: no table is without its rows."""
    plan = FleetPlan(seed=8, groups=2, rebalances=12, pause_us=MINUTE_US // 6, road=Road.PASSING)
    truth = write_log(events, plan)
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert said_by_tables(store) == said_by_truth(truth)
    told = {name: store.read(table) for name, table in TABLES.items()}
    assert {name for name, rows in told.items() if rows.isEmpty()} == {REJECTED.name, GAPS.name}
    roads = {row["road"] for name in ("phases", "rebalances", "stalls", "members") for row in told[name].collect()}
    assert roads == {Road.PASSING}


def test_bad_input_costs_only_itself(store: Store, events: Path) -> None:
    """Torn tail, a stranger's file, the same file twice: set aside with the reason, the tables are as without."""
    truth = write_log(events, FleetPlan(rebalances=5))
    whole = events / "events-b1-000001.jsonl"
    copied = len(whole.read_bytes().splitlines())
    (events / "events-b1-000002.jsonl").write_bytes(whole.read_bytes())
    (events / "events-b2-000001.jsonl").write_bytes(whole.read_bytes().replace(b'"b1', b'"b2')[:50])
    (events / "events-b3-000001.jsonl").write_bytes(b"\xff\xfe not ours\n[]\n")
    make_tables(store, event_lines(store.spark, str(events)), hush)
    rejected = store.read(TABLES["rejected"]).groupBy("reason").count().collect()
    assert {row["reason"]: row["count"] for row in rejected} == {"duplicate": copied, "truncated": 1, "foreign": 2}
    assert said_by_tables(store) == said_by_truth(truth)


def test_number_that_no_bridge_writes_costs_only_itself(store: Store, events: Path) -> None:
    """A line of a stranger who may write to the topic: as an event its clock ended every run, and every stream."""
    truth = write_log(events, FleetPlan(rebalances=5))
    whole = events / "events-b1-000001.jsonl"
    *_, last = (json.loads(line) for line in whole.read_bytes().splitlines())
    number = last["number"] + 1
    beyond: list[dict[str, object]] = [
        {"mono_us": -(2**63)},
        {"mono_us": 2**63 - 1},
        {"number": 2**63 - 1},
        {"kind": "partitions-released", "partitions": ["t-0"], "member_id": "m", "idle_us": -(2**63)},
    ]
    lines = [{**last, "event_id": f"b1-{number + at}", "number": number + at, **one} for at, one in enumerate(beyond)]
    with whole.open("a") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    make_tables(store, event_lines(store.spark, str(events)), hush)
    rejected = store.read(TABLES["rejected"]).groupBy("reason").count().collect()
    assert {row["reason"]: row["count"] for row in rejected} == {"foreign": len(beyond)}
    assert said_by_tables(store) == said_by_truth(truth)


def test_stretches_tell_what_spark_makes_of_all_events(
    store: Store, events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every column of every table: in parts so small that most is left, with lines in between that Arrow leaves to
    Spark, and in large ones.
    """
    write_log(events, FleetPlan(seed=9, groups=3, rebalances=8), files=3)
    first = min(events.glob("*.jsonl"))
    lines = first.read_bytes().splitlines()
    first.write_bytes(b"\n".join([*lines[:70], b" " + lines[70], *lines[71:], lines[5][:90]]))
    monkeypatch.setattr(column_files, "ERRAND_BYTES", 40_000)
    make_tables(store, event_lines(store.spark, str(events)), hush)
    alone = Store(store.spark, str(tmp_path / "alone"))
    monkeypatch.setattr(batches, "take_columns", take_columns_alone)
    make_tables(alone, event_lines(store.spark, str(events)), hush)
    assert contents(store) == contents(alone)


def test_run_that_ends_between_two_tables_leaves_the_earlier_ones(store: Store, events: Path) -> None:
    """All of them to who reads them together, at whichever table it ends; and none is missing to who reads one."""
    write_log(events, FleetPlan(groups=1, rebalances=2))
    make_tables(store, event_lines(store.spark, str(events)), hush)
    earlier = contents(store)
    write_log(events, FleetPlan(groups=2, rebalances=3))
    for last in (EVENTS, REBALANCES, DAILY):

        def end(name: str, last: str = last.name) -> None:
            if name == last:
                raise InterruptedError(name)

        with pytest.raises(InterruptedError):
            make_tables(store, event_lines(store.spark, str(events)), end)
        assert contents(pinned(store)) == earlier
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert contents(store) != earlier


def test_file_that_its_bridge_deletes_while_it_is_read_is_a_gap(
    store: Store, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run broke off, though all others were there; a log that is larger than its bridge keeps was never read."""
    write_log(events, FleetPlan(seed=7, rebalances=30), files=3)
    log = event_lines(store.spark, str(events))
    first, second, _ = sorted(events.glob("*.jsonl"))
    number = json.loads(second.read_text().splitlines()[0])["number"]
    taken = Intake.take

    def delete(intake: Intake, delivery: Delivery, batch: int) -> Taken:
        first.unlink()
        return taken(intake, delivery, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Intake, "take", delete)
        make_tables(store, log, hush)
    (row,) = store.read(GAPS).collect()
    assert (row["source"], row["from_offset"], row["to_offset"]) == ("boot b1", 1, number)
    assert first.name in row["detail"]
    assert capsys.readouterr().err == f"gap in boot b1 from number 1 to {number}: {row['detail']}\n"
    assert store.read(EVENTS).agg(f.min("number")).first() == (number,)
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert store.count(GAPS) == 0, "of a log that had gone before there is no gap"


def test_log_of_another_tool_leaves_the_earlier_tables(store: Store, events: Path) -> None:
    """A run over the wrong folder says what was wrong with it, and who reads the tables does not see it."""
    write_log(events, FleetPlan(groups=1, rebalances=2))
    make_tables(store, event_lines(store.spark, str(events)), hush)
    earlier = contents(store)
    other = events / "other"
    other.mkdir()
    (other / "events-x-000001.jsonl").write_text('{"time":1,"level":"info"}\n' * 3)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-019: .*\(3 foreign\).*name the folder"):
        make_tables(store, event_lines(store.spark, str(other)), hush)
    assert contents(pinned(store)) == earlier


def test_disk_that_is_full_is_one_sentence_and_leaves_the_earlier_tables(store: Store, events: Path) -> None:
    """Whoever of the two writes: Arrow in this process, Spark in its own. With room again all is well."""
    write_log(events, FleetPlan(groups=1, rebalances=2))
    make_tables(store, event_lines(store.spark, str(events)), hush)
    earlier = contents(store)
    write_log(events, FleetPlan(groups=2, rebalances=3))
    gateway = store.spark.sparkContext._gateway
    assert gateway is not None
    # Of so little Spark writes what it exchanges between its own tasks alone, some kB at a time.
    for pid, size_bytes, code in (
        (os.getpid(), 8_192, "EB-ANALYTICS-011"),
        (gateway.proc.pid, 512, "EB-ANALYTICS-012"),
    ):
        told = pytest.raises(AnalyticsError, match=rf"^{code}: .*File too large.*run the same command again")
        with told, files_of_at_most(pid, size_bytes), told_failures():
            make_tables(store, event_lines(store.spark, str(events)), hush)
        assert contents(pinned(store)) == earlier
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert contents(store) != earlier


@contextmanager
def files_of_at_most(pid: int, size_bytes: int) -> Iterator[None]:
    """No file of a process grows beyond this, as on a disk that is full."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_empty_log_makes_empty_tables(store: Store, events: Path) -> None:
    """Nothing happened yet."""
    events.mkdir()
    (events / "events-b1-000001.jsonl").write_text("")
    make_tables(store, event_lines(store.spark, str(events)), hush)
    assert {name: store.read(table).count() for name, table in TABLES.items()} == dict.fromkeys(TABLES, 0)


def test_tables_are_made_without_python(store: Store, events: Path) -> None:
    """The plans of the whole hot path hold no Python evaluation."""
    write_log(events, FleetPlan(groups=2, rebalances=1))
    make_tables(store, event_lines(store.spark, str(events)), hush)
    stored = store.read(EVENTS)
    ordered = positioned(stored, runs(stored))
    assert {name: python_nodes(make(ordered)) for name, (_, make) in FROM_EVENTS.items()} == {
        name: [] for name in FROM_EVENTS
    }
    assert store.read(REBALANCES).count() == 2
