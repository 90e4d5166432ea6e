"""Blocks of entries: what is packed comes back, what is cut is noticed."""

import pytest

from bridge.journal.sqlite_file import BrokenBlock, checksum, pack, unpack

ENTRIES = [b"one", b"", b"\0" * 300]


def test_entries_come_back_in_order() -> None:
    """unpack(pack(entries)) == entries, empty ones included."""
    assert list(unpack(pack(ENTRIES))) == ENTRIES
    assert list(unpack(pack([]))) == []


@pytest.mark.parametrize("cut", [1, 3, 5, 8])
def test_cut_block_is_noticed(cut: int) -> None:
    """A length or an entry that is not whole raises."""
    with pytest.raises(BrokenBlock):
        list(unpack(pack([b"one", b"two"])[:-cut]))


def test_checksum_depends_on_place_and_content() -> None:
    """The same bytes in another place are damage too."""
    assert len({checksum(1, b"a"), checksum(2, b"a"), checksum(1, b"b")}) == 3
