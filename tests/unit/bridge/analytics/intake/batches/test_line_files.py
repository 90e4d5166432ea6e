"""Records of a topic as files of lines."""

from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake import batches
from bridge.analytics.intake.batches import written_down
from bridge.analytics.tables import store as store_module
from bridge.analytics.tables.store import Store
from tests.support.spark import records_of


def test_records_are_files_by_source_and_lines_name_it(store: Store) -> None:
    """A record of several lines is several; one without a value is a blank line, which is nothing."""
    records = records_of(store.spark, [("one", "t-0"), ("two\nthree\r\nfour\rfive", "t-1"), (None, "t-1")])
    delivery = written_down(store, records)
    words = {(file.source, word) for file in delivery.files for word in Path(file.path).read_text().split()}
    assert words == {("t-0", "one"), ("t-1", "two"), ("t-1", "three"), ("t-1", "four"), ("t-1", "five")}
    said = [tuple(row) for row in delivery.lines.where("value != ''").collect()]
    assert sorted(said) == [("five", "t-1"), ("four", "t-1"), ("one", "t-0"), ("three", "t-1"), ("two", "t-1")]


def test_records_take_the_place_of_those_before(store: Store) -> None:
    """A batch that was broken off left its own there."""
    written_down(store, records_of(store.spark, [("first", "t-0"), ("first", "t-1")]))
    delivery = written_down(store, records_of(store.spark, [("second", "t-0")]))
    assert delivery.lines.collect() == [("second", "t-0")]
    assert [Path(file.path).read_text() for file in delivery.files] == ["second\n"]


def test_records_that_did_not_come_here_are_missed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors that joined later than those who were asked may write to disks of their own."""
    monkeypatch.setattr(store_module, "is_spread", lambda _: True)
    records = records_of(store.spark, [("one", "t-0"), ("zwölf\ndrei", "t-1"), (None, "t-1")])
    assert len(written_down(store, records).files) == 2
    assert written_down(store, records.limit(0)).files == ()
    monkeypatch.setattr(batches, "OF_SOURCE", f"{batches.OF_SOURCE}t-1")
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-042: executors wrote 17 bytes to .*, and 13 of them are"):
        written_down(store, records)
