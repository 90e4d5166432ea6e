"""Entries for the journal that are encoded when somebody reads them: a big turn's by the thread that writes them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from bridge.ports import TellsGroups
from translators.dialects.ids import GroupId

AT_ONCE_MAX = 500
"""Encoding more than this keeps everybody waiting for longer than a thread costs: thousands of members converted."""


class Entry(NamedTuple):
    """A value that never changes, and how it becomes the bytes of its entry behind the first one, its `kind`."""

    kind: bytes
    encode: Callable[[object], bytes]
    value: object


class Entries(Collection[bytes], TellsGroups):
    """The entries of these values, made anew at each reading; any thread may read."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern."""
        return _groups_of(self._entries)

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return (kind + encode(value) for kind, encode, value in self._entries)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is among them; encodes all before it."""
        return any(one == entry for one in self)


class EncodedEntries(Collection[bytes], TellsGroups):
    """Entries that are encoded already, and which groups they concern."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._groups = _groups_of(entries)
        self._entries = tuple([kind + encode(value) for kind, encode, value in entries])

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern."""
        return self._groups

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return iter(self._entries)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is among them."""
        return entry in self._entries


class EntryBlocks(Collection[bytes], TellsGroups):
    """Several collections of entries, one behind the other, not read before they are wanted."""

    def __init__(self, blocks: Iterable[Collection[bytes]]) -> None:
        self._blocks = tuple(blocks)

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern, as far as they tell."""
        return frozenset[GroupId]().union(*(block.groups for block in self._blocks if isinstance(block, TellsGroups)))

    def __len__(self) -> int:
        """How many entries there are in all of them."""
        return sum(map(len, self._blocks))

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return chain.from_iterable(self._blocks)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is in any of them."""
        return any(entry in block for block in self._blocks)


def encode_entries(entries: list[Entry]) -> Collection[bytes]:
    """The entries of a turn: encoded now, or when they are read if they are many."""
    if not entries:
        return ()
    return Entries(entries) if len(entries) > AT_ONCE_MAX else EncodedEntries(entries)


def _groups_of(entries: Iterable[Entry]) -> frozenset[GroupId]:
    named: set[object] = {getattr(entry.value, "group_id", None) for entry in entries}
    return frozenset(GroupId(group_id) for group_id in named if isinstance(group_id, str))
