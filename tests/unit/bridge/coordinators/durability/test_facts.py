"""Facts about the bridge outlive restarts, condensing, torn turns and a full disk."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.durability import (
    ANEW,
    FORGOTTEN,
    BridgeFact,
    FactBook,
    condense,
    decode_fact,
    encode_fact,
    replay,
)
from bridge.coordinators.embedded.shard_journal import blank_journal
from tests.support.embedded_world import embedded_world
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import OwnedGroup
from translators.dialects.plain import UnreadableRecord


def told(entries: list[bytes]) -> dict[str, str]:
    """The facts that a journal tells."""
    book = FactBook()
    replay(entries, blank_journal(), book)
    return {fact.name: fact.text for fact in book.facts()}


def test_fact_is_read_as_it_was_written() -> None:
    """Whatever its text; other bytes are told apart."""
    fact = BridgeFact("identity", '{"id": "ä\\n"}')
    assert decode_fact(encode_fact(fact)) == fact
    with pytest.raises(UnreadableRecord):
        decode_fact(b'["fact",2,["a","b"]]')


def test_last_text_counts_and_an_empty_one_ends_it() -> None:
    """Only changes are written."""
    group = OwnedGroup()
    group.owner.revive((), 0)
    journal: list[bytes] = []
    for text, written in (("1", 1), ("1", 0), ("2", 1), (FORGOTTEN, 1), (FORGOTTEN, 0), ("3", 1)):
        group.owner.keep_fact(BridgeFact("a", text))
        entries = list(group.owner.entries())
        assert len(entries) == written
        journal += entries
    group.owner.keep_fact(BridgeFact("b", "x"))
    journal += group.owner.entries()
    assert told(journal) == told(list(condense(journal, blank_journal()))) == {"a": "3", "b": "x"}
    assert len(list(condense(journal, blank_journal()))) == 2


def test_journal_written_in_full_tells_the_facts_again() -> None:
    """What was before is void, the facts of before too."""
    group = OwnedGroup()
    group.owner.revive((), 0)
    group.owner.keep_fact(BridgeFact("a", "1"))
    journal = list(group.owner.entries())
    group.owner.recover(0)
    entries = list(group.owner.entries())
    assert entries[0] == ANEW
    assert told([*journal, *entries]) == {"a": "1"}


async def test_fact_outlives_a_restart_and_a_full_disk(autojump_clock: MockClock) -> None:
    """What could not be written is written as soon as there is room."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep_fact("early", "kept before the journal was there")
        world.groups.keep(journal)
        world.groups.keep_fact("a", "1")
        journal.bytes_max = 0
        world.groups.keep_fact("a", "2")
        await trio.sleep(0.1)
        assert told(list(journal.replay())).get("a") == "1"
        journal.bytes_max = None
        await trio.sleep(3)
    async with embedded_world() as world:
        world.groups.keep(journal)
        assert world.groups.fact("a") == "2"
        assert world.groups.fact("early") == "kept before the journal was there"
        assert world.groups.fact("b") is None
