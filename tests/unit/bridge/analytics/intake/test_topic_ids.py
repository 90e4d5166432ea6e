"""Whether a topic is the one that a stream came to. A real one, deleted and made anew, is in tests/pipeline."""

from pathlib import Path

from bridge.analytics.intake.topic_ids import NOTES, made_anew, note_ids
from bridge.analytics.tables.store import Store

OLD, NEW, NEWEST = "x-1", "y-2", "z-3"
NONE = frozenset[str]()


def test_topic_with_another_id_is_not_the_one_before(store: Store) -> None:
    """From the batch on in which that is seen, until it is noted and taken."""
    for batch in (0, 1, 4):
        assert made_anew(store, {"t": OLD}, batch) == NONE
        note_ids(store, {"t": OLD}, batch)
    assert made_anew(store, {"t": NEW}, 5) == {"t"}
    assert made_anew(store, {"t": NEW}, 5) == {"t"}, "nobody has noted it"


def test_batch_that_is_tried_again_finds_the_same(store: Store) -> None:
    """Who dies behind the note has not taken the batch, and its gaps are written anew."""
    note_ids(store, {"t": OLD}, 0)
    note_ids(store, {"t": NEW}, 5)
    assert made_anew(store, {"t": NEW}, 5) == {"t"}
    assert made_anew(store, {"t": NEW}, 6) == NONE
    note_ids(store, {"t": NEWEST}, 6)
    assert made_anew(store, {"t": NEW}, 7) == {"t"}
    assert [path.name for path in Path(store.path(NOTES, "t")).glob("[0-9]*")] == [f"6-{NEWEST}"]


def test_stream_that_noted_no_ids_so_far_begins_with_those_that_there_are(store: Store) -> None:
    """One of an earlier version, and one of a topic whose broker knew none; that is no change, however often tried."""
    assert made_anew(store, {}, 6) == NONE
    note_ids(store, {}, 6)
    for _ in range(2):
        assert made_anew(store, {"t": OLD}, 7) == NONE
        note_ids(store, {"t": OLD}, 7)
    assert made_anew(store, {"t": NEW}, 8) == {"t"}
    assert made_anew(store, {}, 8) == NONE


def test_topics_are_told_apart(store: Store) -> None:
    """A stream may take several."""
    note_ids(store, {"t": OLD, "t.u": OLD}, 0)
    assert made_anew(store, {"t": OLD, "t.u": NEW, "v": NEW}, 1) == {"t.u"}


def test_first_batch_begins_with_what_there_is(store: Store) -> None:
    """Whatever somebody left, who began anew in the same place."""
    note_ids(store, {"t": OLD}, 0)
    assert made_anew(store, {"t": NEW}, 0) == NONE
