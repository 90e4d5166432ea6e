"""Files of a log become files of `events`, by processes, and what is left over goes Spark's way."""

from collections import Counter
from pathlib import Path

import pytest

from bridge.analytics import column_files
from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.column_files import can_take, take_columns
from bridge.analytics.delivery import Delivery, delivery_of
from bridge.analytics.intake import Intake
from bridge.analytics.store import Store
from bridge.analytics.tables import EVENTS, REJECTED
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.unit.bridge.analytics.test_reading import GOOD, STRANGERS


def dirty_files(folder: Path) -> list[str]:
    """A log in three files, with strangers in two of them."""
    write_log(folder, FleetPlan(seed=5, groups=2, rebalances=4), files=3)
    files = sorted(folder.glob("*.jsonl"))
    lines = files[1].read_text().splitlines()
    files[1].write_text("\n".join([*lines[:50], *STRANGERS.values(), "", " ", *lines[50:]]))
    with files[2].open("a") as last:
        last.write(f"{GOOD.replace('b1', 'b7')}\r\n{GOOD[:-9]}")
    return [str(file) for file in files]


def rows(store: Store) -> list[Counter[str]]:
    """Everything in the two tables."""
    return [Counter(map(str, store.read(table).collect())) for table in (EVENTS, REJECTED)]


def test_both_ways_say_the_same(store: Store, tmp_path: Path) -> None:
    """Whatever is in the files: the quick way for files on this machine, Spark's own for lines."""
    delivery = delivery_of(store.spark, dirty_files(tmp_path / "events"))
    other = Store(store.spark, str(tmp_path / "other"))
    quick, slow = Intake(store, {}), Intake(other, {})
    assert quick.take(delivery, 0) == slow.take(Delivery(delivery.lines), 0)
    assert rows(store) == rows(other)
    assert quick.highest == slow.highest
    assert not any(Path(store.root).glob("_next/*")), "the text of strangers is kept"


def test_processes_bring_what_one_brings(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large logs are shared out in pieces."""
    files = dirty_files(tmp_path / "events")
    taken: list[list[Counter[str]]] = []
    shares: list[tuple[int, int]] = []
    for alone_bytes in (column_files.ALONE_BYTES, 0):
        monkeypatch.setattr(column_files, "ALONE_BYTES", alone_bytes)
        monkeypatch.setattr(column_files, "ERRAND_BYTES", 20_000)
        intake = Intake(store, {}, lambda done, total: shares.append((done, total)))
        assert not intake.take(delivery_of(store.spark, files), 0).is_doubtful
        taken.append(rows(store))
    assert taken[0] == taken[1]
    assert shares == [(place + 1, len(shares)) for place in range(len(shares))]
    assert len(shares) > 2


def test_log_without_strangers_leaves_nothing_over(store: Store, tmp_path: Path) -> None:
    """Then Spark reads no line at all."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=2))
    assert take_columns(store, [str(file) for file in (tmp_path / "events").glob("*.jsonl")], 0) is None


def test_only_files_of_this_machine_are_taken_so(store: Store) -> None:
    """Elsewhere Spark reads them, where it can."""
    assert can_take(store, ["a"])
    assert not can_take(store, [])
    assert not can_take(Store(store.spark, "hdfs://far/away"), ["a"])


def test_file_that_is_gone_is_one_sentence(store: Store, tmp_path: Path) -> None:
    """Removed by retention in the meantime."""
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-011: .*No such file.*run the same command again"):
        take_columns(store, [str(tmp_path / "events-b1-000001.jsonl")], 0)
