"""What a topic no longer held when a stream came to it."""

from pathlib import Path

import pytest

from bridge.analytics.intake.file_gaps import NUMBER
from bridge.analytics.intake.gaps import ANEW, GONE, RETENTION, Gap, gaps_between, note_gaps, tell_gaps
from bridge.analytics.tables.definitions import GAPS
from bridge.analytics.tables.store import Store


@pytest.mark.parametrize(
    ("start", "end", "first", "gap"),
    [
        pytest.param({"t-0": 5}, {"t-0": 9}, {"t-0": 5}, None, id="nothing"),
        pytest.param({"t-0": 5}, {"t-0": 5}, {}, None, id="nothing new"),
        pytest.param({"t-0": 5}, {"t-0": 9}, {"t-0": 7}, Gap("t-0", 5, 7, RETENTION), id="the front"),
        pytest.param({"t-0": 5}, {"t-0": 9}, {}, Gap("t-0", 5, 9, RETENTION), id="everything"),
        pytest.param({}, {"t-0": 9}, {"t-0": 0}, None, id="a new partition"),
        pytest.param({}, {"t-0": 9}, {"t-0": 2}, Gap("t-0", 0, 2, RETENTION), id="the front of a new partition"),
        pytest.param({"t-0": 5}, {}, {}, Gap("t-0", 5, None, GONE), id="the partition"),
        pytest.param({"t-0": 5}, {"t-0": 2}, {}, Gap("t-0", 0, 2, ANEW), id="the topic"),
    ],
)
def test_gap_is_what_was_next_and_did_not_come(
    start: dict[str, int], end: dict[str, int], first: dict[str, int], gap: Gap | None
) -> None:
    """By partition."""
    assert gaps_between(start, end, first) == ([] if gap is None else [gap])


@pytest.mark.parametrize(
    ("start", "end", "first", "gap"),
    [
        pytest.param({"t-u-0": 5}, {"t-u-0": 9}, {"t-u-0": 5}, Gap("t-u-0", 0, 5, ANEW), id="what lies before"),
        pytest.param({"t-u-0": 5}, {"t-u-0": 5}, {}, Gap("t-u-0", 0, 5, ANEW), id="all that there is"),
        pytest.param({"t-u-0": 5}, {"t-u-0": 9}, {"t-u-0": 7}, Gap("t-u-0", 0, 7, ANEW), id="and what is gone of it"),
        pytest.param({"t-u-0": 0}, {"t-u-0": 9}, {"t-u-0": 0}, None, id="nothing, of a partition that was empty"),
        pytest.param({"u-0": 5}, {"u-0": 9}, {"u-0": 5}, None, id="nothing, of another topic"),
    ],
)
def test_topic_that_is_another_one_has_a_gap_before_what_comes(
    start: dict[str, int], end: dict[str, int], first: dict[str, int], gap: Gap | None
) -> None:
    """Though it holds what comes next by its offset."""
    assert gaps_between(start, end, first, {"t-u"}) == ([] if gap is None else [gap])


def plan(store: Store, *names: str, zero: int, one: int) -> None:
    """A file of a checkpoint as Spark writes it."""
    path = Path(store.path("_checkpoint", *names))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'\0v1\n{{"conf":{{}}}}\n{{"t":{{"0":{zero},"1":{one}}}}}')


def test_gaps_of_a_batch_are_listed_once_however_often_it_is_tried(store: Store) -> None:
    """The first batch starts where the stream began, a later one where the one before ended."""
    plan(store, "sources", "0", "0", zero=3, one=0)
    plan(store, "offsets", "0", zero=8, one=1)
    plan(store, "offsets", "1", zero=9, one=2)
    schema = "source string, offset long"
    first = store.spark.createDataFrame([("t-0", 5), ("t-0", 6), ("t-1", 0)], schema)
    for _ in range(2):
        assert note_gaps(store, first, 0) == [Gap("t-0", 3, 5, RETENTION)]
    assert note_gaps(store, store.spark.createDataFrame([("t-0", 8)], schema), 1) == [Gap("t-1", 1, 2, RETENTION)]
    rows = store.read(GAPS).select("source", "from_offset", "to_offset", "detail", "batch").sort("batch").collect()
    assert rows == [("t-0", 3, 5, RETENTION, 0), ("t-1", 1, 2, RETENTION, 1)]


def test_gap_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """With its end, if it has one."""
    tell_gaps([Gap("t-0", 5, 7, "a"), Gap("t-1", 5, None, "b"), Gap("boot c", 1, 2, "d", NUMBER)])
    assert capsys.readouterr().err.splitlines() == [
        "gap in t-0 from offset 5 to 7: a",
        "gap in t-1 from offset 5: b",
        "gap in boot c from number 1 to 2: d",
    ]
