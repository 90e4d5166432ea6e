"""Entries that are encoded when they are read."""

from bridge.coordinators.durability import AT_ONCE_MAX, Entries, Entry, EntryBlocks, encode_entries
from bridge.engine.records import GroupEpochBumped
from bridge.ports import TellsGroups
from translators.dialects.ids import GroupId


def encode(value: object) -> bytes:
    """A number in decimal."""
    return str(value).encode()


def entries(count: int) -> list[Entry]:
    """Numbers from 0 on, as entries of kind N."""
    return [Entry(b"N", encode, number) for number in range(count)]


def test_pages_are_the_entries_in_their_order_at_each_reading() -> None:
    """A journal that failed reads them again."""
    bound = Entries(entries(3))
    assert len(bound) == 3
    assert list(bound) == list(bound) == [b"N0", b"N1", b"N2"]
    assert b"N2" in bound
    assert b"N3" not in bound


def test_few_entries_are_encoded_at_once() -> None:
    """Most turns write two or three."""
    assert tuple(encode_entries(entries(2))) == (b"N0", b"N1")
    assert encode_entries([]) == ()


def test_many_entries_are_encoded_by_their_reader() -> None:
    """Nobody waits for the encoding of thousands but the thread that writes them."""
    encoded: list[object] = []

    def note(value: object) -> bytes:
        encoded.append(value)
        return encode(value)

    bound = encode_entries([Entry(b"N", note, number) for number in range(AT_ONCE_MAX + 1)])
    assert encoded == []
    assert len(list(bound)) == len(encoded) == AT_ONCE_MAX + 1


def test_blocks_are_read_one_behind_the_other() -> None:
    """What gathered behind an append is the next one."""
    blocks = EntryBlocks([Entries(entries(2)), (), (b"X",)])
    assert len(blocks) == 3
    assert list(blocks) == [b"N0", b"N1", b"X"]
    assert (b"X" in blocks, b"Y" in blocks) == (True, False)


def test_entries_tell_their_groups_each_once() -> None:
    """Those of no group, such as topics, tell none."""
    told = [Entry(b"N", encode, GroupEpochBumped(GroupId(name), 1)) for name in "aab"]
    for bound in (Entries([*told, *entries(1)]), encode_entries(told), EntryBlocks([Entries(told), ()])):
        assert isinstance(bound, TellsGroups)
        assert bound.groups == {"a", "b"}
