"""The journal that lives as long as the process."""

import pytest

from bridge.ports import Journal, JournalFull
from tests.support.memory_journal import MemoryJournal


def test_append_is_durable_at_once() -> None:
    """Nobody waits: the answer may go in the same turn."""
    journal: Journal = MemoryJournal()
    assert journal.append([b"a", b"b"]) is None
    journal.append([b"c"])
    assert list(journal.replay()) == [b"a", b"b", b"c"]
    journal.close()


def test_full_journal_keeps_all_or_none() -> None:
    """An append that does not fit leaves nothing behind."""
    journal = MemoryJournal(bytes_max=4)
    journal.append([b"abc"])
    with pytest.raises(JournalFull, match="3 bytes are kept, 2 more exceed 4"):
        journal.append([b"d", b"e"])
    assert list(journal.replay()) == [b"abc"]


async def test_overgrown_journal_is_compacted() -> None:
    """What `condense` leaves takes the place of all."""
    journal = MemoryJournal(overgrown_bytes=3)
    journal.append([b"ab", b"cd"])
    assert journal.is_overgrown()
    await journal.compact(lambda entries: [b"".join(entries)[:1]])
    assert list(journal.replay()) == [b"a"]
    assert not journal.is_overgrown()
