"""What batches change, as far as that is known without tables. Tables by it: tests/pipeline/test_stream."""

from itertools import repeat
from pathlib import Path

import pytest

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables import batch_history
from bridge.analytics.tables.batch_history import GROUPS_MAX, Extent, History
from bridge.analytics.tables.definitions import EVENTS
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import NOTHING_YET
from tests.support.stretch_rows import read_in_parts
from tests.support.wild_events import COLUMNS, some_late, wild_batches

Row = tuple[str | None, str, int, int]


def brought(store: Store, batch: int, *rows: Row) -> None:
    """A batch of events of nothing but group, boot, number and wall clock."""
    columns = "group_id string, boot string, number long, wall_us long"
    frame = store.spark.createDataFrame(list(rows), columns)
    store.append(EVENTS, conform(EVENTS, frame.selectExpr("*", "date '2025-11-21' as date", f"{batch} as batch")))


def test_first_time_everything_is_made(store: Store) -> None:
    """What was made before a restart is not known."""
    brought(store, 3, ("g", "b1", 1, 100), (None, "b1", 2, 101))
    history = History(store)
    assert (history.last_batch, history.advance(3)) == (NOTHING_YET, None)
    assert (history.ends, history.began, history.last_batch) == ({"g": ("b1", 1)}, {"b1": (1, 100)}, 3)


def test_later_batches_name_their_groups_and_runs(store: Store) -> None:
    """A batch that is being written is not looked at."""
    brought(store, 0, ("g", "b1", 1, 100), ("h", "b1", 2, 101))
    brought(store, 1, ("h", "b1", 3, 102))
    history = History(store)
    history.advance(1)
    brought(store, 2, ("h", "b2", 1, 200), ("i", "b2", 2, 201))
    brought(store, 3, ("k", "b2", 3, 202))
    chunks, order = frozenset({("b2", 0)}), ("b1", "b2")
    touched = Extent(after=1, groups=frozenset({"h", "i"}), late=frozenset(), chunks=chunks, order=order)
    assert history.advance(2) == touched
    brought(store, 3, ("i", "b2", 4, 203))
    touched = Extent(after=2, groups=frozenset({"k", "i"}), late=frozenset(), chunks=chunks, order=order)
    assert history.advance(3) == touched
    assert history.ends == {"g": ("b1", 1), "h": ("b2", 1), "i": ("b2", 4), "k": ("b2", 3)}


def test_group_is_late_that_has_an_event_before_one_that_was_known(store: Store) -> None:
    """Of the same run by its number, of another one by which began first; its own last event stays the last."""
    brought(store, 0, ("g", "b1", 5, 100), ("h", "b1", 6, 101), ("i", "b2", 1, 200), ("k", "b1", 7, 102))
    history = History(store)
    history.advance(0)
    brought(store, 1, ("g", "b1", 4, 99), ("h", "b1", 8, 103), ("i", "b1", 9, 104), ("k", "b2", 2, 201))
    extent = history.advance(1)
    assert extent is not None
    assert extent.late == {"g", "i"}
    assert history.ends == {"g": ("b1", 5), "h": ("b1", 8), "i": ("b2", 1), "k": ("b2", 2)}


def test_groups_that_come_and_go_are_forgotten_and_right_when_they_come_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one of them may have ended behind what comes, it is late; one that comes later is a new one."""
    monkeypatch.setattr(batch_history, "GROUPS_KEPT_MAX", 2)
    brought(store, 0, ("g", "b1", 1, 100), ("h", "b1", 4, 101), ("i", "b1", 6, 102), ("k", "b2", 1, 200))
    history = History(store)
    history.advance(0)
    assert (history.ends, history.forgotten) == ({"i": ("b1", 6), "k": ("b2", 1)}, ("b1", 4))
    brought(store, 1, ("g", "b1", 5, 101), ("h", "b1", 3, 100), ("l", "b1", 2, 100), ("i", "b1", 7, 103))
    extent = history.advance(1)
    assert extent is not None
    assert extent.groups == {"g", "h", "i", "l"}
    assert extent.late == {"h", "l"}
    assert (history.ends, history.forgotten) == ({"i": ("b1", 7), "k": ("b2", 1)}, ("b1", 5))
    brought(store, 2, ("k", "b2", 2, 50))
    brought(store, 2, ("m", "b1", 8, 103))
    brought(store, 2, ("n", "b0", 1, 10))
    extent = history.advance(2)
    assert extent is not None
    assert extent.late == {"n"}
    assert history.forgotten == ("b1", 7)


def test_groups_that_are_forgotten_when_runs_turn_are_late_wherever_they_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them was the last is not known any more."""
    monkeypatch.setattr(batch_history, "GROUPS_KEPT_MAX", 1)
    brought(store, 0, ("g", "b1", 9, 100), ("h", "b2", 2, 200))
    history = History(store)
    history.advance(0)
    brought(store, 1, ("i", "b2", 1, 50))
    assert history.advance(1) is None
    assert (history.order(), history.ends) == (("b2", "b1"), {"h": ("b2", 2)})
    brought(store, 2, ("g", "b1", 8, 99), ("k", "b1", 10, 102), ("l", "b3", 1, 300))
    extent = history.advance(2)
    assert extent is not None
    assert extent.late == {"g", "k"}


def test_looking_at_batches_takes_one_job_of_spark(store: Store) -> None:
    """Most of what a refresh of a small batch costs is the number of jobs: their plans, and the code made for them."""
    brought(store, 0, ("g", "b1", 1, 100), ("h", "b1", 2, 101))
    brought(store, 1, ("g", "b2", 1, 200), ("g", "b1", 3, 102))
    history = History(store)
    history.advance(0)
    scheduler = store.spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    extent = history.advance(1)
    assert extent is not None
    assert not extent.late
    assert scheduler.numTotalJobs() - before == 1
    assert history.ends == {"g": ("b2", 1), "h": ("b1", 2)}


def test_nothing_new_changes_nothing(store: Store) -> None:
    """A batch of strangers' lines brings no event."""
    brought(store, 0, ("g", "b1", 1, 100))
    history = History(store)
    history.advance(0)
    nothing = Extent(after=0, groups=frozenset(), late=frozenset(), chunks=frozenset(), order=("b1",))
    assert history.advance(1) == nothing


def test_run_that_turns_out_to_be_older_than_another_makes_everything_anew(store: Store) -> None:
    """Its first event came late, and groups that no late event names are in another order."""
    brought(store, 0, ("g", "b1", 1, 100), ("g", "b2", 2, 200))
    history = History(store)
    history.advance(0)
    brought(store, 1, ("h", "b2", 1, 50))
    assert history.advance(1) is None
    assert history.order() == ("b2", "b1")


def test_too_many_late_groups_make_everything_anew(store: Store) -> None:
    """One more than the most; as many that are on time don't."""
    names = [f"g{n}" for n in range(GROUPS_MAX + 1)]
    brought(store, 0, *[(name, "b1", 10_000 + n, 100) for n, name in enumerate(names)])
    history = History(store)
    history.advance(0)
    brought(store, 1, *[(name, "b1", 20_000 + n, 101) for n, name in enumerate(names)])
    assert history.advance(1) is not None
    brought(store, 2, *[(name, "b1", n + 1, 101) for n, name in enumerate(names)])
    assert history.advance(2) is None


def test_what_readers_tell_says_the_same_as_a_look_at_the_events(store: Store, tmp_path: Path) -> None:
    """Of runs, groups, and those that are late: batches of any events, some of which come with the batch behind."""
    batches = [*wild_batches(seed=11, groups=5, batches=4, events=80)]
    some_late(batches, seed=11, count=4)
    asked, told = History(store), History(store)
    late = set[str]()
    for batch, rows in enumerate(batches):
        store.append(EVENTS, conform(EVENTS, store.spark.createDataFrame(list(rows), COLUMNS)))
        account = read_in_parts(rows, str(tmp_path / f"{batch}"), repeat(30))
        extent = told.advance(batch, account)
        assert extent == asked.advance(batch)
        assert (told.began, told.ends, told.order()) == (asked.began, asked.ends, asked.order())
        late |= extent.late if extent is not None else set()
    assert late
