"""What a stream keeps of its batches for its next process."""

import shutil

import pytest

from bridge.analytics.tables import kept_history
from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import DATE, EVENTS, FLAPS, REFRESHED, REJECTED
from bridge.analytics.tables.kept_history import keep, kept
from bridge.analytics.tables.publishing import pinned, publish, published
from bridge.analytics.tables.snapshot import versions_of
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import DataFile

BEGAN = {"b1": (1, 100), "b2": (7, 2**53 + 1)}
ENDS = {"g": ("b1", 5), "h": ("b2", 2**53 + 1)}
FORGOTTEN = ("b1", 2**53 + 1)


@pytest.fixture(name="history")
def _history(store: Store) -> History:
    """One that was kept, of tables."""
    for table in REFRESHED:
        store.commit(table, [])
    history = History(store, 4, BEGAN, ENDS, FORGOTTEN)
    keep(store, history)
    return history


def test_history_is_the_same_after_a_restart(store: Store, history: History) -> None:
    """Also when it is kept again."""
    assert kept(store) == history
    keep(store, History(store, 5, BEGAN, ENDS))
    assert kept(store).last_batch == 5


def test_history_of_other_tables_is_not_known(store: Store, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other code makes other rows."""
    monkeypatch.setattr(kept_history, "made_by", lambda: "another")
    assert kept(store) == History(store) != history
    monkeypatch.undo()
    assert kept(store) == history


def test_tables_that_a_refresh_changed_that_died_are_put_back(store: Store, history: History) -> None:
    """What they were made of is known, and is not read again; what is published afterwards is what there is."""
    path = f"{DATE}=2025-11-21/a"
    store.log(FLAPS).commit([DataFile(path=path, size_bytes=1, day="2025-11-21")])
    assert kept(store) == history
    assert store.log(FLAPS).files() == []
    assert versions_of(published(store))[FLAPS.name] == store.log(FLAPS).version
    version = store.log(FLAPS).version
    assert kept(store) == history
    assert store.log(FLAPS).version == version


def test_snapshot_after_tables_were_put_back_shows_no_event_that_they_lack(store: Store) -> None:
    """A batch came, and who made the tables of it died: until the next one does, readers see neither."""
    for table in (EVENTS, REJECTED, *REFRESHED):
        store.commit(table, [])
    keep(store, History(store, 4, BEGAN, ENDS, FORGOTTEN))
    for table in (EVENTS, REJECTED, FLAPS):
        store.log(table).commit([DataFile(path=f"{DATE}=2025-11-21/a", size_bytes=1, day="2025-11-21")])
    kept(store)
    shown = pinned(store)
    assert [shown.log(table).files() for table in (EVENTS, REJECTED, FLAPS)] == [[], [], []]
    keep(store, History(store, 5, BEGAN, ENDS))
    assert [len(pinned(store).log(table).files()) for table in (EVENTS, REJECTED, FLAPS)] == [1, 1, 0]


def test_history_of_a_table_that_is_gone_is_not_known(store: Store, history: History) -> None:
    """Somebody removed it, or made it anew."""
    assert kept(store) == history
    shutil.rmtree(store.path(FLAPS.name))
    assert kept(store) == History(store)


def test_tables_of_a_run_have_no_history(store: Store, history: History) -> None:
    """They are written down without."""
    publish(store)
    assert kept(store) == History(store) != history


def test_code_that_makes_tables_has_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same each time; what says nothing of tables has another one."""
    told = kept_history.made_by()
    assert told == kept_history.made_by()
    monkeypatch.setattr(kept_history, "SAY_WHAT_TABLES_ARE", ("bridge.analytics.tables",))
    assert told != kept_history.made_by()
