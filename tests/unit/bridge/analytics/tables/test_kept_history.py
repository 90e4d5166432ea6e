"""What a stream keeps of its batches for its next process."""

import pytest

from bridge.analytics.tables import kept_history
from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import DERIVED, FLAPS
from bridge.analytics.tables.kept_history import keep, kept
from bridge.analytics.tables.publishing import publish
from bridge.analytics.tables.store import Store

FIRST_BATCHES, BEGAN = {"g": 0, "h": 3}, {"b1": (1, 100), "b2": (7, 2**53 + 1)}


@pytest.fixture(name="history")
def _history(store: Store) -> History:
    """One that was kept, of tables."""
    for table in DERIVED:
        store.commit(table, [])
    history = History(store, 4, FIRST_BATCHES, BEGAN)
    keep(store, history)
    return history


def test_history_is_the_same_after_a_restart(store: Store, history: History) -> None:
    """Also when it is kept again."""
    assert kept(store) == history
    keep(store, History(store, 5, FIRST_BATCHES, BEGAN))
    assert kept(store).last_batch == 5


def test_history_of_other_tables_is_not_known(store: Store, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever died while tables were changed leaves some that are newer than others; other code makes other rows."""
    monkeypatch.setattr(kept_history, "made_by", lambda: "another")
    assert kept(store) == History(store) != history
    monkeypatch.undo()
    assert kept(store) == history
    store.commit(FLAPS, [])
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
